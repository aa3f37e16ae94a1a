/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_view.h"

#include "cli/doctor_after.h"
#include "cli/doctor_baseline.h"
#include "cli/doctor_live.h"
#include "system/probe_live.h"

static bool read_capture(const char *dir, struct doctor_view *view, struct error *err) {
    return source_capture(dir, &view->source, err) &&
           (view->facts = facts_read(&view->source, err)) != NULL &&
           device_nodes_read(&view->source, &view->nodes, err);
}

static bool read_files(struct doctor_view *view, struct error *err) {
    if (!source_live(&view->source, err))
        return RELAY(err);
    view->source.probes = probe_live();
    return ((view->facts = facts_read(&view->source, err)) != NULL &&
            device_nodes_read(&view->source, &view->nodes, err)) ||
           RELAY(err);
}

bool doctor_view_open(const struct doctor_view_options *options, struct doctor_view *out, struct error *err) {
    *out = (struct doctor_view){0};
    bool good = options->from != NULL ? read_capture(options->from, out, err)
                : options->probe ? doctor_live(options->dead, &out->source, &out->facts, &out->nodes, err)
                                 : read_files(out, err);
    const char *machine = good && options->from == NULL ? out->facts->kernel.machine_id.value : NULL;
    if (!good || !doctor_baseline(options->baseline, options->results, machine, &out->before, err))
        return RELAY(err);
    if (out->before == NULL && options->from == NULL) {
        out->before = doctor_after_before();
        out->before_is_seen = out->before != NULL;
    }
    scene_make(&out->source, out->facts, &out->nodes, out->before, &out->scene);
    out->made = true;
    return true;
}

void doctor_view_close(struct doctor_view *view) {
    if (view->made)
        scene_free(&view->scene);
    js_free(view->before);
    device_nodes_free(&view->nodes);
    facts_free(view->facts);
    source_free(&view->source);
    *view = (struct doctor_view){0};
}
