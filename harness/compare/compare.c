/* SPDX-License-Identifier: Apache-2.0 */
/* Which series can be set against which, and what becomes of those that cannot. */
#include "compare/compare.h"

#include "base/mem.h"
#include "compare/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one side ---- */

/* All keys of a side, once each, sorted; the declaration is the first run's that has the key. */
struct key_list {
    const struct series **series;
    size_t n;
};

static int by_series_key(const void *a, const void *b) {
    return strcmp((*(const struct series *const *)a)->key, (*(const struct series *const *)b)->key);
}

static void list_keys(const struct side *side, struct key_list *out) {
    size_t total = 0;
    for (size_t i = 0; i < side->n; i++)
        total += side->runs[i].n_series;
    out->series = mem_zeroed(total, sizeof *out->series);
    out->n = 0;
    for (size_t i = 0; i < side->n; i++)
        for (size_t j = 0; j < side->runs[i].n_series; j++)
            out->series[out->n++] = &side->runs[i].series[j];
    qsort(out->series, out->n, sizeof *out->series, by_series_key);
    size_t kept = 0;
    for (size_t i = 0; i < out->n; i++)
        if (kept == 0 || strcmp(out->series[kept - 1]->key, out->series[i]->key) != 0)
            out->series[kept++] = out->series[i];
    out->n = kept;
}

static const struct series *list_find(const struct key_list *list, const char *key) {
    struct series wanted = {.key = (char *)(uintptr_t)key};
    const struct series *pointer = &wanted;
    const struct series **found =
        list->n == 0 ? NULL : bsearch(&pointer, list->series, list->n, sizeof *list->series, by_series_key);
    return found == NULL ? NULL : *found;
}

/* Values of one key in every run of a side, as decide_before_after wants them. */
static void fill_side(const struct side *side, const char *key, struct decide_side *out) {
    const double **values = mem_zeroed(side->n, sizeof *values);
    size_t *counts = mem_zeroed(side->n, sizeof *counts);
    for (size_t i = 0; i < side->n; i++) {
        const struct series *s = run_find(&side->runs[i], key);
        values[i] = s == NULL ? NULL : s->values;
        counts[i] = s == NULL ? 0 : s->n_values;
    }
    *out = (struct decide_side){side->n, values, counts};
}

static void free_side(struct decide_side *side) {
    free((void *)(uintptr_t)side->values);
    free((void *)(uintptr_t)side->n_values);
}

/* Why a side has no value for a key that it declares; NULL: it has one. */
static const char *why_no_value(const struct side *side, const char *key) {
    const char *why = "no record";
    for (size_t i = 0; i < side->n; i++) {
        const struct series *s = run_find(&side->runs[i], key);
        if (s == NULL)
            continue;
        if (s->n_values > 0)
            return NULL;
        why = s->bad_reason != NULL ? s->bad_reason : s->skip_reason != NULL ? s->skip_reason : why;
    }
    return why;
}

/* ---- why a key has no partner ---- */

static bool side_has_gpu(const struct side *side, const char *uuid) {
    for (size_t i = 0; i < side->n; i++) {
        const js *gpus = js_get(side->runs[i].header, "gpus");
        for (size_t j = 0; j < js_length(gpus); j++)
            if (strcmp(js_get_string(js_at(gpus, j), "uuid", ""), uuid) == 0)
                return true;
    }
    return false;
}

static bool lacks_gpu(const struct side *other, const char *key, struct text *why) {
    struct strings uuids = {0};
    key_gpus(key, &uuids);
    bool lacks = false;
    for (size_t i = 0; i < uuids.count && !lacks; i++) {
        lacks = !side_has_gpu(other, uuids.items[i]);
        if (lacks)
            text_addf(why, "%.80s is not in %s", uuids.items[i], other->name);
    }
    strings_free(&uuids);
    return lacks;
}

/* Keys that begin with "bench@" are neighbours in the sorted list: the same case in any version. */
static size_t first_of_bench(const struct key_list *list, const char *key, size_t length) {
    size_t low = 0;
    size_t high = list->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strncmp(list->series[middle]->key, key, length) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Says by name what keeps `key` from a partner in `list`, the keys of the other side. */
static void explain_absence(const struct side *other, const struct key_list *list, const char *key,
                            struct text *why) {
    if (lacks_gpu(other, key, why))
        return;
    size_t length = strcspn(key, "@") + 1;
    size_t slash = strcspn(key, "/");
    size_t brace = strcspn(key, "{");
    bool same_metric = false;
    enum { LOOKED_AT = 1000 }; /* enough for any real case, and bounds the work for a hostile file */
    size_t start = first_of_bench(list, key, length);
    for (size_t i = start; i < list->n && i < start + LOOKED_AT; i++) {
        const char *theirs = list->series[i]->key;
        if (strncmp(theirs, key, length) != 0)
            break;
        same_metric = same_metric || strncmp(theirs, key, brace + 1) == 0;
        size_t their_slash = strcspn(theirs, "/");
        if (strcmp(theirs + their_slash, key + slash) == 0) {
            text_addf(why, "case version %.*s here, %.*s in %s", (int)(slash - length), key + length,
                      (int)(their_slash - length), theirs + length, other->name);
            return;
        }
    }
    text_addf(why, same_metric ? "not measured with these parameters in %s" : "not measured in %s",
              other->name);
}

/* ---- rows ---- */

struct pairing {
    struct side before, after;
    struct key_list old_keys, new_keys;
    const char *blocked;          /* why nothing may be compared; NULL: it may */
    struct decide_series *series; /* of the rows that can be compared */
    size_t *row_of;               /* the row of each of them */
    size_t n;
    const js *gpus; /* for labels */
};

static struct compare_row *add_row(const struct pairing *p, const struct series *s, struct comparison *out) {
    struct compare_row *row = &out->rows[out->n_rows++];
    *row = (struct compare_row){.key = mem_copy_string(s->key),
                                .label = series_label(s->key, p->gpus),
                                .unit = mem_copy_string(s->unit),
                                .higher_is_better = s->higher_is_better,
                                .primary = s->primary};
    return row;
}

/* Why two declared series cannot be compared; false: they can. */
static bool find_obstacle(const struct pairing *p, const struct series *s, struct text *why) {
    const struct series *old = list_find(&p->old_keys, s->key);
    if (old == NULL) {
        explain_absence(&p->before, &p->old_keys, s->key, why);
        return true;
    }
    if (p->blocked != NULL)
        text_add(why, p->blocked);
    else if (strcmp(old->unit, s->unit) != 0)
        text_addf(why, "unit %.20s in BEFORE, %.20s in AFTER", old->unit, s->unit);
    else if (why_no_value(&p->before, s->key) != NULL)
        text_addf(why, "no value in BEFORE: %s", why_no_value(&p->before, s->key));
    else if (why_no_value(&p->after, s->key) != NULL)
        text_addf(why, "no value in AFTER: %s", why_no_value(&p->after, s->key));
    return why->length > 0;
}

static void add_comparable(struct pairing *p, const struct series *s, size_t row) {
    struct decide_series *d = &p->series[p->n];
    struct text class = {0};
    const char *metric = strchr(s->key, '/');
    /* Case and metric with its statistic (a p99 spreads more than a median), and the path. */
    text_addf(&class, "%s%.*s %s", s->bench, (int)strcspn(metric, "{"), metric, s->path_class);
    *d = (struct decide_series){.higher_is_better = s->higher_is_better,
                                .primary = s->primary,
                                .delta_rel = s->delta_rel,
                                .delta_abs = s->delta_abs,
                                .between_rel = s->between_rel,
                                .class_name = text_take(&class)};
    fill_side(&p->before, s->key, &d->before);
    fill_side(&p->after, s->key, &d->after);
    p->row_of[p->n++] = row;
}

static void pair_rows(struct pairing *p, struct comparison *out) {
    out->rows = mem_zeroed(p->new_keys.n + p->old_keys.n, sizeof *out->rows);
    p->series = mem_zeroed(p->new_keys.n, sizeof *p->series);
    p->row_of = mem_zeroed(p->new_keys.n, sizeof *p->row_of);
    for (size_t i = 0; i < p->new_keys.n; i++) {
        const struct series *s = p->new_keys.series[i];
        const struct series *old = list_find(&p->old_keys, s->key);
        struct compare_row *row = add_row(p, s, out);
        struct text why = {0};
        if (find_obstacle(p, s, &why))
            row->result = decide_none(text_string(&why));
        else
            add_comparable(p, s, out->n_rows - 1);
        if (old != NULL)
            compare_path_class(s->key, old->path_class, s->path_class, out);
        text_free(&why);
    }
    for (size_t i = 0; i < p->old_keys.n; i++) {
        const struct series *s = p->old_keys.series[i];
        struct text why = {0};
        if (list_find(&p->new_keys, s->key) != NULL)
            continue;
        explain_absence(&p->after, &p->new_keys, s->key, &why);
        add_row(p, s, out)->result = decide_none(text_string(&why));
        text_free(&why);
    }
}

static int by_row_key(const void *a, const void *b) {
    return strcmp(((const struct compare_row *)a)->key, ((const struct compare_row *)b)->key);
}

static void judge_rows(struct pairing *p, struct comparison *out) {
    struct decide_result *results = mem_zeroed(p->n, sizeof *results);
    decide_before_after(p->series, p->n, results);
    for (size_t i = 0; i < p->n; i++) {
        out->rows[p->row_of[i]].result = results[i];
        out->n_family += isnan(results[i].p) ? 0 : 1;
        free_side(&p->series[i].before);
        free_side(&p->series[i].after);
        free((void *)(uintptr_t)p->series[i].class_name);
    }
    free(results);
    free(p->series);
    free(p->row_of);
    qsort(out->rows, out->n_rows, sizeof *out->rows, by_row_key);
}

/* ---- failures ---- */

static int by_failure_key(const void *a, const void *b) {
    return strcmp(((const struct compare_failure *)a)->key, ((const struct compare_failure *)b)->key);
}

static void gather_failures(const struct side *side, const js *gpus, struct compare_failure **list,
                            size_t *n) {
    size_t total = 0;
    for (size_t i = 0; i < side->n; i++)
        total += side->runs[i].n_failures;
    struct compare_failure *all = mem_zeroed(total, sizeof *all);
    size_t used = 0;
    for (size_t i = 0; i < side->n; i++)
        for (size_t j = 0; j < side->runs[i].n_failures; j++) {
            const struct run_failure *f = &side->runs[i].failures[j];
            all[used++] =
                (struct compare_failure){mem_copy_string(f->key),    NULL, mem_copy_string(f->outcome),
                                         mem_copy_string(f->reason), 1,    false};
        }
    qsort(all, used, sizeof *all, by_failure_key);
    size_t kept = 0;
    for (size_t i = 0; i < used; i++) {
        if (kept > 0 && strcmp(all[kept - 1].key, all[i].key) == 0) {
            all[kept - 1].count++;
            free(all[i].key);
            free(all[i].outcome);
            free(all[i].reason);
        } else {
            all[kept] = all[i];
            all[kept].label = series_label(all[kept].key, gpus);
            kept++;
        }
    }
    *list = all;
    *n = kept;
}

static void free_failures(struct compare_failure *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free(list[i].key);
        free(list[i].label);
        free(list[i].outcome);
        free(list[i].reason);
    }
    free(list);
}

static void compare_failures(const struct pairing *p, struct comparison *out) {
    struct compare_failure *old;
    size_t n_old;
    gather_failures(&p->before, p->gpus, &old, &n_old);
    gather_failures(&p->after, p->gpus, &out->failures, &out->n_failures);
    for (size_t i = 0; i < out->n_failures; i++)
        out->failures[i].before_too =
            n_old > 0 && bsearch(&out->failures[i], old, n_old, sizeof *old, by_failure_key) != NULL;
    free_failures(old, n_old);
}

/* ---- what is told of the runs ---- */

static const char *build_of(const struct run *run) {
    return js_get_string(js_get(run->header, "tool"), "build_id", "");
}

static js *describe_runs(const struct side *side) {
    static const char *const taken[] = {"label", "started", "node", "machine_id", "boot_id", "profile"};
    js *list = js_new_array();
    for (size_t i = 0; i < side->n; i++) {
        const struct run *run = &side->runs[i];
        js *o = js_new_object();
        js_set_string(o, "path", run->path);
        for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
            js_set_string(o, taken[k], js_get_string(run->header, taken[k], NULL));
        js_set_string(o, "build_id", build_of(run));
        js_set_bool(o, "simulated", js_get_bool(run->header, "simulated", false));
        js_set_bool(o, "interrupted", run->interrupted);
        js_append(list, o);
    }
    return list;
}

static void note_runs(const struct side *side, struct comparison *out) {
    for (size_t i = 0; i < side->n; i++) {
        const struct run *run = &side->runs[i];
        for (size_t k = 0; k < run->notes.count; k++)
            strings_addf(&out->notes, "%s: %s", run->path, run->notes.items[k]);
        if (run->interrupted && run->last_started != NULL)
            strings_addf(&out->notes, "%s was interrupted while %s was running; what it holds is compared",
                         run->path, run->last_started);
        else if (run->interrupted)
            strings_addf(&out->notes, "%s was interrupted; what it holds is compared", run->path);
        size_t busy = 0;
        for (size_t k = 0; k < run->n_series; k++)
            busy += run->series[k].flagged_busy ? 1 : 0;
        if (busy > 0)
            strings_addf(&out->notes, "%s: %zu series were measured on a busy machine", run->path, busy);
    }
}

/* Why no series may be compared; NULL: nothing stands against it, or `force` overrides it. */
static const char *find_block(const struct pairing *p, bool force, struct comparison *out) {
    const struct run *first = &p->before.runs[0];
    bool simulated = js_get_bool(first->header, "simulated", false);
    bool other_build = false;
    bool other_kind = false;
    const struct side *const sides[] = {&p->before, &p->after};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sides[k]->n; i++) {
            const struct run *run = &sides[k]->runs[i];
            other_build = other_build || strcmp(build_of(run), build_of(first)) != 0;
            other_kind = other_kind || js_get_bool(run->header, "simulated", false) != simulated;
        }
    if (other_build && force)
        strings_addf(&out->notes, "the runs are of different builds of gpuvet: compared because of --force");
    if (other_kind && force)
        strings_addf(&out->notes, "simulated and real runs are mixed: compared because of --force");
    if (force)
        return NULL;
    return other_kind    ? "one side is simulated, the other real (--force compares all the same)"
           : other_build ? "the runs are of different builds of gpuvet (--force compares all the same)"
                         : NULL;
}

static bool same_run(const struct run *a, const struct run *b) {
    return strcmp(js_get_string(a->header, "started", ""), js_get_string(b->header, "started", "")) == 0 &&
           a->n_records == b->n_records && js_equal(a->header, b->header);
}

static bool check_side(const struct side *side, struct error *err) {
    if (side->n == 0)
        return FAIL(err, ERROR_USAGE, "no run on the side of %s", side->name);
    for (size_t i = 0; i < side->n; i++)
        for (size_t j = 0; j < i; j++)
            if (same_run(&side->runs[i], &side->runs[j]))
                return FAIL(err, ERROR_USAGE, "%s and %s are the same run: one run counts once",
                            side->runs[j].path, side->runs[i].path);
    return true;
}

bool compare_runs(const struct run *before, size_t n_before, const struct run *after, size_t n_after,
                  const struct compare_options *options, struct comparison *out, struct error *err) {
    struct pairing p = {.before = {before, n_before, "BEFORE"}, .after = {after, n_after, "AFTER"}};
    *out = (struct comparison){0};
    if (!check_side(&p.before, err) || !check_side(&p.after, err))
        return RELAY(err);
    p.gpus = js_get(side_newest(&p.after)->header, "gpus");
    out->before = describe_runs(&p.before);
    out->after = describe_runs(&p.after);
    for (size_t i = 0; i < n_before; i++)
        for (size_t j = 0; j < n_after; j++)
            if (same_run(&before[i], &after[j]))
                strings_addf(&out->notes, "%s stands on both sides", after[j].path);
    note_runs(&p.before, out);
    note_runs(&p.after, out);
    p.blocked = find_block(&p, options->force, out);
    list_keys(&p.before, &p.old_keys);
    list_keys(&p.after, &p.new_keys);
    compare_environment(&p.before, &p.after, out);
    compare_counters(&p.before, &p.after, out);
    pair_rows(&p, out);
    judge_rows(&p, out);
    compare_failures(&p, out);
    free(p.old_keys.series);
    free(p.new_keys.series);
    return true;
}

void comparison_free(struct comparison *c) {
    for (size_t i = 0; i < c->n_rows; i++) {
        free(c->rows[i].key);
        free(c->rows[i].label);
        free(c->rows[i].unit);
    }
    for (size_t i = 0; i < c->n_worse; i++) {
        free(c->worse[i].key);
        free(c->worse[i].before);
        free(c->worse[i].after);
        free(c->worse[i].text);
    }
    for (size_t i = 0; i < c->n_differences; i++) {
        free(c->differences[i].key);
        free(c->differences[i].before);
        free(c->differences[i].after);
    }
    free_failures(c->failures, c->n_failures);
    free(c->rows);
    free(c->worse);
    free(c->differences);
    strings_free(&c->not_visible);
    strings_free(&c->notes);
    js_free(c->before);
    js_free(c->after);
    *c = (struct comparison){0};
}

const struct compare_row *comparison_find(const struct comparison *c, const char *key) {
    struct compare_row wanted = {.key = (char *)(uintptr_t)key};
    return c->n_rows == 0 ? NULL : bsearch(&wanted, c->rows, c->n_rows, sizeof *c->rows, by_row_key);
}

size_t comparison_count(const struct comparison *c, enum verdict verdict) {
    size_t n = 0;
    for (size_t i = 0; i < c->n_rows; i++)
        n += c->rows[i].result.verdict == verdict ? 1 : 0;
    return n;
}

int comparison_exit_status(const struct comparison *c, bool strict) {
    if (comparison_count(c, VERDICT_NOT_COMPARABLE) == c->n_rows)
        return 2;
    size_t failed = 0;
    for (size_t i = 0; i < c->n_failures; i++)
        failed += c->failures[i].before_too ? 0 : 1;
    if (c->n_worse > 0 || failed > 0 || comparison_count(c, VERDICT_REGRESSED) > 0)
        return 1;
    return strict && comparison_count(c, VERDICT_UNDECIDED) > 0 ? 3 : 0;
}
