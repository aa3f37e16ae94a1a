/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/facts_child.h"

#include "base/forked.h"
#include "base/text.h"
#include "gpu/nvml.h"

#include <stdio.h>

static const char unanswered[] = "the NVIDIA driver (NVML)";

typedef js *question(struct nvml *nvml, struct error *err);

/* In the child: {"answer":…} or {"reason":"…"}. */
static js *answer(void *argument) {
    question *const *ask = argument;
    struct error err = {0};
    struct nvml *nvml = nvml_open(&err);
    js *found = nvml == NULL ? NULL : (*ask)(nvml, &err);
    js *line = js_new_object();
    if (found != NULL)
        js_set(line, "answer", found);
    else
        js_set_string(line, "reason", err.text);
    return line; /* NVML stays open: ending it may hang as well, and the process ends anyway */
}

/* An error with a native number: no child could be started. Any other: what came of asking. */
static js *ask_in_child(question *ask, int64_t timeout_ns, struct error *err) {
    js *line = forked_json(answer, &ask, timeout_ns, err);
    if (line == NULL) {
        error_context(err, unanswered);
        return NULL;
    }
    js *found = js_get(line, "answer");
    if (found != NULL)
        js_keep(found);
    else
        FAIL(err, ERROR_GPU, "%s", js_get_string(line, "reason", "NVML gave no answer and no reason"));
    js_free(line);
    return found;
}

bool gpu_facts_child(struct gpu_list *out, int64_t timeout_ns, struct error *err) {
    *out = (struct gpu_list){0};
    struct error why = {0};
    js *node = ask_in_child(nvml_node_gpus, timeout_ns, &why);
    if (node == NULL && why.native != 0) {
        *err = why;
        return RELAY(err);
    }
    if (node != NULL) {
        gpu_list_from_json(js_get(node, "gpus"), out);
        gpu_list_set_pairs(out, js_get(node, "p2p"), js_get(node, "nvlink"));
    }
    if (out->count == 0)
        snprintf(out->reason, sizeof out->reason, "%.255s",
                 node == NULL ? why.text : "the NVIDIA driver is loaded, but shows no GPU here");
    js_free(node);
    return true;
}

bool gpu_facts_unanswered(const struct gpu_list *gpus) {
    return gpus->count == 0 && text_starts(gpus->reason, unanswered);
}

js *gpu_activity_child(int64_t timeout_ns, struct error *err) {
    js *activity = ask_in_child(nvml_activity, timeout_ns, err);
    if (activity == NULL)
        RELAY(err);
    return activity;
}
