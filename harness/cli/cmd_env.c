/* SPDX-License-Identifier: Apache-2.0 */
/* gpuvet env: the flat environment, as it stands in every run's header. */
#include "base/log.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/env_diff.h"
#include "gpu/facts_child.h"
#include "system/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct env_values {
    const char *from, *results;
    bool json;
    bool hash;
};

static const struct option_row options[] = {
    {.name = "from",
     .type = OPTION_STRING,
     .metavar = "DIR",
     .offset = offsetof(struct env_values, from),
     .help = "of a captured machine instead of this one"},
    OPTION_RESULTS(offsetof(struct env_values, results)),
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct env_values, json),
     .help = "for machines"},
    {.name = "hash",
     .type = OPTION_FLAG,
     .offset = offsetof(struct env_values, hash),
     .help = "read the GPU libraries whole for their SHA-256, which takes seconds"},
    {0},
};

/* Environment without a plan: no topology is needed, so a capture may lack it. */
static bool read_environment(const struct env_values *values, js *stable, js *moving, struct error *err) {
    struct source source = {0};
    struct gpu_list gpus = {0};
    struct error no_gpu = {0};
    const char *from = values->from;
    bool good = from != NULL ? source_capture(from, &source, err) : source_live(&source, err);
    source.hash_libraries = values->hash;
    struct facts *facts = good ? facts_read(&source, err) : NULL;
    if (facts != NULL)
        facts_environment(facts, stable, moving);
    if (good && from != NULL) {
        gpu_list_from_json(js_get(source.probes, "gpus"), &gpus);
        gpu_list_set_pairs(&gpus, js_get(source.probes, "p2p"), js_get(source.probes, "nvlink"));
    } else if (good && !gpu_facts_child(&gpus, GPU_FACTS_LIMIT_NS, &no_gpu)) {
        log_warning("GPUs: %s", no_gpu.text);
    }
    if (gpu_facts_unanswered(&gpus))
        log_warning("no key of a GPU: %s; gpuvet doctor looks into it", gpus.reason);
    gpu_list_environment(&gpus, stable, moving);
    gpu_list_free(&gpus);
    facts_free(facts);
    source_free(&source);
    return facts != NULL;
}

static void add_lines(const js *environment, const char *mark, struct strings *lines) {
    for (struct js_member m = js_first(environment); m.key != NULL; m = js_next(environment, m)) {
        char *raw = js_is_string(m.value) ? mem_copy_string(js_string(m.value, "")) : js_text(m.value);
        char *value = text_printable(raw);
        char *key = text_printable(m.key);
        strings_addf(lines, "%s = %s%s", key, value, mark);
        free(key);
        free(value);
        free(raw);
    }
}

static void print_text(const js *stable, const js *moving) {
    struct strings lines = {0};
    add_lines(stable, "", &lines);
    add_lines(moving, "  (moves)", &lines);
    strings_sort(&lines);
    for (size_t i = 0; i < lines.count; i++)
        puts(lines.items[i]);
    strings_free(&lines);
}

static int run(void *values, const struct strings *arguments) {
    const struct env_values *v = values;
    struct error err = {0};
    bool diff = arguments->count == 3 && strcmp(arguments->items[0], "diff") == 0;
    if (diff && v->from == NULL)
        return env_diff_main(v->results, arguments->items[1], arguments->items[2], v->json);
    if (arguments->count > 0) {
        FAIL(&err, ERROR_USAGE, "it is: gpuvet env [OPTIONS], or: gpuvet env diff BEFORE AFTER");
        log_error(&err);
        return 2;
    }
    js *out = js_new_object();
    js *stable = js_new_object();
    js *moving = js_new_object();
    js_set_string(out, "schema", "gpuvet.env/1");
    js_set(out, "environment", stable);
    js_set(out, "environment_volatile", moving);
    bool good = read_environment(v, stable, moving, &err);
    if (!good) {
        log_error(&err);
    } else if (v->json) {
        js_print(out, stdout);
    } else {
        print_text(stable, moving);
    }
    js_free(out);
    return good ? 0 : 2;
}

const struct command command_env = {
    .name = "env",
    .arguments = "[diff BEFORE AFTER]",
    .summary = "what of this machine can move a figure: kernel, CPU, PCI, driver, libraries",
    .details = "  gpuvet env\n"
               "  gpuvet env --json\n"
               "  gpuvet env --from CAPTURE\n"
               "  gpuvet env diff BEFORE AFTER\n"
               "\n"
               "BEFORE and AFTER are each a capture's folder, a run file, a saved baseline, or a file of\n"
               "env --json. Exit status of diff: 0 the same, 1 something differs, 2 one cannot be read.\n"
               "Lines marked (moves) change by themselves and are never compared.\n",
    .options = options,
    .max_arguments = 3,
    .values_size = sizeof(struct env_values),
    .run = run,
};
