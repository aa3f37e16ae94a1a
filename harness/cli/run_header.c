/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_header.h"

#include "base/build.h"
#include "base/files.h"
#include "run/channel.h"

#include <stdlib.h>
#include <string.h>

/* The command as it was typed; arguments are NUL-separated. */
static js *command_line(void) {
    js *list = js_new_array();
    struct text all = {0};
    struct error ignored = {0};
    if (file_read("/proc/self/cmdline", 1 << 16, &all, &ignored))
        for (size_t at = 0; at < all.length; at += strlen(all.data + at) + 1)
            js_append_string(list, all.data + at);
    text_free(&all);
    return list;
}

static js *tool(void) {
    js *t = js_new_object();
    js_set_string(t, "name", "gpuvet");
    js_set_string(t, "version", build_version());
    js_set_string(t, "build_id", build_id());
    js_set_string(t, "cuda", build_cuda());
    return t;
}

static void set_fact(js *header, const struct node *node, const char *key) {
    js_set_string(header, key, node_text(node, key));
}

js *run_header(const struct run_header_parts *parts) {
    const struct prepared *p = parts->prepared;
    char at[CLOCK_STAMP_SIZE];
    clock_stamp(parts->started, at);
    js *header = message_new("header");
    js_set_string(header, "schema", "gpuvet.run/1");
    js_set(header, "tool", tool());
    js_set(header, "command", command_line());
    js_set_string(header, "label", parts->label);
    js_set_int(header, "seed", (int64_t)p->plan.seed);
    js_set_string(header, "profile", p->plan.profile->name);
    js_set_string(header, "started", at);
    js_set_string(header, "node", p->node.name);
    set_fact(header, &p->node, "machine_id");
    set_fact(header, &p->node, "boot_id");
    js_set_bool(header, "simulated", parts->simulated);
    js_set_int(header, "rounds_planned", p->plan.rounds);
    js *targets = js_new_array();
    js_append_string(targets, p->target.name);
    js_set(header, "targets", targets);
    js_set(header, "worker_environment", coordinator_environment());
    js_set(header, "environment", js_copy(p->node.environment));
    js_set(header, "environment_volatile", js_copy(p->node.moving));
    js_set(header, "gpus", p->all_gpus != NULL ? js_copy(p->all_gpus) : js_new_array());
    js_set(header, "series", plan_series_json(&p->plan));
    return header;
}
