/* SPDX-License-Identifier: Apache-2.0 */
/* Figures over a size, an idle time, a batch: what makes curves. */
#include "base/mem.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FAMILIES = 4, MOST_POINTS = 64, COLOURS = 8 };

struct curve {
    char *family; /* the key without what the axis shows */
    const struct row *points[MOST_POINTS];
    double x[MOST_POINTS];
    size_t n;
};

struct curves {
    struct curve *items;
    size_t n, capacity;
};

static void add_point(struct curves *c, const struct row *row, const char *axis, const char *also, double x) {
    char *family = row_family(row, axis, also);
    struct curve *found = NULL;
    for (size_t i = 0; i < c->n && found == NULL; i++)
        found = strcmp(c->items[i].family, family) == 0 ? &c->items[i] : NULL;
    if (found == NULL) {
        c->items = mem_grow(c->items, c->n, &c->capacity, sizeof *c->items);
        found = &c->items[c->n++];
        *found = (struct curve){.family = mem_copy_string(family)};
    }
    free(family);
    if (found->n < MOST_POINTS) {
        size_t at = found->n++;
        for (; at > 0 && found->x[at - 1] > x; at--) {
            found->x[at] = found->x[at - 1];
            found->points[at] = found->points[at - 1];
        }
        found->x[at] = x;
        found->points[at] = row;
    }
}

static void free_curves(struct curves *c) {
    for (size_t i = 0; i < c->n; i++)
        free(c->items[i].family);
    free(c->items);
}

static const struct point *side_of(const struct row *row, bool before) {
    return before ? &row->before : &row->after;
}

static size_t points_on(const struct curve *c, bool before) {
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += isfinite(side_of(c->points[i], before)->middle) ? 1 : 0;
    return n;
}

struct axis {
    const char *name;  /* of the parameter */
    const char *also;  /* another that goes with it; NULL: none */
    const char *title; /* with its unit */
    double factor;
    size_t least_points;
};

/* Rounds and samples behind the points, for the caption. */
struct depth {
    double lowest, highest;
    size_t least, most;
    bool over_rounds, ranges;
};

static void note_depth(const struct point *p, struct depth *d) {
    d->lowest = fmin(d->most == 0 ? INFINITY : d->lowest, fmin(p->middle, p->low));
    d->highest = fmax(d->highest, fmax(p->middle, p->high));
    d->least = d->most == 0 || p->n_rounds < d->least ? p->n_rounds : d->least;
    d->most = p->n_rounds > d->most ? p->n_rounds : d->most;
    d->over_rounds = d->over_rounds || p->over_rounds;
    d->ranges = d->ranges || (!p->over_rounds && isfinite(p->low));
}

static void draw_side(struct plot *p, const struct curve *c, bool before, double factor, struct depth *d) {
    for (size_t i = 0; i < c->n; i++) {
        const struct point *point = side_of(c->points[i], before);
        if (!isfinite(point->middle))
            continue;
        bool known = isfinite(point->low) && isfinite(point->high);
        plot_value(p, c->x[i] * factor);
        plot_value(p, point->middle);
        plot_value(p, known ? point->low : point->middle);
        plot_value(p, known ? point->high : point->middle);
        plot_end_row(p);
        note_depth(point, d);
    }
    text_add(&p->data, "\n\n");
}

static void set_curve(struct plot *p, size_t number, const char *title, size_t colour, bool before) {
    char name[32];
    snprintf(name, sizeof name, "title%zu", number);
    plot_string(p, name, title);
    snprintf(name, sizeof name, "colour%zu", number);
    plot_number(p, name, (double)(colour % COLOURS + 1));
    snprintf(name, sizeof name, "before%zu", number);
    plot_number(p, name, before ? 1 : 0);
}

/* The statistic and the parameters of a curve, in words. */
static void curve_words(const struct row *row, const struct axis *axis, struct strings *words) {
    struct strings members = {0};
    const char *suffix = row->parts.metric + strlen(row->series->metric);
    if (suffix[0] == '.')
        strings_add(words, suffix + 1);
    strings_split(&members, row->parts.params, ',');
    for (size_t i = 0; i < members.count; i++) {
        const char *name = members.items[i];
        char *equals = strchr(name, '=');
        double number;
        if (equals == NULL)
            continue;
        *equals = '\0';
        const char *value = equals + 1;
        if (strcmp(name, axis->name) == 0 || (axis->also != NULL && strcmp(name, axis->also) == 0) ||
            strcmp(value, "none") == 0)
            continue;
        /* "pinned" speaks for itself, "on" and "64" do not. */
        bool plain = !text_to_double(value, &number) && strlen(value) > 3;
        strings_addf(words, "%s%s%s", plain ? "" : name, plain ? "" : " ", value);
    }
    strings_free(&members);
}

/* What tells the curves of a plot apart goes to their titles, what all share to the caption. */
struct titles {
    struct text own[COLOURS];
    struct text shared;
    size_t longest;
};

static void make_titles(const struct curve *const *curves, size_t n, const struct axis *axis,
                        struct titles *out) {
    struct strings words[COLOURS] = {0};
    *out = (struct titles){0};
    for (size_t i = 0; i < n; i++)
        curve_words(curves[i]->points[0], axis, &words[i]);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < words[i].count; k++) {
            bool everywhere = true;
            for (size_t other = 0; other < n && everywhere; other++)
                everywhere = strings_contain(&words[other], words[i].items[k]);
            struct text *to = everywhere ? &out->shared : &out->own[i];
            if (!everywhere || i == 0)
                text_addf(to, "%s%s", to->length == 0 ? "" : everywhere ? ", " : " ", words[i].items[k]);
        }
        if (out->own[i].length == 0)
            text_add(&out->own[i], "after");
        out->longest = out->own[i].length > out->longest ? out->own[i].length : out->longest;
    }
    for (size_t i = 0; i < n; i++)
        strings_free(&words[i]);
}

static void free_titles(struct titles *t) {
    for (size_t i = 0; i < COLOURS; i++)
        text_free(&t->own[i]);
    text_free(&t->shared);
}

static void plot_title(const struct report *r, const struct row *row, struct text *out) {
    struct strings uuids = {0};
    text_addf(out, "%s %s", row->bench, row->series->metric);
    key_gpus(row->key, &uuids);
    if (uuids.count > 4) {
        text_addf(out, ", %zu GPUs", uuids.count);
    } else {
        for (size_t i = 0; i < uuids.count; i++) {
            char gpu[32];
            report_gpu_name(r, uuids.items[i], gpu);
            text_addf(out, ", %s", gpu);
        }
    }
    static const char *const places[] = {"role", "cpu_node", "core"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char *value = row_value(row, places[i]);
        if (value != NULL)
            text_addf(out, ", %s%.40s", strcmp(places[i], "cpu_node") == 0 ? "node " : "", value);
        free(value);
    }
    if (strcmp(row->parts.target, "host") != 0)
        text_addf(out, ", in %.40s", row->parts.target);
    strings_free(&uuids);
}

static void set_caption(struct plot *p, const struct row *row, const struct depth *d, bool both,
                        const char *shared) {
    struct text t = {0};
    free(p->caption);
    text_addf(&t, "%s%sIn %s, %s is better. %s", shared, shared[0] != '\0' ? ". " : "", row->unit,
              row->higher_is_better ? "higher" : "lower",
              both ? "Filled and solid: after; open and dashed: before. " : "");
    if (d->least == d->most)
        text_addf(&t, "n = %zu round%s a point", d->most, d->most == 1 ? "" : "s");
    else
        text_addf(&t, "n = %zu to %zu rounds a point", d->least, d->most);
    text_add(
        &t,
        d->over_rounds && d->ranges
            ? "; bars: 95 % over rounds from 3 rounds on, else of one round's samples (under 6 samples: all of them)."
        : d->over_rounds ? "; bars: 95 % over rounds."
        : d->ranges      ? "; bars: 95 % of one round's samples (under 6 samples: all of them)."
                         : "; one value a point, so no interval.");
    p->caption = text_take(&t);
    char note[80];
    if (d->least != d->most)
        snprintf(note, sizeof note, "n = %zu to %zu rounds a point; bars: 95 %%", d->least, d->most);
    else
        snprintf(note, sizeof note, "n = %zu round%s a point%s", d->most, d->most == 1 ? "" : "s",
                 d->over_rounds || d->ranges ? "; bars: 95 %" : "");
    plot_note(p, note);
}

/* One plot of up to MOST_FAMILIES curves and as many from before. */
static void draw(struct report *r, const char *section, const char *script, const struct axis *axis,
                 const struct curve *const *curves, size_t n) {
    const struct row *first = curves[0]->points[0];
    struct text title = {0};
    struct depth depth = {0};
    struct titles titles;
    make_titles(curves, n, axis, &titles);
    plot_title(r, first, &title);
    struct plot *p = plot_add(r, section, script, text_string(&title), text_string(&title));
    size_t number = 0;
    double limit = NAN;
    double least = INFINITY;
    double most = 0;
    bool both = false;
    for (size_t i = 0; i < n; i++) {
        const char *name = text_string(&titles.own[i]);
        for (int before = 0; before < 2; before++) {
            if (points_on(curves[i], before == 1) == 0)
                continue;
            struct text full = {0};
            if (before == 1 && strcmp(name, "after") == 0)
                text_add(&full, "before");
            else
                text_addf(&full, "%s%s", name, before == 1 ? ", before" : "");
            set_curve(p, number++, text_string(&full), i, before == 1);
            draw_side(p, curves[i], before == 1, axis->factor, &depth);
            both = both || before == 1;
            text_free(&full);
        }
        for (size_t k = 0; k < curves[i]->n; k++) {
            const struct row *row = curves[i]->points[k];
            limit = isfinite(row->limit) ? fmax(limit, row->limit) : limit;
            least = fmin(least, curves[i]->x[k] * axis->factor);
            most = fmax(most, curves[i]->x[k] * axis->factor);
        }
    }
    char limit_name[64];
    snprintf(limit_name, sizeof limit_name, "limit %.4g %.20s", limit, first->unit);
    plot_number(p, "curves", (double)number);
    plot_number(p, "limit", limit);
    plot_string(p, "limitname", isfinite(limit) ? limit_name : "");
    plot_string(p, "xname", axis->title);
    plot_string(p, "yname", first->unit);
    /* A scale of decades wants at least one of them. */
    plot_number(p, "logy", !first->higher_is_better && depth.highest > 12 * depth.lowest ? 1 : 0);
    plot_number(p, "lowest", depth.lowest);
    plot_number(p, "highest", depth.highest);
    plot_number(p, "least", least);
    plot_number(p, "most", most);
    size_t columns = titles.longest + (both ? 8 : 0) <= 22 ? 2 : 1;
    plot_number(p, "legendcolumns", (double)columns);
    plot_number(p, "height", 286 + 16 * ceil((double)(number + (isfinite(limit) ? 1 : 0)) / (double)columns));
    set_caption(p, first, &depth, both, text_string(&titles.shared));
    free_titles(&titles);
    text_free(&title);
}

/* The same case, metric and place, so that the curves belong into one plot. */
static bool belong_together(const struct curve *a, const struct curve *b, bool any_statistic) {
    const struct row *x = a->points[0];
    const struct row *y = b->points[0];
    return strcmp(x->bench, y->bench) == 0 && strcmp(x->parts.where, y->parts.where) == 0 &&
           strcmp(x->parts.target, y->parts.target) == 0 && strcmp(x->unit, y->unit) == 0 &&
           x->parts.version == y->parts.version &&
           strcmp(any_statistic ? x->series->metric : x->parts.metric,
                  any_statistic ? y->series->metric : y->parts.metric) == 0;
}

static void draw_groups(struct report *r, const char *section, const char *script, const struct axis *axis,
                        struct curves *c, size_t most_plots) {
    bool *done = mem_zeroed(c->n, sizeof *done);
    size_t plots = 0;
    bool statistics = axis->least_points == 1;
    size_t most = statistics ? COLOURS : MOST_FAMILIES;
    for (size_t i = 0; i < c->n && plots < most_plots && r->n_plots < REPORT_MAX_PLOTS; i++) {
        const struct curve *group[COLOURS];
        size_t n = 0;
        for (size_t k = i; k < c->n && n < most; k++)
            if (!done[k] && (c->items[k].n >= axis->least_points) &&
                points_on(&c->items[k], false) + points_on(&c->items[k], true) > 0 &&
                (n == 0 ? k == i : belong_together(group[0], &c->items[k], statistics))) {
                group[n++] = &c->items[k];
                done[k] = true;
            }
        if (n > 0) {
            draw(r, section, script, axis, group, n);
            plots++;
        }
    }
    free(done);
}

void plots_sweeps(struct report *r) {
    static const struct axis axis = {"bytes", NULL, "size", 1, 3};
    struct curves c = {0};
    for (size_t i = 0; i < r->n_rows; i++) {
        double bytes;
        bool tail =
            text_ends(r->rows[i].parts.metric, ".p99") || strcmp(r->rows[i].bench, "decode.step") == 0;
        if (row_number(&r->rows[i], "bytes", &bytes) && bytes > 0 && !tail)
            add_point(&c, &r->rows[i], "bytes", NULL, bytes);
    }
    draw_groups(r, "sweeps", "sweep.gp", &axis, &c, 24);
    free_curves(&c);
}

void plots_wake(struct report *r) {
    static const struct axis axis = {"idle_us", NULL, "idle before, ms", 1e-3, 1};
    struct curves c = {0};
    for (size_t i = 0; i < r->n_rows; i++) {
        double idle;
        if (strcmp(r->rows[i].bench, "host.wake") == 0 && row_number(&r->rows[i], "idle_us", &idle) &&
            idle > 0)
            add_point(&c, &r->rows[i], "idle_us", NULL, idle);
    }
    /* A core that was asked about one idle time only makes no curve. */
    size_t kept = 0;
    for (size_t i = 0; i < c.n; i++) {
        size_t points = 0;
        for (size_t k = 0; k < c.n; k++)
            points += belong_together(&c.items[i], &c.items[k], true) ? c.items[k].n : 0;
        if (points >= 3 && points_on(&c.items[i], false) + points_on(&c.items[i], true) > 0)
            c.items[kept++] = c.items[i];
        else
            free(c.items[i].family);
    }
    c.n = kept;
    draw_groups(r, "wake", "wake.gp", &axis, &c, 12);
    free_curves(&c);
}

void plots_decode(struct report *r) {
    static const struct axis axis = {"m", "bytes", "batch, m", 1, 1};
    struct curves c = {0};
    for (size_t i = 0; i < r->n_rows; i++) {
        double m;
        if (strcmp(r->rows[i].bench, "decode.step") == 0 && row_number(&r->rows[i], "m", &m) && m > 0)
            add_point(&c, &r->rows[i], "m", "bytes", m);
    }
    draw_groups(r, "decode", "wake.gp", &axis, &c, 8);
    free_curves(&c);
}
