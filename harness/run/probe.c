/* SPDX-License-Identifier: Apache-2.0 */
#include "run/probe.h"

#include "base/clock.h"
#include "base/forked.h"
#include "gpu/facts_child.h"
#include "gpu/gpu.h"
#include "system/facts.h"
#include "target/view.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t cuda_limit_ns = 60 * NS_PER_S; /* eight GPUs without persistence take half a minute */

/* Opens CUDA on every GPU, in the forked child. */
static js *start_cuda(void *argument) {
    const struct gpu_list *gpus = argument;
    js *out = js_new_object();
    js *failed = js_new_object();
    struct error err = {0};
    int count = 0;
    int64_t start = clock_raw();
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    unsetenv("CUDA_VISIBLE_DEVICES"); /* narrowing is the plan's; here it is asked what works */
    bool good = gpu_start(&count, &err);
    for (size_t i = 0; good && i < gpus->count; i++) {
        struct gpu_device device;
        struct error why = {0};
        if (!gpus->items[i].mig && !gpu_open(gpus->items[i].uuid, &device, &why))
            js_set_string(failed, gpus->items[i].uuid, why.text);
    }
    js_set_bool(out, "ok", good);
    js_set_int(out, "devices", count);
    js_set_number(out, "seconds", (double)(clock_raw() - start) / 1e9);
    js_set_string(out, "reason", good ? NULL : err.text);
    js_set(out, "failed", failed);
    return out;
}

static js *ask_cuda(struct gpu_list *gpus) {
    struct error err = {0};
    js *answer = forked_json(start_cuda, gpus, cuda_limit_ns, &err);
    if (answer != NULL)
        return answer;
    answer = js_new_object();
    js_set_bool(answer, "ok", false);
    error_context(&err, "starting CUDA");
    js_set_string(answer, "reason", err.text);
    return answer;
}

js *probe_node(void) {
    struct source source = {0};
    struct node node = {0};
    struct error err = {0};
    js *out = NULL;
    if (source_live(&source, &err) && node_read(&source, &node, &err)) {
        struct error no_gpu = {0};
        if (!gpu_facts_child(&node.gpus, GPU_FACTS_LIMIT_NS, &no_gpu))
            snprintf(node.gpus.reason, sizeof node.gpus.reason, "%.255s", no_gpu.text);
        gpu_list_environment(&node.gpus, node.environment, node.moving);
        out = node_to_json(&node, &err);
        if (out != NULL && node.gpus.count > 0)
            js_set(out, "cuda", ask_cuda(&node.gpus));
        if (out != NULL)
            js_set(out, "view", view_read());
    }
    if (out == NULL) {
        out = js_new_object();
        js_set_string(out, "error", err.text);
    }
    node_free(&node);
    source_free(&source);
    return out;
}

void cuda_probe_free(struct cuda_probe *cuda) {
    js_free(cuda->view);
    *cuda = (struct cuda_probe){0};
}

bool probe_read(const js *facts, struct node *node, struct cuda_probe *cuda, struct error *err) {
    const char *failed = js_get_string(facts, "error", NULL);
    if (failed != NULL)
        return FAIL(err, ERROR_SYSTEM, "cannot read this machine: %s", failed);
    if (!node_from_json(facts, node, err))
        return RELAY(err);
    const js *answer = js_get(facts, "cuda");
    *cuda = (struct cuda_probe){.asked = js_is_object(answer), .good = js_get_bool(answer, "ok", false)};
    cuda->seconds = js_get_number(answer, "seconds", 0);
    snprintf(cuda->reason, sizeof cuda->reason, "%s", js_get_string(answer, "reason", ""));
    if (js_is_object(js_get(facts, "view")))
        cuda->view = js_copy(js_get(facts, "view"));
    for (size_t i = 0; i < node->gpus.count; i++) {
        struct gpu_info *gpu = &node->gpus.items[i];
        const char *why = js_get_string(js_get(answer, "failed"), gpu->uuid, NULL);
        if (why != NULL && gpu->unusable[0] == '\0')
            snprintf(gpu->unusable, sizeof gpu->unusable, "%.150s", why);
    }
    return true;
}
