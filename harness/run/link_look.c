/* SPDX-License-Identifier: Apache-2.0 */
#include "run/link_look.h"

#include "system/pci_state.h"

void link_look(struct case_context *context, gpu_stream stream) {
    struct source system;
    struct error ignored = {0};
    bool dry = true;
    if (context->bench == NULL || !context->bench->loads_link || context->n_gpus == 0 ||
        !source_live(&system, &ignored))
        return;
    js *seen = js_new_object();
    for (int i = 0; i < context->n_gpus; i++) {
        struct pci_link link = pci_link_now(&system, context->gpus[i].bdf);
        if (link.gen == 0 || link.width == 0)
            continue;
        js *one = js_new_object();
        js_set_int(one, "gen", link.gen);
        js_set_int(one, "width", link.width);
        js_set(seen, context->gpus[i].uuid, one);
    }
    source_free(&system);
    if (gpu_stream_done(stream, &dry, &ignored) && !dry)
        for (struct js_member m = js_first(seen); m.key != NULL; m = js_next(seen, m))
            js_set(context->links, m.key, js_keep(m.value));
    js_free(seen);
}
