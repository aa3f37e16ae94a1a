/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_places.h"

#include "base/log.h"
#include "base/mem.h"
#include "cli/p2p_proof.h"
#include "cli/place_trouble.h"
#include "cli/skips_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void run_places_make(struct run_places *r, const struct prepared *prepared, bool simulate,
                     struct clock *clock) {
    *r = (struct run_places){.prepared = prepared, .n = prepared->n_places};
    r->tables = mem_zeroed(r->n, sizeof *r->tables);
    r->places = mem_zeroed(r->n, sizeof *r->places);
    r->proof = mem_zeroed(r->n, sizeof *r->proof);
    for (size_t i = 0; i < r->n; i++)
        r->proof[i] = js_new_array();
    for (size_t i = 0; i < r->n; i++) {
        struct prepared_place *place = &prepared->places[i];
        run_table_make(&r->tables[i], &place->plan, &prepared->places[place->same_machine ? 0 : i].node,
                       clock);
        r->tables[i].predicted_s = prepared_seconds(prepared);
        r->places[i] = (struct run_place){.target = &place->target, .plan = &place->plan};
        if (place->cuda.asked && !place->cuda.good && !simulate)
            r->places[i].cuda_broken = place->cuda.reason;
        r->broken = r->broken || place->broken[0] != '\0' || r->places[i].cuda_broken != NULL;
    }
}

void run_places_free(struct run_places *r) {
    for (size_t i = 0; i < r->n; i++)
        run_table_free(&r->tables[i]);
    for (size_t i = 0; i < r->n; i++)
        js_free(r->proof[i]);
    free(r->proof);
    free(r->tables);
    free(r->places);
    *r = (struct run_places){0};
}

/* ---- the coordinator's words ---- */

static size_t place_of_item(const struct run_places *r, const struct plan_item *item) {
    size_t at = 0;
    for (size_t i = 0; i < r->n && item != NULL; i++)
        for (size_t k = 0; k < r->places[i].plan->n_items; k++)
            if (&r->places[i].plan->items[k] == item)
                at = i;
    return at;
}

static struct run_view view_of_item(const struct run_places *r, const struct plan_item *item) {
    return run_table_view(&r->tables[place_of_item(r, item)]);
}

static void on_round(void *state, int round, int rounds) {
    struct run_places *r = state;
    struct run_view view = run_table_view(&r->tables[0]);
    view.on_round(view.state, round, rounds); /* one line for all places */
    for (size_t i = 1; i < r->n; i++) {
        r->tables[i].round = round;
        r->tables[i].rounds_s = r->tables[0].rounds_s;
    }
}

static void on_start(void *state, const struct plan_item *item, int round) {
    struct run_view view = view_of_item(state, item);
    view.on_start(view.state, item, round);
}

static void on_hang(void *state, const struct plan_item *item, const char *reason) {
    struct run_view view = view_of_item(state, item);
    view.on_hang(view.state, item, reason);
}

static void on_record(void *state, const struct plan_item *item, int round, const js *record) {
    struct run_view view = view_of_item(state, item);
    view.on_record(view.state, item, round, record);
    p2p_proof_take(((struct run_places *)state)->proof[place_of_item(state, item)], record);
}

static void on_wait(void *state, const char *why) {
    struct run_places *r = state;
    struct run_view view = run_table_view(&r->tables[0]);
    view.on_wait(view.state, why);
}

/* A run that cannot be written any more says so by its footer. */
static void on_end(void *state) {
    struct run_places *r = state;
    struct error ignored = {0};
    for (size_t i = 0; i < r->n && r->writer != NULL; i++)
        p2p_proof_find(r->proof[i], r->places[i].target->name, r->writer, &ignored);
}

struct run_view run_places_view(struct run_places *r) {
    return (struct run_view){.state = r,
                             .on_round = on_round,
                             .on_start = on_start,
                             .on_hang = on_hang,
                             .on_record = on_record,
                             .on_wait = on_wait,
                             .on_end = on_end};
}

/* ---- the rules ---- */

static bool write_findings(const js *doctor, const char *target, struct run_writer *writer,
                           struct error *err) {
    const js *all = js_get(doctor, "findings");
    bool good = true;
    for (size_t i = 0; i < js_length(all) && i < 1000 && good; i++) {
        js *line = js_new_object();
        js_set_string(line, "type", "finding");
        js_set_string(line, "target", target);
        for (struct js_member m = js_first(js_at(all, i)); m.key != NULL; m = js_next(js_at(all, i), m))
            if (strcmp(m.key, "type") != 0 && strcmp(m.key, "target") != 0)
                js_set(line, m.key, js_copy(m.value));
        good = js_is_string(js_get(line, "id")) ? run_writer_add(writer, line, false, err) : true;
        js_free(line);
    }
    return good;
}

static void say_remedy(const char *name, const char *trouble, const js *finding) {
    const js *remedy = js_at(js_get(finding, "remedy"), 0);
    log_warning("%s: %s%sdoctor: %s%s%s", name, trouble, trouble[0] != '\0' ? "; " : "",
                js_get_string(finding, "title", "?"), remedy != NULL ? "; " : "", js_string(remedy, ""));
}

/* What this place's doctor knows of the others, which are containers of it. */
static void say_of_containers(const struct run_places *r, size_t at, const js *doctor) {
    for (size_t i = 0; i < r->n; i++) {
        const js *of_it = place_trouble_from_host(doctor, r->places[i].target);
        if (i != at && of_it != NULL)
            say_remedy(r->places[at].target->name, "", of_it);
    }
}

static void say_side(const struct run_places *r, size_t at, const js *doctor, const char *why) {
    const char *name = r->places[at].target->name;
    const struct prepared_place *place = &r->prepared->places[at];
    const char *cuda = r->places[at].cuda_broken;
    const js *fail = place_trouble_cause(doctor);
    if (place->broken[0] != '\0') { /* with doctor's word in it */
        const js *remedy = js_at(js_get(fail, "remedy"), 0);
        log_warning("%s: %s; %s%s", name, place->broken,
                    doctor == NULL   ? "doctor gave no answer there: "
                    : fail == NULL   ? "doctor finds no cause there"
                    : remedy != NULL ? ""
                                     : "doctor knows no remedy",
                    doctor == NULL ? why : js_string(remedy, ""));
    } else if (cuda == NULL) {
        const js *of_host = place_trouble_of_host(doctor);
        log_note("%s: CUDA works%s%s", name, of_host != NULL ? "; doctor: " : "",
                 of_host != NULL ? js_get_string(of_host, "title", "?") : "");
    } else if (doctor == NULL) {
        log_warning("%s: CUDA is broken: %s; doctor gave no answer there: %s", name, cuda, why);
    } else if (fail == NULL) {
        log_warning("%s: CUDA is broken: %s; doctor finds no cause", name, cuda);
    } else {
        say_remedy(name, cuda, fail);
    }
}

/* As asked when the place was looked at, or now. */
static bool tell_side(struct run_places *r, size_t at, struct interrupt *interrupt, struct run_writer *writer,
                      struct error *err) {
    const struct prepared_place *place = &r->prepared->places[at];
    struct error why = {0};
    js *doctor = place->doctor != NULL ? js_copy(place->doctor) : NULL;
    snprintf(why.text, sizeof why.text, "%s", place->no_doctor);
    if (doctor == NULL && why.text[0] == '\0')
        doctor = coordinator_doctor(r->places[at].target, interrupt, &why);
    bool good = why.kind != ERROR_INTERRUPTED || FAIL(err, ERROR_INTERRUPTED, "interrupted");
    if (good)
        say_side(r, at, doctor, why.text);
    if (good)
        say_of_containers(r, at, doctor);
    good = good && write_findings(doctor, r->places[at].target->name, writer, err);
    js_free(doctor);
    return good;
}

bool run_places_doctor(struct run_places *r, struct interrupt *interrupt, struct run_writer *writer,
                       struct error *err) {
    bool good = true;
    r->writer = writer;
    for (size_t i = 0; r->broken && i < r->n && good; i++)
        good = tell_side(r, i, interrupt, writer, err);
    return good;
}

/* ---- printing ---- */

void run_places_print(const struct run_places *r, FILE *out) {
    for (size_t i = 0; i < r->n; i++) {
        if (r->n > 1)
            fprintf(out, "%s%s\n", i > 0 ? "\n" : "", r->places[i].target->name);
        run_table_print(&r->tables[i], out);
    }
}

static void print_series(const struct prepared_place *place, const struct node *node,
                         const struct plan_series *s) {
    const struct plan_item *item = &place->plan.items[s->item];
    struct text words = {0};
    char effect[32] = "needs 3 runs";
    double least = plan_smallest_effect(&place->plan, s);
    if (isfinite(least))
        snprintf(effect, sizeof effect, "%.1f %%", 100 * least);
    text_addf(&words, "%s %s%s%s ", item->bench->name, item->instance.metric->name,
              s->row->statistic[0] != '\0' ? "." : "", s->row->statistic);
    describe_item(item, node, &words);
    printf("%-64s %-11s %8.2f %14s", text_string(&words), s->primary ? "primary" : "descriptive",
           item->instance.seconds, s->primary ? effect : "-");
    if (item->instance.cpu >= 0)
        printf("  cpu %d", item->instance.cpu);
    putchar('\n');
    text_free(&words);
}

static void print_place(const struct prepared *p, size_t at) {
    const struct prepared_place *place = &p->places[at];
    const struct node *node = &p->places[place->same_machine ? 0 : at].node;
    if (p->n_places > 1)
        printf("%s%s\n", at > 0 ? "\n" : "", place->target.name);
    printf("%-64s %-11s %8s %14s\n", "series", "class", "seconds", "least effect");
    for (size_t i = 0; i < place->plan.n_series; i++)
        print_series(place, node, &place->plan.series[i]);
    skips_print(&place->plan, node, "not here", stdout);
}

void run_places_print_plan(const struct prepared *p) {
    const struct plan *plan = &p->places[0].plan;
    double most = 0;
    for (size_t i = 0; i < p->n_places; i++)
        print_place(p, i);
    for (int round = 0; round < plan->rounds; round++) {
        double seconds = 0;
        for (size_t i = 0; i < p->n_places; i++)
            seconds +=
                plan_round_seconds(&p->places[i].plan, round, p->worker_seconds, p->places[i].cuda.seconds);
        most = fmax(most, seconds);
    }
    printf("\n%s: %s\n%d rounds of at most %.1f s, about %.0f s in all; %d primary series%s\n",
           plan->profile->name, plan->profile->meaning, plan->rounds, most, prepared_seconds(p),
           plan->n_primary, plan->left_out > 0 ? ", the rest left out" : "");
    printf("Least effect: what 3 runs before and 1 after could show, by the default spread between runs (an "
           "estimate).\n");
}
