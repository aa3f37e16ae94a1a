/* SPDX-License-Identifier: Apache-2.0 */
/* Container over host, for people and for machines. */
#include "compare/places.h"

#include "base/text.h"
#include "compare/parts.h"

#include <math.h>
#include <stdlib.h>

enum { SHOWN = 400 };

static void put(FILE *out, const char *s) {
    char *clean = text_shown(s, SHOWN);
    fputs(clean, out);
    free(clean);
}

static const char *word_for(const struct decide_result *r) {
    switch (r->verdict) {
    case VERDICT_IMPROVED:
        return "better there";
    case VERDICT_REGRESSED:
        return "worse there";
    case VERDICT_SAME:
        return "the same";
    default:
        return verdict_name(r->verdict);
    }
}

static void print_row(const struct place_row *row, FILE *out) {
    const struct decide_result *r = &row->result;
    char there[TEXT_FIGURE_SIZE], here[TEXT_FIGURE_SIZE];
    fprintf(out, "  %-60.60s %9s %9s %-5s", row->label, text_figure(r->before, here),
            text_figure(r->after, there), row->unit);
    if (isfinite(r->ratio))
        fprintf(out, " %+7.2f %%", 100 * (r->ratio - 1));
    else
        fprintf(out, " %9s", "-");
    if (isfinite(r->low) && isfinite(r->high))
        fprintf(out, " [%+.2f, %+.2f]", 100 * (r->low - 1), 100 * (r->high - 1));
    fprintf(out, "  %s", word_for(r));
    if (r->reason[0] != '\0')
        fprintf(out, ": %s", r->reason);
    fputc('\n', out);
    if (row->cause != NULL) {
        fputs("      ", out);
        put(out, row->cause);
        fputc('\n', out);
    }
}

static void print_place(const struct place_cost *c, FILE *out) {
    size_t counts[VERDICT_COUNT] = {0};
    put(out, c->target);
    fputs(" over ", out);
    put(out, c->against);
    if (!c->same_machine)
        fputs(" (another machine)", out);
    fprintf(out, ", %zu round%s in turn:\n", c->n_rounds, c->n_rounds == 1 ? "" : "s");
    for (size_t i = 0; i < c->n_rows; i++)
        counts[c->rows[i].result.verdict]++;
    for (int primary = 1; primary >= 0; primary--)
        for (size_t i = 0; i < c->n_rows; i++)
            if (c->rows[i].primary == (primary == 1))
                print_row(&c->rows[i], out);
    if (c->n_family > 0)
        fprintf(out,
                "  %zu judged: %zu worse there, %zu better there, %zu the same, %zu undecided; about one "
                "comparison in 100 names a difference that is none\n",
                c->n_family, counts[VERDICT_REGRESSED], counts[VERDICT_IMPROVED], counts[VERDICT_SAME],
                counts[VERDICT_UNDECIDED]);
    if (c->n_rows == 0)
        fputs("  nothing was measured in both\n", out);
    if (c->broken != NULL) {
        fputs("  what needs a GPU is skipped there: ", out);
        put(out, c->broken);
        fputc('\n', out);
    }
    for (size_t i = 0; i < c->facts.count; i++) {
        fputs("  differs: ", out);
        put(out, c->facts.items[i]);
        fputc('\n', out);
    }
}

void place_costs_print(const struct place_costs *costs, FILE *out) {
    for (size_t i = 0; i < costs->n; i++) {
        fputc('\n', out);
        print_place(&costs->places[i], out);
    }
}

static js *result_json(const struct decide_result *r) {
    js *o = js_new_object();
    js_set_number(o, "here", r->before);
    js_set_number(o, "there", r->after);
    compare_add_figures(o, r);
    return o;
}

js *place_costs_json(const struct place_costs *costs) {
    js *all = js_new_array();
    for (size_t i = 0; i < costs->n; i++) {
        const struct place_cost *c = &costs->places[i];
        js *o = js_new_object();
        js *rows = js_new_array();
        js *facts = js_new_array();
        for (size_t k = 0; k < c->n_rows; k++) {
            js *row = result_json(&c->rows[k].result);
            js_set_string(row, "key", c->rows[k].key);
            js_set_string(row, "label", c->rows[k].label);
            js_set_string(row, "unit", c->rows[k].unit);
            js_set_string(row, "class", c->rows[k].primary ? "primary" : "descriptive");
            js_set_string(row, "cause", c->rows[k].cause);
            if (c->rows[k].has_placement)
                js_set(row, "placement", result_json(&c->rows[k].placement));
            js_append(rows, row);
        }
        for (size_t k = 0; k < c->facts.count; k++)
            js_append_string(facts, c->facts.items[k]);
        js_set_string(o, "target", c->target);
        js_set_string(o, "against", c->against);
        js_set_bool(o, "same_machine", c->same_machine);
        js_set_int(o, "rounds", (int64_t)c->n_rounds);
        js_set_int(o, "family", (int64_t)c->n_family);
        js_set_string(o, "broken", c->broken);
        js_set(o, "series", rows);
        js_set(o, "differs", facts);
        js_append(all, o);
    }
    return all;
}
