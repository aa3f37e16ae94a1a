/* SPDX-License-Identifier: Apache-2.0 */
/* Heat maps: GPU to GPU, CPU node to memory node, GPU to memory by distance. */
#include "base/mem.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 16, MOST_MATRICES = 16 };

struct matrix {
    char *family;
    const struct row *first;
    const struct row **cells;
    size_t n, capacity;
};

struct matrices {
    struct matrix *items;
    size_t n, capacity;
};

static void add_cell(struct matrices *m, const struct row *row, const char *a, const char *b) {
    char *family = row_family(row, a, b);
    struct matrix *found = NULL;
    for (size_t i = 0; i < m->n && found == NULL; i++)
        found = strcmp(m->items[i].family, family) == 0 ? &m->items[i] : NULL;
    if (found == NULL) {
        m->items = mem_grow(m->items, m->n, &m->capacity, sizeof *m->items);
        found = &m->items[m->n++];
        *found = (struct matrix){.family = mem_copy_string(family), .first = row};
    }
    free(family);
    found->cells = mem_grow(found->cells, found->n, &found->capacity, sizeof *found->cells);
    found->cells[found->n++] = row;
}

static int by_text_or_number(const void *a, const void *b) {
    const char *x = *(char *const *)a;
    const char *y = *(char *const *)b;
    double u;
    double v;
    if (text_to_double(x, &u) && text_to_double(y, &v) && u != v)
        return u < v ? -1 : 1;
    return strcmp(x, y);
}

/* Names along one axis: GPUs in the order of their indices, others by number or alphabet. */
static void names_along(const struct report *r, const struct matrix *m, const char *axis,
                        struct strings *names) {
    const js *gpus = js_get(r->newest->header, "gpus");
    struct strings found = {0};
    for (size_t i = 0; i < m->n; i++) {
        char *value = row_value(m->cells[i], axis);
        if (value != NULL && !strings_contain(&found, value))
            strings_add(&found, value);
        free(value);
    }
    if (found.count > 1)
        qsort(found.items, found.count, sizeof *found.items, by_text_or_number);
    for (size_t i = 0; i < js_length(gpus); i++) {
        const char *uuid = js_get_string(js_at(gpus, i), "uuid", "");
        if (strings_contain(&found, uuid) && !strings_contain(names, uuid))
            strings_add(names, uuid);
    }
    for (size_t i = 0; i < found.count; i++)
        if (!strings_contain(names, found.items[i]))
            strings_add(names, found.items[i]);
    strings_free(&found);
}

static size_t index_in(const struct strings *names, const char *name) {
    size_t i = 0;
    while (i < names->count && strcmp(names->items[i], name) != 0)
        i++;
    return i;
}

static void shown_name(const struct report *r, const char *axis, const char *name, struct text *out) {
    char gpu[32];
    if (strcmp(axis, "from") == 0 || strcmp(axis, "to") == 0 || strcmp(axis, "gpu") == 0) {
        report_gpu_name(r, name, gpu);
        text_add(out, gpu);
    } else if (strcmp(axis, "cpu_node") == 0 || strcmp(axis, "mem_node") == 0) {
        text_addf(out, "%s %.20s", axis[0] == 'c' ? "CPU node" : "memory", name);
    } else {
        text_addf(out, "%.20s", name);
    }
}

static void draw_names(struct plot *p, const struct report *r, const char *axis, const struct strings *names,
                       bool along_rows) {
    for (size_t i = 0; i < names->count; i++) {
        struct text name = {0};
        shown_name(r, axis, names->items[i], &name);
        plot_value(p, along_rows ? -1 : (double)i);
        plot_value(p, along_rows ? (double)i : -1);
        plot_value(p, 0);
        plot_field(p, text_string(&name));
        plot_field(p, " ");
        plot_value(p, 0);
        plot_end_row(p);
        text_free(&name);
    }
}

static void draw_cell(struct plot *p, const struct row *row, double least, double most, size_t column,
                      size_t line) {
    char words[32];
    char limit[48] = " ";
    snprintf(words, sizeof words, row->after.middle < 100 ? "%.3g" : "%.0f", row->after.middle);
    if (isfinite(row_share(row)))
        snprintf(limit, sizeof limit, "%.0f %%", row_share(row));
    else if (isfinite(row_judged(row, "ratio")))
        snprintf(limit, sizeof limit, "%+.1f %%", 100 * (row_judged(row, "ratio") - 1));
    plot_value(p, (double)column);
    plot_value(p, (double)line);
    plot_value(p, row->after.middle);
    plot_field(p, words);
    text_addf(&p->data, "%s\t", limit); /* ours */
    bool low = row->after.middle - least < 0.5 * (most - least);
    plot_value(p, low == row->higher_is_better ? 1 : 0);
    plot_end_row(p);
}

static void set_caption(struct plot *p, const struct matrix *m, const struct row *row, bool limits,
                        double limit) {
    size_t least = SIZE_MAX;
    size_t most = 0;
    for (size_t i = 0; i < m->n; i++) {
        size_t n = m->cells[i]->after.n_rounds;
        least = n > 0 && n < least ? n : least;
        most = n > most ? n : most;
    }
    struct text t = {0};
    text_addf(&t, "In %s, %s is better, and bright. ", row->unit, row->higher_is_better ? "higher" : "lower");
    if (!limits && row->verdict != NULL)
        text_add(&t, "Small: change to before. ");
    if (limits)
        text_addf(&t, "Small: per cent of the path's limit (up to %.4g %s). ", limit, row->unit);
    if (least == most)
        text_addf(&t, "n = %zu round%s a cell", most, most == 1 ? "" : "s");
    else
        text_addf(&t, "n = %zu to %zu rounds a cell", least, most);
    text_add(&t, "; intervals are in the table.");
    free(p->caption);
    p->caption = text_take(&t);
    char note[60];
    snprintf(note, sizeof note, least == most ? "n = %zu a cell" : "n = %zu to %zu a cell", least, most);
    plot_note(p, note);
}

static void draw(struct report *r, const char *section, const struct matrix *m, const char *a,
                 const char *b) {
    struct strings lines = {0};
    struct strings columns = {0};
    names_along(r, m, a, &lines);
    names_along(r, m, b, &columns);
    double most = 0;
    double limit = NAN;
    for (size_t i = 0; i < m->n; i++) {
        most = fmax(most, m->cells[i]->after.middle);
        limit = isfinite(m->cells[i]->limit) ? fmax(limit, m->cells[i]->limit) : limit;
    }
    if (lines.count <= MOST_SIDE && columns.count <= MOST_SIDE && lines.count > 1 && columns.count > 1 &&
        most > 0) {
        struct text title = {0};
        struct key_parts parts = m->first->parts;
        text_addf(&title, "%s %s", m->first->bench, parts.metric);
        static const char *const told[] = {"engine", "memory", "direction", "bytes", "loads"};
        for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
            char *value = row_value(m->first, told[i]);
            double bytes;
            if (value != NULL && strcmp(told[i], "bytes") == 0 && text_to_double(value, &bytes))
                text_addf(&title, bytes >= 1 << 20 ? " %.4g MiB" : " %.4g KiB",
                          bytes / (bytes >= 1 << 20 ? 1 << 20 : 1 << 10));
            else if (value != NULL)
                text_addf(&title, " %.20s", value);
            free(value);
        }
        if (strcmp(parts.target, "host") != 0)
            text_addf(&title, " in %.40s", parts.target);
        struct plot *p = plot_add(r, section, "matrix.gp", text_string(&title), text_string(&title));
        double top = isfinite(limit) && limit > most && limit < 3 * most ? limit : most;
        for (size_t i = 0; i < m->n; i++) {
            char *x = row_value(m->cells[i], b);
            char *y = row_value(m->cells[i], a);
            if (isfinite(m->cells[i]->after.middle))
                draw_cell(p, m->cells[i], 0, top, index_in(&columns, x), index_in(&lines, y));
            free(x);
            free(y);
        }
        draw_names(p, r, a, &lines, true);
        draw_names(p, r, b, &columns, false);
        plot_number(p, "higher", m->first->higher_is_better ? 1 : 0);
        plot_number(p, "rows", (double)lines.count);
        plot_number(p, "columns", (double)columns.count);
        plot_number(p, "least", 0);
        plot_number(p, "most", top);
        plot_number(p, "height", 80 + (lines.count > 4 ? 44 : 60) * (double)lines.count);
        plot_string(p, "unit", m->first->unit);
        plot_string(p, "heading", strcmp(a, "from") == 0 ? "rows: from, columns: to" : "");
        set_caption(p, m, m->first, isfinite(limit), limit);
        text_free(&title);
    }
    strings_free(&lines);
    strings_free(&columns);
}

static void draw_all(struct report *r, const char *section, const char *a, const char *b, const char *bench) {
    struct matrices m = {0};
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct row *row = &r->rows[i];
        char *x = row_value(row, a);
        char *y = row_value(row, b);
        if (x != NULL && y != NULL && text_starts(row->bench, bench) && isfinite(row->after.middle) &&
            !text_ends(row->parts.metric, ".p99"))
            add_cell(&m, row, a, b);
        free(x);
        free(y);
    }
    size_t drawn = r->n_plots;
    for (size_t i = 0; i < m.n; i++) {
        if (m.items[i].n > 1 && r->n_plots - drawn < MOST_MATRICES && r->n_plots < REPORT_MAX_PLOTS)
            draw(r, section, &m.items[i], a, b);
        free(m.items[i].family);
        free(m.items[i].cells);
    }
    free(m.items);
}

/* Copies of one size between GPUs and memory by distance: only where there is more than one distance. */
static bool has_distances(const struct report *r) {
    for (size_t i = 0; i < r->n_rows; i++) {
        char *role = row_value(&r->rows[i], "role");
        bool remote = role != NULL && text_starts(role, "remote") && text_starts(r->rows[i].bench, "copy.");
        free(role);
        if (remote)
            return true;
    }
    return false;
}

void plots_matrices(struct report *r) {
    draw_all(r, "p2p", "from", "to", "p2p.");
    draw_all(r, "numa", "cpu_node", "mem_node", "host.memory");
    if (has_distances(r))
        draw_all(r, "numa", "gpu", "role", "copy.");
}
