/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_header.h"

#include "base/build.h"
#include "base/files.h"
#include "cli/run_libraries.h"
#include "cli/topo_view.h"
#include "run/channel.h"

#include <math.h>
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

/* Of each place what it looks like from inside, and what of its environment differs from the first one's. */
static js *places(const struct prepared *p) {
    js *all = js_new_object();
    for (size_t i = 0; i < p->n_places; i++) {
        const struct prepared_place *place = &p->places[i];
        js *one = js_new_object();
        js *differs = js_new_object();
        for (struct js_member m = js_first(place->node.environment); i > 0 && m.key != NULL;
             m = js_next(place->node.environment, m))
            if (!js_equal(m.value, js_get(p->places[0].node.environment, m.key)))
                js_set(differs, m.key, js_copy(m.value));
        js_set_bool(one, "same_machine", place->same_machine);
        if (place->cuda.view != NULL)
            js_set(one, "view", js_copy(place->cuda.view));
        if (place->broken[0] != '\0')
            js_set_string(one, "broken", place->broken);
        js_set(one, "environment", differs);
        js_set(all, place->target.name, one);
    }
    return all;
}

js *run_header(const struct run_header_parts *parts) {
    const struct prepared *p = parts->prepared;
    const struct prepared_place *first = &p->places[0];
    char at[CLOCK_STAMP_SIZE];
    clock_stamp(parts->started, at);
    js *header = message_new("header");
    js_set_string(header, "schema", "gpuvet.run/1");
    js_set(header, "tool", tool());
    js_set(header, "command", command_line());
    js_set_string(header, "label", parts->label);
    js_set_int(header, "seed", (int64_t)first->plan.seed);
    js_set_string(header, "profile", first->plan.profile->name);
    js_set_string(header, "started", at);
    js_set_string(header, "node", first->node.name);
    set_fact(header, &first->node, "machine_id");
    set_fact(header, &first->node, "boot_id");
    js_set_bool(header, "simulated", parts->simulated);
    js_set_int(header, "rounds_planned", first->plan.rounds);
    if (!parts->simulated) /* which takes no time */
        js_set_int(header, "predicted_s", (int64_t)ceil(prepared_seconds(p)));
    js *targets = js_new_array();
    js *series = js_new_array();
    for (size_t i = 0; i < p->n_places; i++) {
        js_append_string(targets, p->places[i].target.name);
        js *planned = plan_series_json(&p->places[i].plan);
        for (size_t k = 0; k < js_length(planned); k++)
            js_append(series, js_keep(js_at(planned, k)));
        js_free(planned);
    }
    js_set(header, "targets", targets);
    js_set(header, "worker_environment", coordinator_environment(&first->target));
    js *environment = js_copy(first->node.environment);
    if (!parts->simulated)
        run_libraries_add(p, environment);
    js_set(header, "environment", environment);
    js_set(header, "environment_volatile", js_copy(first->node.moving));
    js_set(header, "gpus", first->all_gpus != NULL ? js_copy(first->all_gpus) : js_new_array());
    js_set(header, "topology", topo_json(&first->node));
    js_set(header, "places", places(p));
    js_set(header, "series", series);
    return header;
}
