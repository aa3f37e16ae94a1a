/* SPDX-License-Identifier: Apache-2.0 */
/* What happened in the course of a run: figures round by round, and a GEMM with what it had of clock and
 * power. */
#include "report/parts.h"
#include "stats/robust.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CURVES = 6, MOST_GEMMS = 12 };

static void set_title(struct plot *p, size_t number, const char *title) {
    char name[32];
    snprintf(name, sizeof name, "title%zu", number);
    plot_string(p, name, title);
}

/* "host.wake" of "host.wake wake.p50 …": what stands in the plot's title is left out of the curve's. */
static const char *short_label(const struct row *row) {
    size_t length = strlen(row->bench) + 1 + strlen(row->parts.metric);
    return strlen(row->label) > length + 1 ? row->label + length + 1 : row->label;
}

static void draw_rounds(struct report *r, const struct row *const *rows, size_t n, size_t part) {
    char name[128];
    char title[128];
    double reach = 1;
    int last = 1;
    size_t rounds = 0;
    snprintf(title, sizeof title, part > 0 ? "%.50s %.50s (%zu)" : "%.50s %.50s", rows[0]->bench,
             rows[0]->parts.metric, part + 1);
    snprintf(name, sizeof name, "rounds %.100s", title);
    struct plot *p = plot_add(r, "rounds", "rounds.gp", name, title);
    for (size_t i = 0; i < n; i++) {
        const struct series *s = run_find(r->newest, rows[i]->key);
        double middle = stats_median(s->values, s->n_values);
        for (size_t k = 0; k < s->n_values; k++) {
            double value = 100 * s->values[k] / middle;
            plot_value(p, s->rounds[k] + 1);
            plot_value(p, value);
            plot_end_row(p);
            reach = fmax(reach, fabs(value - 100));
            last = s->rounds[k] + 1 > last ? s->rounds[k] + 1 : last;
        }
        rounds = s->n_values > rounds ? s->n_values : rounds;
        text_add(&p->data, "\n\n");
        set_title(p, i, short_label(rows[i]));
    }
    plot_number(p, "curves", (double)n);
    plot_number(p, "most", last);
    plot_number(p, "reach", fmin(1.1 * reach, 150));
    plot_number(p, "height", 232 + 17 * (double)n);
    free(p->caption);
    struct text t = {0};
    text_addf(
        &t,
        "Each point is one round's figure (no interval: one value a round), 100 %% the series' median. n = %zu rounds.",
        rounds);
    p->caption = text_take(&t);
    char note[40];
    snprintf(note, sizeof note, "n = %zu rounds", rounds);
    plot_note(p, note);
}

void plots_rounds(struct report *r) {
    for (size_t i = 0; i < r->n_rows;) {
        const struct row *group[MOST_CURVES];
        size_t n = 0;
        size_t part = 0;
        size_t k = i;
        for (; k < r->n_rows && strcmp(r->rows[k].bench, r->rows[i].bench) == 0 &&
               strcmp(r->rows[k].parts.metric, r->rows[i].parts.metric) == 0;
             k++) {
            const struct series *s = run_find(r->newest, r->rows[k].key);
            if (!r->rows[k].primary || s == NULL || s->n_values < 3)
                continue;
            group[n++] = &r->rows[k];
            if (n == MOST_CURVES && r->n_plots < REPORT_MAX_PLOTS) {
                draw_rounds(r, group, n, part++);
                n = 0;
            }
            n = n == MOST_CURVES ? 0 : n;
        }
        if (n > 0 && r->n_plots < REPORT_MAX_PLOTS)
            draw_rounds(r, group, n, part);
        i = k;
    }
}

/* ---- GEMM ---- */

/* Rounds of one side; 0: it has none. */
static size_t draw_gemm_side(struct plot *p, const struct row *row, const struct sightings *records,
                             const struct run *newest, int *last) {
    char *base = row_base(row);
    size_t n = 0;
    const struct sighting *s = records_find(records, base, &n);
    const struct series *series = newest == NULL ? NULL : run_find(newest, row->key);
    size_t drawn = 0;
    for (size_t i = 0; series != NULL && i < series->n_values; i++) {
        const struct sighting *at = NULL;
        for (size_t k = 0; k < n; k++)
            at = s[k].round == series->rounds[i] ? &s[k] : at;
        plot_value(p, series->rounds[i] + 1);
        plot_value(p, series->values[i]);
        plot_value(p, at != NULL ? at->sm_mhz : NAN);
        plot_value(p, at != NULL ? at->power_w : NAN);
        plot_value(p, at != NULL ? at->temperature_c : NAN);
        plot_end_row(p);
        *last = series->rounds[i] + 1 > *last ? series->rounds[i] + 1 : *last;
        drawn++;
    }
    text_add(&p->data, drawn > 0 ? "\n\n" : "");
    free(base);
    return drawn;
}

static void set_curve(struct plot *p, size_t number, const char *title, int colour, bool before) {
    char name[32];
    set_title(p, number, title);
    snprintf(name, sizeof name, "colour%zu", number);
    plot_number(p, name, colour);
    snprintf(name, sizeof name, "before%zu", number);
    plot_number(p, name, before ? 1 : 0);
}

static void draw_gemm(struct report *r, const struct row *row) {
    struct plot *p = plot_add(r, "gemm", "gemm.gp", row->label, row->label);
    const struct report_input *in = r->in;
    const struct run *older = in->n_before > 0 ? &in->before[in->n_before - 1] : NULL;
    size_t curves = 0;
    int last = 1;
    size_t before = draw_gemm_side(p, row, &r->before_records, older, &last);
    if (before > 0)
        set_curve(p, curves++, "before", 1, true);
    size_t after = draw_gemm_side(p, row, &r->after_records, r->newest, &last);
    if (after > 0)
        set_curve(p, curves++, "after", 2, false);
    plot_number(p, "curves", (double)curves);
    plot_number(p, "most", last);
    plot_number(p, "limit", row->limit);
    plot_string(p, "unit", row->unit);
    plot_number(p, "height", 560);
    free(p->caption);
    struct text t = {0};
    text_addf(
        &t,
        "In %s; below it the mean SM clock while it ran, power and temperature right after. One value a round (no "
        "interval); n = %zu rounds before, %zu after.",
        row->unit, before, after);
    p->caption = text_take(&t);
    char note[60];
    snprintf(note, sizeof note, "n = %zu rounds before, %zu after", before, after);
    plot_note(p, note);
}

void plots_gemm(struct report *r) {
    size_t drawn = 0;
    for (int primary = 1; primary >= 0; primary--)
        for (size_t i = 0; i < r->n_rows && drawn < MOST_GEMMS; i++) {
            const struct row *row = &r->rows[i];
            if (text_starts(row->bench, "gemm.") && strcmp(row->series->metric, "rate") == 0 &&
                row->primary == (primary == 1) && isfinite(row->after.middle) &&
                r->n_plots < REPORT_MAX_PLOTS) {
                draw_gemm(r, row);
                drawn++;
            }
        }
}
