/* SPDX-License-Identifier: Apache-2.0 */
/* Changes with intervals: AFTER to BEFORE, and a container to its host. */
#include "base/mem.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 30, KIND_NOT_JUDGED = 4 };

struct change {
    const char *label; /* borrowed */
    double ratio, low, high, delta;
    size_t n;
    int kind;
};

static int kind_of(const char *verdict) {
    static const char *const names[] = {"improved", "regressed", "same", "undecided"};
    for (int i = 0; i < 4; i++)
        if (strcmp(verdict, names[i]) == 0)
            return i;
    return KIND_NOT_JUDGED;
}

static double per_cent(double ratio) {
    return 100 * (ratio - 1);
}

/* How far the axis reaches: to every estimate and every delta, and to most of the intervals. */
static double reach_of(const struct change *list, size_t n) {
    double reach = 0.5;
    for (size_t i = 0; i < n; i++) {
        double middle = fabs(per_cent(list[i].ratio));
        double end = fmax(fabs(per_cent(list[i].low)), fabs(per_cent(list[i].high)));
        reach = fmax(reach, fmax(1.2 * middle, 120 * list[i].delta));
        if (isfinite(end) && end < 3 * fmax(middle, 100 * list[i].delta))
            reach = fmax(reach, 1.05 * end);
    }
    double step = pow(10, floor(log10(reach)));
    return ceil(reach / step * 2) / 2 * step;
}

/* Largest against what matters first. */
static int by_weight(const void *a, const void *b) {
    const struct change *x = a;
    const struct change *y = b;
    double weight_x = fabs(log(x->ratio)) / fmax(x->delta, 1e-4);
    double weight_y = fabs(log(y->ratio)) / fmax(y->delta, 1e-4);
    return (weight_x < weight_y) - (weight_x > weight_y);
}

static void draw(struct report *r, const char *section, const char *name, const char *title,
                 const char *heading, const char *what, struct change *list, size_t n) {
    size_t shown = n < MOST_ROWS ? n : MOST_ROWS;
    int seen = 0;
    qsort(list, n, sizeof *list, by_weight);
    struct plot *p = plot_add(r, section, "forest.gp", name, title);
    plot_string(p, "heading", heading);
    for (size_t i = 0; i < shown; i++) {
        const struct change *c = &list[i];
        char words[80];
        snprintf(words, sizeof words, "%+.2f %%", per_cent(c->ratio));
        if (c->ratio >= 10)
            snprintf(words, sizeof words, "%.3g times", c->ratio);
        plot_value(p, (double)i);
        plot_field(p, c->label);
        bool known = isfinite(c->low) && isfinite(c->high);
        plot_value(p, per_cent(known ? c->low : c->ratio));
        plot_value(p, per_cent(c->ratio));
        plot_value(p, per_cent(known ? c->high : c->ratio));
        plot_value(p, 100 * c->delta);
        plot_value(p, c->kind);
        text_addf(&p->data, "%s", words); /* ours, with its per cent sign */
        plot_end_row(p);
        seen |= 1 << c->kind;
    }
    plot_number(p, "rows", (double)shown);
    plot_number(p, "height", 96 + 42 * (double)shown);
    plot_number(p, "reach", reach_of(list, shown));
    text_add(&p->variables, "kinds = '");
    for (int kind = 0; kind <= KIND_NOT_JUDGED; kind++)
        if ((seen & 1 << kind) != 0)
            text_addf(&p->variables, "%d ", kind);
    text_add(&p->variables, "'\n");
    struct text caption = {0};
    text_addf(&caption, "%s Bars: 95 %% intervals; grey: what does not matter (δ). %zu%s series", what, shown,
              shown < n ? " (the largest changes)" : "");
    if (shown < n)
        text_addf(&caption, " of %zu, the rest is in the table", n);
    text_add(&caption, ".");
    free(p->caption);
    p->caption = text_take(&caption);
    size_t least = SIZE_MAX;
    size_t most = 0;
    for (size_t i = 0; i < shown; i++) {
        least = list[i].n < least ? list[i].n : least;
        most = list[i].n > most ? list[i].n : most;
    }
    char note[80];
    const char *what_n = strcmp(section, "places") == 0 ? "pairs of rounds" : "rounds after";
    if (least == most)
        snprintf(note, sizeof note, "n = %zu %s; bars: 95 %%", most, what_n);
    else
        snprintf(note, sizeof note, "n = %zu to %zu %s; bars: 95 %%", least, most, what_n);
    plot_note(p, note);
}

/* "copy" of "copy.h2d". */
static size_t family_length(const struct row *row) {
    return strcspn(row->bench, ".");
}

void plots_forest(struct report *r) {
    struct change *list = mem_zeroed(r->n_rows, sizeof *list);
    for (size_t i = 0; i < r->n_rows;) {
        size_t length = family_length(&r->rows[i]);
        const char *family = r->rows[i].bench;
        size_t n = 0;
        for (; i < r->n_rows && family_length(&r->rows[i]) == length &&
               strncmp(r->rows[i].bench, family, length) == 0;
             i++) {
            const struct row *row = &r->rows[i];
            double ratio = row_judged(row, "ratio");
            if (!row->primary || !(ratio > 0) || !isfinite(ratio))
                continue;
            list[n++] = (struct change){row->label,
                                        ratio,
                                        row_judged(row, "low"),
                                        row_judged(row, "high"),
                                        fmax(row_judged(row, "delta"), 0),
                                        row->after.n_rounds,
                                        kind_of(row_verdict(row))};
        }
        if (n == 0)
            continue;
        char name[64];
        char title[64];
        snprintf(name, sizeof name, "forest %.*s", (int)(length < 40 ? length : 40), family);
        snprintf(title, sizeof title, "%.*s.*", (int)(length < 40 ? length : 40), family);
        draw(r, "forest", name, title, "change, after to before, in per cent",
             "AFTER to BEFORE, primary series.", list, n);
    }
    free(list);
}

/* ---- host against container ---- */

static struct change change_of(const js *place, const js *row) {
    return (struct change){js_get_string(row, "label", "?"),
                           js_get_number(row, "ratio", NAN),
                           js_get_number(row, "low", NAN),
                           js_get_number(row, "high", NAN),
                           fmax(js_get_number(row, "delta", 0), 0),
                           (size_t)js_get_int(place, "rounds", 0),
                           kind_of(js_get_string(row, "verdict", ""))};
}

/* Rows come in the order of their keys: those of one family of cases are neighbours. */
static void draw_place(struct report *r, const js *place) {
    const js *rows = js_get(place, "series");
    size_t total = js_length(rows);
    struct change *list = mem_zeroed(total, sizeof *list);
    for (size_t i = 0; i < total && r->n_plots < REPORT_MAX_PLOTS;) {
        const char *family = js_get_string(js_at(rows, i), "key", "");
        size_t length = strcspn(family, ".@");
        size_t n = 0;
        do {
            const js *row = js_at(rows, i);
            list[n] = change_of(place, row);
            bool primary = strcmp(js_get_string(row, "class", ""), "primary") == 0;
            n += primary && isfinite(list[n].ratio) && list[n].ratio > 0 ? 1 : 0;
            i++;
        } while (i < total && length > 0 &&
                 strncmp(js_get_string(js_at(rows, i), "key", ""), family, length + 1) == 0);
        struct text title = {0};
        text_addf(&title, "%.60s against %.60s: %.*s.*", js_get_string(place, "target", "?"),
                  js_get_string(place, "against", "host"), (int)(length < 40 ? length : 40), family);
        if (n > 0)
            draw(r, "places", text_string(&title), text_string(&title),
                 "there, over the first place, in per cent",
                 "Rounds of both alternate and are paired; primary series.", list, n);
        text_free(&title);
    }
    free(list);
}

void plots_places(struct report *r) {
    for (size_t i = 0; i < js_length(r->in->places); i++)
        draw_place(r, js_at(r->in->places, i));
}
