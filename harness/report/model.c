/* SPDX-License-Identifier: Apache-2.0 */
/* One row a series, with both sides and the verdict, from which every output is made. */
#include "base/mem.h"
#include "report/parts.h"
#include "stats/distributions.h"
#include "stats/robust.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys ---- */

static char *member_of(const char *list, const char *name) {
    size_t length = strlen(name);
    while (*list != '\0') {
        size_t n = strcspn(list, ",");
        if (n > length && list[length] == '=' && strncmp(list, name, length) == 0) {
            char *raw = mem_copy_bytes(list + length + 1, n - length - 1);
            char *value = key_unescape(raw);
            free(raw);
            return value;
        }
        list += n + (list[n] == ',' ? 1 : 0);
    }
    return NULL;
}

char *row_value(const struct row *row, const char *name) {
    char *value = member_of(row->parts.where, name);
    return value != NULL ? value : member_of(row->parts.params, name);
}

bool row_number(const struct row *row, const char *name, double *out) {
    char *value = row_value(row, name);
    bool good = value != NULL && text_to_double(value, out) && isfinite(*out);
    free(value);
    return good;
}

char *row_base(const struct row *row) {
    const char *metric = strchr(row->key, '/') + 1;
    struct text t = {0};
    text_add_bytes(&t, row->key, (size_t)(metric - row->key));
    text_add(&t, row->series->metric);
    text_add(&t, metric + strcspn(metric, "{"));
    return text_take(&t);
}

static bool is_named(const char *member, size_t n, const char *name) {
    size_t length = name != NULL ? strlen(name) : 0;
    return name != NULL && n > length && member[length] == '=' && strncmp(member, name, length) == 0;
}

static void add_without(struct text *out, const char *list, const char *a, const char *b) {
    while (*list != '\0') {
        size_t n = strcspn(list, ",");
        if (!is_named(list, n, a) && !is_named(list, n, b)) {
            text_add_bytes(out, list, n);
            text_add(out, ",");
        }
        list += n + (list[n] == ',' ? 1 : 0);
    }
}

char *row_family(const struct row *row, const char *left_out, const char *also) {
    struct text t = {0};
    text_addf(&t, "%s@%d/%s{", row->parts.bench, row->parts.version, row->parts.metric);
    add_without(&t, row->parts.where, left_out, also);
    text_add(&t, ";");
    add_without(&t, row->parts.params, left_out, also);
    text_addf(&t, "}@%s", row->parts.target);
    return text_take(&t);
}

void report_gpu_name(const struct report *r, const char *uuid, char out[32]) {
    const js *gpus = js_get(r->newest->header, "gpus");
    for (size_t i = 0; i < js_length(gpus); i++)
        if (strcmp(js_get_string(js_at(gpus, i), "uuid", ""), uuid) == 0) {
            snprintf(out, 32, "GPU %" PRId64, js_get_int(js_at(gpus, i), "index", (int64_t)i));
            return;
        }
    snprintf(out, 32, "%.12s", uuid);
}

const char *row_verdict(const struct row *row) {
    return js_get_string(row->verdict, "verdict", "");
}
double row_judged(const struct row *row, const char *name) {
    return js_get_number(row->verdict, name, NAN);
}

double row_share(const struct row *row) {
    double share = 100 * row->after.middle / row->limit;
    return isfinite(share) ? share : NAN;
}

/* ---- one side of a series ---- */

/* 95 % for the mean of the logarithms over all rounds: how well this side's own figure is known. What differs
 * between runs is the comparison's to judge. */
static void interval_over_rounds(const double *values, size_t n, struct point *p) {
    double *logs = mem_zeroed(n, sizeof *logs);
    for (size_t i = 0; i < n; i++)
        logs[i] = log(values[i]);
    double half = dist_t_critical(0.05, (double)(n - 1)) * sqrt(stats_variance(logs, n) / (double)n);
    free(logs);
    if (!isfinite(half) || !isfinite(p->middle))
        return;
    p->low = p->middle * exp(-half);
    p->high = p->middle * exp(half);
    p->over_rounds = true;
}

static void range_of_samples(const struct row *row, const struct sightings *records, struct point *p) {
    char *base = row_base(row);
    size_t n = 0;
    const struct sighting *s = records_find(records, base, &n);
    for (size_t i = 0; i < n; i++)
        p->n_samples += s[i].n;
    /* The range says nothing of a far quantile, which one record gives once. */
    bool tail = text_ends(row->parts.metric, ".p99") || text_ends(row->parts.metric, ".p90");
    for (size_t i = 0; i < n && p->n_rounds > 0 && !p->over_rounds && !tail && p->n_samples > 1; i++) {
        p->low = isfinite(p->low) ? fmin(p->low, s[i].least) : s[i].least;
        p->high = isfinite(p->high) ? fmax(p->high, s[i].most) : s[i].most;
    }
    free(base);
}

static void fill_point(const struct row *row, const struct run *runs, size_t n,
                       const struct sightings *records, struct point *p) {
    double *of_runs = mem_zeroed(n, sizeof *of_runs);
    double *all = NULL;
    *p = (struct point){.middle = NAN, .low = NAN, .high = NAN};
    for (size_t i = 0; i < n; i++) {
        const struct series *s = run_find(&runs[i], row->key);
        if (s == NULL || s->n_values == 0)
            continue;
        of_runs[p->n_runs++] = stats_geometric_mean(s->values, s->n_values);
        all = mem_resize(all, p->n_rounds + s->n_values, sizeof *all);
        memcpy(all + p->n_rounds, s->values, s->n_values * sizeof *all);
        p->n_rounds += s->n_values;
    }
    p->middle =
        stats_geometric_mean(of_runs, p->n_runs); /* as the comparison, whose change stands beside it */
    if (p->n_rounds >= 3)
        interval_over_rounds(all, p->n_rounds, p);
    range_of_samples(row, records, p);
    free(all);
    free(of_runs);
}

/* ---- rows ---- */

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct row *)a)->key, ((const struct row *)b)->key);
}

static void add_rows(struct report *r, const struct run *runs, size_t n, bool before) {
    const js *gpus = js_get(r->newest->header, "gpus");
    for (size_t i = n; i-- > 0;)
        for (size_t k = 0; k < runs[i].n_series; k++) {
            const struct series *s = &runs[i].series[k];
            struct row row = {.key = s->key,
                              .bench = s->bench,
                              .unit = s->unit,
                              .primary = s->primary,
                              .higher_is_better = s->higher_is_better,
                              .series = s,
                              .only_before = before,
                              .limit = s->limit > 0 ? s->limit : NAN};
            if (key_parse(s->key, &row.parts)) {
                row.label = series_label(s->key, gpus);
                r->rows[r->n_rows++] = row;
            }
        }
}

static void free_row(struct row *row) {
    key_parts_free(&row->parts);
    free(row->label);
}

/* Of the same key the first stays: qsort keeps no order, so equal keys are told apart by side. */
static int by_key_and_side(const void *a, const void *b) {
    const struct row *x = a;
    const struct row *y = b;
    int order = strcmp(x->key, y->key);
    if (order != 0)
        return order;
    if (x->only_before != y->only_before)
        return x->only_before ? 1 : -1;
    return (x->series->n_values == 0) - (y->series->n_values == 0);
}

static void drop_repeated(struct report *r) {
    size_t kept = 0;
    for (size_t i = 0; i < r->n_rows; i++) {
        if (kept > 0 && strcmp(r->rows[kept - 1].key, r->rows[i].key) == 0)
            free_row(&r->rows[i]);
        else
            r->rows[kept++] = r->rows[i];
    }
    r->n_rows = kept;
}

static void attach_verdicts(struct report *r) {
    const js *list = js_get(r->in->comparison, "series");
    for (size_t i = 0; i < js_length(list); i++) {
        struct row wanted = {.key = js_get_string(js_at(list, i), "key", "")};
        struct row *found =
            r->n_rows == 0 ? NULL : bsearch(&wanted, r->rows, r->n_rows, sizeof *r->rows, by_key);
        if (found != NULL)
            found->verdict = js_at(list, i);
    }
}

bool report_make_rows(struct report *r, struct error *err) {
    const struct report_input *in = r->in;
    size_t total = 0;
    for (size_t i = 0; i < in->n_after; i++)
        total += in->after[i].n_series;
    for (size_t i = 0; i < in->n_before; i++)
        total += in->before[i].n_series;
    r->newest = &in->after[in->n_after - 1];
    if (!records_gather(in->after, in->n_after, &r->after_records, err) ||
        !records_gather(in->before, in->n_before, &r->before_records, err))
        return RELAY(err);
    r->rows = mem_zeroed(total, sizeof *r->rows);
    add_rows(r, in->after, in->n_after, false);
    add_rows(r, in->before, in->n_before, true);
    if (r->n_rows > 1)
        qsort(r->rows, r->n_rows, sizeof *r->rows, by_key_and_side);
    drop_repeated(r);
    attach_verdicts(r);
    for (size_t i = 0; i < r->n_rows; i++) {
        fill_point(&r->rows[i], in->after, in->n_after, &r->after_records, &r->rows[i].after);
        fill_point(&r->rows[i], in->before, in->n_before, &r->before_records, &r->rows[i].before);
    }
    return true;
}

void report_free(struct report *r) {
    for (size_t i = 0; i < r->n_rows; i++)
        free_row(&r->rows[i]);
    free(r->rows);
    records_free(&r->after_records);
    records_free(&r->before_records);
    for (size_t i = 0; i < r->n_plots; i++) {
        free(r->plots[i].name);
        free(r->plots[i].title);
        free(r->plots[i].caption);
        free(r->plots[i].svg);
        text_free(&r->plots[i].data);
        text_free(&r->plots[i].variables);
    }
    free(r->plots);
}
