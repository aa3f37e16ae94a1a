/* SPDX-License-Identifier: Apache-2.0 */
/* Summaries of runs, and what they tell one after the other. */
#include "report/history.h"

#include "base/mem.h"
#include "stats/distributions.h"
#include "stats/robust.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char schema[] = "gpuvet.summary/1";

enum { MOST_SERIES = 100000, MOST_PAIRED = 200, MOST_PANELS = 12 };

/* To the digits that a file keeps, so that a kept summary says the same as a new one. */
static void set_figure(js *to, const char *name, double value) {
    char words[40];
    snprintf(words, sizeof words, "%.9e", value);
    double kept = NAN;
    (void)text_to_double(words, &kept);
    js_set_number(to, name, kept);
}

js *report_summary(const struct run *run) {
    static const char *const taken[] = {"started", "label", "node", "machine_id", "profile"};
    js *out = js_new_object();
    js *all = js_new_array();
    js_set_string(out, "schema", schema);
    js_set_string(out, "path", run->path);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        js_set_string(out, taken[i], js_get_string(run->header, taken[i], NULL));
    js_set_string(out, "build_id", js_get_string(js_get(run->header, "tool"), "build_id", ""));
    js_set_bool(out, "simulated", js_get_bool(run->header, "simulated", false));
    js_set_int(out, "failures", (int64_t)run->n_failures);
    for (size_t i = 0; i < run->n_series; i++) {
        const struct series *s = &run->series[i];
        if (s->n_values == 0)
            continue;
        js *one = js_new_object();
        js_set_string(one, "key", s->key);
        js_set_string(one, "unit", s->unit);
        js_set_bool(one, "primary", s->primary);
        js_set_bool(one, "higher", s->higher_is_better);
        js_set_number(one, "delta", s->delta_rel);
        js_set_int(one, "n", (int64_t)s->n_values);
        set_figure(one, "median", stats_median(s->values, s->n_values));
        set_figure(one, "q1", stats_quantile(s->values, s->n_values, 0.25));
        set_figure(one, "q3", stats_quantile(s->values, s->n_values, 0.75));
        js_append(all, one);
    }
    js_set(out, "series", all);
    return out;
}

bool report_summary_fits(const js *summary) {
    return strcmp(js_get_string(summary, "schema", ""), schema) == 0 &&
           js_is_array(js_get(summary, "series")) && js_length(js_get(summary, "series")) <= MOST_SERIES &&
           js_is_string(js_get(summary, "path"));
}

/* ---- trends ---- */

static void add_value(struct trend *t, size_t run, const js *one) {
    t->runs = mem_resize(t->runs, t->n + 1, sizeof *t->runs);
    t->values = mem_resize(t->values, t->n + 1, sizeof *t->values);
    t->low = mem_resize(t->low, t->n + 1, sizeof *t->low);
    t->high = mem_resize(t->high, t->n + 1, sizeof *t->high);
    t->runs[t->n] = run;
    t->values[t->n] = js_get_number(one, "median", NAN);
    t->low[t->n] = js_get_number(one, "q1", NAN);
    t->high[t->n] = js_get_number(one, "q3", NAN);
    t->n++;
}

/* Kendall's score in units of its deviation where nothing depends on time; ties shrink only the score, which
 * errs to the quiet side. */
static double kendall(double score, double n) {
    double deviation = sqrt(n * (n - 1) * (2 * n + 5) / 18);
    double z = (score - (score > 0 ? 1 : score < 0 ? -1 : 0)) / deviation;
    return dist_t_two_sided(z, INFINITY);
}

static void judge(struct trend *t) {
    size_t step = (t->n + MOST_PAIRED - 1) / MOST_PAIRED;
    size_t n = t->n / step;
    double *slopes = mem_zeroed(n * (n + 1) / 2, sizeof *slopes);
    size_t count = 0;
    double score = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            double rise = t->values[i * step] - t->values[k * step];
            score += (rise > 0) - (rise < 0);
            slopes[count++] = rise / (double)(t->runs[i * step] - t->runs[k * step]);
        }
    t->slope = stats_median(slopes, count) / stats_median(t->values, t->n);
    t->p = n >= 4 ? kendall(score, (double)n) : NAN;
    free(slopes);
}

static int by_weight(const void *a, const void *b) {
    const struct trend *x = a;
    const struct trend *y = b;
    if (x->primary != y->primary)
        return x->primary ? -1 : 1;
    double p = isnan(x->p) ? 1 : x->p;
    double q = isnan(y->p) ? 1 : y->p;
    if (p != q)
        return p < q ? -1 : 1;
    return strcmp(x->key, y->key);
}

void history_make(const struct report *r, struct history *out) {
    const js *gpus = js_get(r->newest->header, "gpus");
    js *index = js_new_object();
    size_t capacity = 0;
    *out = (struct history){0};
    for (size_t run = 0; run < js_length(r->in->history); run++) {
        const js *list = js_get(js_at(r->in->history, run), "series");
        for (size_t i = 0; i < js_length(list); i++) {
            const js *one = js_at(list, i);
            const char *key = js_get_string(one, "key", "");
            double median = js_get_number(one, "median", NAN);
            int64_t at = js_get_int(index, key, -1);
            if (key[0] == '\0' || !isfinite(median) || !(median > 0))
                continue;
            if (at < 0 || (size_t)at >= out->n) {
                at = (int64_t)out->n;
                js_set_int(index, key, at);
                out->trends = mem_grow(out->trends, out->n, &capacity, sizeof *out->trends);
                out->trends[out->n++] = (struct trend){.key = key,
                                                       .unit = js_get_string(one, "unit", ""),
                                                       .label = series_label(key, gpus),
                                                       .primary = js_get_bool(one, "primary", false),
                                                       .delta = js_get_number(one, "delta", 0),
                                                       .higher_is_better = js_get_bool(one, "higher", true)};
            }
            struct trend *t = &out->trends[at];
            if (t->n == 0 || t->runs[t->n - 1] != run)
                add_value(t, run, one);
        }
    }
    js_free(index);
    for (size_t i = 0; i < out->n; i++)
        judge(&out->trends[i]);
    if (out->n > 1)
        qsort(out->trends, out->n, sizeof *out->trends, by_weight);
}

void history_free(struct history *h) {
    for (size_t i = 0; i < h->n; i++) {
        free(h->trends[i].label);
        free(h->trends[i].runs);
        free(h->trends[i].values);
        free(h->trends[i].low);
        free(h->trends[i].high);
    }
    free(h->trends);
}

void plots_history(struct report *r) {
    struct history h;
    size_t runs = js_length(r->in->history);
    if (runs < 2)
        return;
    history_make(r, &h);
    size_t panels = 0;
    struct plot *p = NULL;
    for (size_t i = 0; i < h.n && panels < MOST_PANELS; i++) {
        const struct trend *t = &h.trends[i];
        if (!t->primary || t->n < 2)
            continue;
        if (p == NULL)
            p = plot_add(r, "history", "history.gp", "history", "Trends");
        for (size_t k = 0; k < t->n; k++) {
            plot_value(p, (double)t->runs[k] + 1);
            plot_value(p, t->values[k]);
            plot_value(p, t->low[k]);
            plot_value(p, t->high[k]);
            plot_end_row(p);
        }
        text_add(&p->data, "\n\n");
        char name[32];
        snprintf(name, sizeof name, "title%zu", panels);
        plot_string(p, name, t->label);
        snprintf(name, sizeof name, "unit%zu", panels);
        plot_string(p, name, t->unit);
        panels++;
    }
    if (p != NULL) {
        plot_number(p, "panels", (double)panels);
        plot_number(p, "most", (double)runs);
        plot_number(p, "height", 82 + 112 * (double)panels);
        free(p->caption);
        struct text t = {0};
        text_addf(
            &t,
            "Line: each run's median over its rounds; band: the middle half of its rounds. n = %zu runs. Of %zu "
            "series the %zu primary ones with the surest trend; the table has all.",
            runs, h.n, panels);
        p->caption = text_take(&t);
        char note[64];
        snprintf(note, sizeof note, "n = %zu runs; band: middle half of rounds", runs);
        plot_note(p, note);
    }
    history_free(&h);
}
