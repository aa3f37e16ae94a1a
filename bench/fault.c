/* SPDX-License-Identifier: Apache-2.0 */
/* fault: misbehaves on purpose, one way an instance, so that tests can prove that each costs one item only.
 */
#include "kernels/fault.h"
#include "run/case.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct metric metrics[] = {{"value", QUANTITY_COUNT, TIMING_HOST}, {0}};

static const struct series_row series[] = {{.metric = "value", .statistic = "", .delta_rel = 0.02}, {0}};

/* Ways that need no GPU, and ways that break one. */
static const char *const host_ways[] = {"hang",       "crash",  "exit",     "mute",
                                        "wrong-data", "stdout", "negative", "none"};
static const char *const gpu_ways[] = {"gpu-hang", "gpu-sticky"};

static void add(struct instance_list *out, const char *how, const struct gpu_info *gpu) {
    struct instance *instance = instance_add(out, &metrics[0], LEVEL_HIDDEN);
    js_set_string(instance->params, "how", how);
    if (gpu != NULL)
        js_set_string(instance->where, "gpu", gpu->uuid);
    instance->seconds = 0.01;
}

static void instances(const struct node *node, struct instance_list *out) {
    for (size_t i = 0; i < sizeof host_ways / sizeof *host_ways; i++)
        add(out, host_ways[i], NULL);
    for (size_t i = 0; node->gpus.count > 0 && i < sizeof gpu_ways / sizeof *gpu_ways; i++)
        add(out, gpu_ways[i], &node->gpus.items[0]);
}

static _Noreturn void never_return(void) {
    signal(SIGTERM, SIG_IGN);
    for (;;)
        pause();
}

static bool break_gpu(bool hang, struct error *err) {
    int code = hang ? fault_spin_forever(NULL) : fault_bad_address(NULL);
    return (gpu_check(code, "cannot launch the faulty kernel", err) && gpu_synchronize(err)) || RELAY(err);
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    const char *how = case_text(context, "how");
    samples_add(out, strcmp(how, "negative") == 0 ? -1 : 1);
    if (strcmp(how, "hang") == 0)
        never_return();
    if (strcmp(how, "mute") == 0) { /* ends its side of everything, and stays */
        closefrom(3);
        never_return();
    }
    if (strcmp(how, "crash") == 0)
        return raise(SIGSEGV) == 0;
    if (strcmp(how, "exit") == 0)
        _exit(3);
    if (strcmp(how, "stdout") == 0)
        printf("{\"type\":\"done\",\"n\":1}\nwords of a library on stdout\n");
    if (strncmp(how, "gpu-", 4) == 0)
        return break_gpu(strcmp(how, "gpu-hang") == 0, err);
    return true;
}

static bool verify(struct case_context *context, struct verification *out, struct error *err) {
    (void)err;
    snprintf(out->what, sizeof out->what, "test data");
    out->checked_bytes = 4096;
    if (strcmp(case_text(context, "how"), "wrong-data") == 0) {
        out->bad = 4;
        out->first_bad_offset = 128;
        out->expected = 0x01020304;
        out->found = 0x05060708;
    }
    return true;
}

const struct bench_case case_fault = {
    .name = "fault",
    .version = 1,
    .summary = "misbehaves on purpose",
    .block = BLOCK_QUIET,
    .hidden = true,
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
    .verify = verify,
};
