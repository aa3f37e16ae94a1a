/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/places.h"

#include "base/mem.h"
#include "compare/parts.h"
#include "compare/place_facts.h"
#include "stats/decide_paired.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The parameter by which a run marks what it measured in a place's own placement (run/plan.h). */
static const char own_placement[] = "placement=own";

struct pairs {
    struct paired_series *series;
    size_t *row_of;
    bool *placement;
    size_t n;
};

static const char *target_of(const char *key) {
    const char *at = strrchr(key, '@');
    return at != NULL ? at + 1 : "";
}

/* A target's name as keys write it (a path has slashes, say); owned. */
static char *in_key(const char *target) {
    char *key = series_key("x", 0, "x", "", NULL, NULL, target);
    char *escaped = mem_copy_string(target_of(key));
    free(key);
    return escaped;
}

/* The key with another target (as keys write it); owned. */
static char *at_target(const char *key, const char *target) {
    struct text t = {0};
    text_add_bytes(&t, key, (size_t)(target_of(key) - key));
    text_add(&t, target);
    return text_take(&t);
}

/* Where a parameter that stands alone between separators is in a key; NULL: nowhere. */
static const char *find_param(const char *key, const char *param) {
    size_t n = strlen(param);
    for (const char *at = strstr(key, param); at != NULL; at = strstr(at + 1, param))
        if (at > key && strchr(";,", at[-1]) != NULL && strchr(",}", at[n]) != NULL && at[n] != '\0')
            return at;
    return NULL;
}

/* The key of the pinned twin; NULL: this is none in its own placement. Owned. */
static char *pinned_key(const char *key) {
    const char *at = find_param(key, own_placement);
    if (at == NULL)
        return NULL;
    struct text t = {0};
    const char *after = at + strlen(own_placement);
    text_add_bytes(&t, key, (size_t)(at - key));
    if (*after == ',')
        after++;
    else if (t.length > 0 && t.data[t.length - 1] == ',')
        t.data[--t.length] = '\0';
    text_add(&t, after);
    return text_take(&t);
}

/* The rounds that both have; the arrays of `out` are owned but for what is const in its type. */
static void pair_values(const struct series *a, const struct series *b, struct paired_series *out) {
    size_t most = a->n_values < b->n_values ? a->n_values : b->n_values;
    int *rounds = mem_zeroed(most, sizeof *rounds);
    double *first = mem_zeroed(2 * most, sizeof *first);
    double *second = first + most;
    size_t n = 0;
    for (size_t i = 0, k = 0; i < a->n_values && k < b->n_values;) {
        if (a->rounds[i] < b->rounds[k]) {
            i++;
        } else if (a->rounds[i] > b->rounds[k]) {
            k++;
        } else {
            rounds[n] = a->rounds[i];
            first[n] = a->values[i++];
            second[n++] = b->values[k++];
        }
    }
    out->n = n;
    out->rounds = rounds;
    out->first = first;
    out->second = second;
}

static void add_pair(struct pairs *p, const struct series *a, const struct series *b, size_t row,
                     bool placement) {
    struct paired_series *s = &p->series[p->n];
    struct text class = {0};
    const char *metric = strchr(b->key, '/');
    text_addf(&class, "%s%.*s %s", b->bench, metric != NULL ? (int)strcspn(metric, "{") : 0,
              metric != NULL ? metric : "", b->path_class);
    *s = (struct paired_series){.higher_is_better = b->higher_is_better,
                                .primary = placement || b->primary,
                                .delta_rel = b->delta_rel,
                                .delta_abs = b->delta_abs,
                                .class_name = text_take(&class)};
    pair_values(a, b, s);
    p->row_of[p->n] = row;
    p->placement[p->n++] = placement;
}

static size_t find_row(const struct place_cost *c, const char *key) {
    for (size_t i = 0; i < c->n_rows; i++)
        if (strcmp(c->rows[i].key, key) == 0)
            return i;
    return c->n_rows;
}

static void make_rows(const struct run *run, struct place_cost *c, struct pairs *p) {
    char *there = in_key(c->target);
    char *here = in_key(c->against);
    for (size_t i = 0; i < run->n_series; i++) {
        const struct series *s = &run->series[i];
        char *pinned = pinned_key(s->key);
        char *other = at_target(s->key, here);
        const struct series *host = run_find(run, other);
        if (strcmp(target_of(s->key), there) == 0 && pinned == NULL && host != NULL && s->n_values > 0) {
            struct place_row *row = &c->rows[c->n_rows++];
            *row = (struct place_row){.key = mem_copy_string(s->key),
                                      .label = series_label(host->key, js_get(run->header, "gpus")),
                                      .unit = mem_copy_string(s->unit),
                                      .primary = s->primary,
                                      .higher_is_better = s->higher_is_better};
            add_pair(p, host, s, c->n_rows - 1, false);
            size_t n = p->series[p->n - 1].n;
            c->n_rounds = n > c->n_rounds ? n : c->n_rounds;
        }
        free(other);
        free(pinned);
    }
    free(there);
    free(here);
}

/* A family of its own: it explains, and must not cost the headline power. */
static void make_placements(const struct run *run, struct place_cost *c, struct pairs *p) {
    char *there = in_key(c->target);
    for (size_t i = 0; i < run->n_series; i++) {
        const struct series *s = &run->series[i];
        char *pinned = strcmp(target_of(s->key), there) == 0 ? pinned_key(s->key) : NULL;
        const struct series *twin = pinned != NULL ? run_find(run, pinned) : NULL;
        size_t row = twin != NULL ? find_row(c, pinned) : c->n_rows;
        if (twin != NULL && row < c->n_rows && s->n_values > 0)
            add_pair(p, twin, s, row, true);
        free(pinned);
    }
    free(there);
}

static void judge(struct place_cost *c, struct pairs *p, uint64_t seed) {
    struct decide_result *results = mem_zeroed(p->n, sizeof *results);
    decide_paired(p->series, p->n, seed, results);
    for (size_t i = 0; i < p->n; i++) {
        struct place_row *row = &c->rows[p->row_of[i]];
        if (p->placement[i]) {
            row->placement = results[i];
            row->has_placement = true;
        } else {
            row->result = results[i];
            c->n_family += isnan(results[i].p) ? 0 : 1;
        }
        free((void *)(uintptr_t)p->series[i].rounds);
        free((void *)(uintptr_t)p->series[i].first);
        free((void *)(uintptr_t)p->series[i].class_name);
    }
    p->n = 0;
    free(results);
}

static bool is_gap(const struct decide_result *r) {
    return r->verdict == VERDICT_IMPROVED || r->verdict == VERDICT_REGRESSED;
}

/* A cause is named only beside a gap, and only one that can move that series. */
static void name_causes(const struct run *run, struct place_cost *c) {
    struct place_facts facts;
    place_facts_read(run, c->against, c->target, &facts);
    for (size_t i = 0; i < facts.n; i++)
        strings_add(&c->facts, facts.items[i].text);
    for (size_t i = 0; i < c->n_rows; i++) {
        struct place_row *row = &c->rows[i];
        struct text t = {0};
        const struct series *s = run_find(run, row->key);
        bool quota = s != NULL && s->flagged_quota;
        if (is_gap(&row->result) && quota)
            text_add(&t, "its CPU quota held it back");
        for (size_t k = 0; k < facts.n && is_gap(&row->result); k++)
            if (!facts.items[k].placement_only && s != NULL && place_fact_fits(&facts.items[k], s->bench))
                text_addf(&t, "%s%s", t.length > 0 ? "; " : "", facts.items[k].text);
        if (row->has_placement && is_gap(&row->placement))
            text_addf(&t, "%splacement: %+.1f %% where the container puts it itself",
                      t.length > 0 ? "; " : "", 100 * (row->placement.ratio - 1));
        if (t.length > 0)
            row->cause = text_take(&t);
        else if (is_gap(&row->result))
            row->cause = mem_copy_string("no known cause shows in the facts of both sides");
    }
    place_facts_free(&facts);
}

static void make_cost(const struct run *run, const char *against, const char *target, struct place_cost *c) {
    struct pairs p = {mem_zeroed(run->n_series, sizeof *p.series),
                      mem_zeroed(run->n_series, sizeof *p.row_of),
                      mem_zeroed(run->n_series, sizeof *p.placement), 0};
    uint64_t seed = (uint64_t)js_get_int(run->header, "seed", 1);
    *c = (struct place_cost){.target = mem_copy_string(target), .against = mem_copy_string(against)};
    const js *place = js_get(js_get(run->header, "places"), target);
    c->same_machine = js_get_bool(place, "same_machine", false);
    c->broken = mem_copy_string(js_get_string(place, "broken", NULL));
    c->rows = mem_zeroed(run->n_series, sizeof *c->rows);
    make_rows(run, c, &p);
    judge(c, &p, seed);
    make_placements(run, c, &p);
    judge(c, &p, seed);
    name_causes(run, c);
    free(p.series);
    free(p.row_of);
    free(p.placement);
}

void place_costs_make(const struct run *run, struct place_costs *out) {
    const js *targets = js_get(run->header, "targets");
    size_t n = js_length(targets);
    *out = (struct place_costs){0};
    if (n < 2 || n > 64)
        return;
    const char *first = js_string(js_at(targets, 0), "");
    out->places = mem_zeroed(n - 1, sizeof *out->places);
    for (size_t i = 1; i < n; i++)
        make_cost(run, first, js_string(js_at(targets, i), ""), &out->places[out->n++]);
}

void place_costs_free(struct place_costs *costs) {
    for (size_t i = 0; i < costs->n; i++) {
        struct place_cost *c = &costs->places[i];
        for (size_t k = 0; k < c->n_rows; k++) {
            free(c->rows[k].key);
            free(c->rows[k].label);
            free(c->rows[k].unit);
            free(c->rows[k].cause);
        }
        free(c->rows);
        free(c->target);
        free(c->against);
        free(c->broken);
        strings_free(&c->facts);
    }
    free(costs->places);
    *costs = (struct place_costs){0};
}
