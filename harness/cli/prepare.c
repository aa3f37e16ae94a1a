/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prepare.h"

#include "base/mem.h"
#include "cli/place_trouble.h"
#include "system/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLACES = 16 };

/* Where nothing was measured: a worker without facts starts in a few milliseconds; CUDA takes about half a
 * second for the first GPU and a fifth for each further one (H200, driver 580). */
static const double typical_worker_s = 0.03;
static const double typical_cuda_first_s = 0.5;
static const double typical_cuda_next_s = 0.2;
/* What no item is: the look back whether the node was quiet, once before all, and after each round the end of
 * its worker with all that CUDA holds there, and the look at the node (two H200: 0.2 to 0.25 s). */
static const double first_look_s = 2;
static const double between_rounds_s = 0.22;

static bool read_capture(const char *dir, struct node *node, struct error *err) {
    struct source source = {0};
    bool good = source_capture(dir, &source, err) && node_read(&source, node, err);
    source_free(&source);
    return good;
}

/* The names as given, the host first, none twice. */
static bool take_names(const struct strings *in, struct strings *out, struct error *err) {
    for (size_t i = 0; in != NULL && i < in->count; i++)
        if (strcmp(in->items[i], "host") == 0)
            strings_add(out, "host");
    for (size_t i = 0; in != NULL && i < in->count; i++)
        if (strcmp(in->items[i], "host") != 0)
            strings_add(out, in->items[i]);
    if (out->count == 0)
        strings_add(out, "host");
    for (size_t i = 1; i < out->count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(out->items[i], out->items[k]) == 0)
                return FAIL(err, ERROR_USAGE, "--in %s is given twice", out->items[i]);
    return out->count <= MAX_PLACES || FAIL(err, ERROR_USAGE, "--in names more than %d places", MAX_PLACES);
}

static bool parse_targets(const struct strings *names, struct prepared *p, struct error *err) {
    p->places = mem_zeroed(names->count, sizeof *p->places);
    for (size_t i = 0; i < names->count; i++) {
        if (!target_parse(names->items[i], &p->places[i].target, err))
            return RELAY(err);
        p->n_places = i + 1;
    }
    return true;
}

/* A container of this machine may well have a boot id of its own (LXC gives it one), so it is known by how it
 * is reached; of other places the boot tells. */
static bool is_same_machine(const struct prepared_place *first, const struct prepared_place *place) {
    const char *docker = getenv("DOCKER_HOST");
    const char *a = node_text(&first->node, "boot_id");
    const char *b = node_text(&place->node, "boot_id");
    bool first_is_host = first->target.kind == TARGET_HOST;
    switch (place->target.kind) {
    case TARGET_LXC:
    case TARGET_PCT:
    case TARGET_LIKE:
        return first_is_host;
    case TARGET_DOCKER:
        return first_is_host && (docker == NULL || docker[0] == '\0' || text_starts(docker, "unix:"));
    case TARGET_PODMAN:
        return first_is_host && getenv("CONTAINER_HOST") == NULL;
    default:
        return a != NULL && b != NULL && strcmp(a, b) == 0;
    }
}

/* What the place sees, and how the first one's view compares. */
static bool look_at_place(const struct prepare_options *options, struct interrupt *interrupt,
                          struct prepared *p, struct prepared_place *place, struct error *err) {
    if (options->from != NULL
            ? !read_capture(options->from, &place->node, err)
            : !coordinator_probe(&place->target, interrupt, &place->node, &place->cuda, err))
        return RELAY(err);
    if (place->node.gpus.raw != NULL)
        place->all_gpus = js_copy(place->node.gpus.raw);
    place->same_machine =
        place == &p->places[0] || options->from != NULL || is_same_machine(&p->places[0], place);
    bool sees_gpus = place->node.gpus.count > 0;
    if (place != &p->places[0] && place->same_machine && p->places[0].node.gpus.count > 0) {
        const char *why = place->cuda.asked && !place->cuda.good ? place->cuda.reason
                          : sees_gpus                            ? ""
                          : place->node.gpus.reason[0] != '\0'   ? place->node.gpus.reason
                                                                 : "no GPU is visible there";
        snprintf(place->broken, sizeof place->broken, "%s", why);
    }
    return true;
}

/* The headline pins where every place of the machine may run. Without a CPU in common nothing is narrowed: an
 * item that cannot be pinned somewhere fails there, by name. */
static void narrow(struct prepared *p) {
    struct prepared_place *first = &p->places[0];
    for (size_t i = 1; i < p->n_places; i++)
        if (p->places[i].same_machine && first->node.topology != NULL && p->places[i].node.topology != NULL)
            topology_allow_common(first->node.topology, p->places[i].node.topology);
}

static bool plan_place(const struct prepare_options *options, struct prepared *p,
                       struct prepared_place *place, struct error *err) {
    struct prepared_place *first = &p->places[0];
    struct plan_options o = options->plan;
    bool other = place != first && place->same_machine;
    o.target = place->target.name;
    o.there = other && options->from == NULL ? &place->node : NULL;
    o.broken = place->broken[0] != '\0' ? place->broken : NULL;
    o.own_placement = options->own_placement && other;
    const char *visible =
        options->from != NULL || place->target.kind != TARGET_HOST ? NULL : getenv("CUDA_VISIBLE_DEVICES");
    if (!other && !plan_choose_gpus(&place->node, options->gpus, visible, err))
        return RELAY(err);
    if (options->from != NULL && place->node.gpus.count > 0)
        place->cuda.seconds =
            typical_cuda_first_s + typical_cuda_next_s * (double)(place->node.gpus.count - 1);
    return plan_make(other ? &first->node : &place->node, &o, &place->plan, err) || RELAY(err);
}

static bool make_places(const struct prepare_options *options, struct interrupt *interrupt,
                        struct prepared *p, struct error *err) {
    bool enters = options->from == NULL || options->simulate;
    bool needs_undo = false;
    for (size_t i = 0; i < p->n_places; i++)
        needs_undo = needs_undo || p->places[i].target.kind != TARGET_HOST;
    if (enters && needs_undo && !undo_open(&p->undo, err))
        return RELAY(err);
    for (size_t i = 0; i < p->n_places; i++) {
        struct target *target = &p->places[i].target;
        target->undo = p->undo.pid != 0 ? &p->undo : NULL;
        target->interrupt_fd = interrupt->fd;
        if (enters && !target_ready(target, options->may_start, err))
            return RELAY(err);
        if (!look_at_place(options, interrupt, p, &p->places[i], err))
            return RELAY(err);
    }
    if (!place_trouble_find(p, interrupt, err))
        return RELAY(err);
    narrow(p);
    for (size_t i = 0; i < p->n_places; i++)
        if (!plan_place(options, p, &p->places[i], err))
            return RELAY(err);
    return true;
}

bool prepare(const struct prepare_options *options, struct interrupt *interrupt, struct prepared *out,
             struct error *err) {
    *out = (struct prepared){.worker_seconds = typical_worker_s, .undo = {.to = -1}};
    struct strings names = {0};
    bool good = take_names(options->in, &names, err) && parse_targets(&names, out, err) &&
                make_places(options, interrupt, out, err);
    strings_free(&names);
    if (!good)
        prepared_free(out);
    return good || RELAY(err);
}

void prepared_free(struct prepared *p) {
    for (size_t i = 0; i < p->n_places; i++) {
        struct prepared_place *place = &p->places[i];
        plan_free(&place->plan);
        node_free(&place->node);
        js_free(place->all_gpus);
        js_free(place->doctor);
        cuda_probe_free(&place->cuda);
        target_free(&place->target);
    }
    free(p->places);
    undo_close(&p->undo);
    *p = (struct prepared){.undo = {.to = -1}};
}

double prepared_seconds(const struct prepared *p) {
    double total = first_look_s;
    for (size_t i = 0; i < p->n_places; i++)
        for (int round = 0; round < p->places[i].plan.rounds && p->places[i].plan.n_items > 0; round++)
            total += between_rounds_s + plan_round_seconds(&p->places[i].plan, round, p->worker_seconds,
                                                           p->places[i].cuda.seconds);
    return total;
}
