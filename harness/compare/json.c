/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for machines: gpuvet.compare/1, results/schema/compare.schema.json. */
#include "compare/compare.h"

#include "compare/parts.h"

void compare_add_figures(js *to, const struct decide_result *r) {
    js_set_string(to, "verdict", verdict_name(r->verdict));
    js_set_string(to, "reason", r->reason);
    js_set_number(to, "ratio", r->ratio); /* numbers that are not known become null */
    js_set_number(to, "low", r->low);
    js_set_number(to, "high", r->high);
    js_set_number(to, "p", r->p);
    js_set_number(to, "p_adjusted", r->p_adjusted);
    js_set_number(to, "delta", r->delta);
    js_set_number(to, "df", r->df);
    js_set_number(to, "rounds_needed", r->rounds_needed);
}

static js *row_json(const struct compare_row *row) {
    const struct decide_result *r = &row->result;
    js *o = js_new_object();
    js_set_string(o, "key", row->key);
    js_set_string(o, "label", row->label);
    js_set_string(o, "class", row->primary ? "primary" : "descriptive");
    js_set_string(o, "better", row->higher_is_better ? "higher" : "lower");
    js_set_string(o, "unit", row->unit);
    js_set_number(o, "before", r->before);
    js_set_number(o, "after", r->after);
    compare_add_figures(o, r);
    js_set_bool(o, "between_is_default", r->between_is_default);
    js_set_number(o, "runs_needed", r->runs_needed);
    return o;
}

static js *counts_json(const struct comparison *c) {
    js *o = js_new_object();
    for (int v = 0; v < VERDICT_COUNT; v++)
        js_set_int(o, verdict_name((enum verdict)v), (int64_t)comparison_count(c, (enum verdict)v));
    return o;
}

js *compare_worse_json(const struct comparison *c) {
    js *list = js_new_array();
    for (size_t i = 0; i < c->n_worse; i++) {
        js *o = js_new_object();
        js_set_string(o, "key", c->worse[i].key);
        js_set_string(o, "before", c->worse[i].before);
        js_set_string(o, "after", c->worse[i].after);
        js_set_string(o, "text", c->worse[i].text);
        js_append(list, o);
    }
    return list;
}

static js *failures_json(const struct comparison *c) {
    js *list = js_new_array();
    for (size_t i = 0; i < c->n_failures; i++) {
        js *o = js_new_object();
        js_set_string(o, "key", c->failures[i].key);
        js_set_string(o, "label", c->failures[i].label);
        js_set_string(o, "outcome", c->failures[i].outcome);
        js_set_string(o, "reason", c->failures[i].reason);
        js_set_int(o, "count", (int64_t)c->failures[i].count);
        js_set_bool(o, "before_too", c->failures[i].before_too);
        js_append(list, o);
    }
    return list;
}

js *compare_strings_json(const struct strings *list) {
    js *out = js_new_array();
    for (size_t i = 0; i < list->count; i++)
        js_append_string(out, list->items[i]);
    return out;
}

static js *environment_json(const struct comparison *c) {
    static const char *const kinds[] = {"changed", "added", "removed"};
    js *list = js_new_array();
    for (size_t i = 0; i < c->n_differences; i++) {
        const struct compare_difference *d = &c->differences[i];
        js *o = js_new_object();
        js_set_string(o, "key", d->key);
        js_set_string(o, "kind", kinds[d->kind]);
        js_set_string(o, "before", d->kind == DIFFERENCE_ADDED ? NULL : d->before);
        js_set_string(o, "after", d->kind == DIFFERENCE_REMOVED ? NULL : d->after);
        js_append(list, o);
    }
    js *out = js_new_object();
    js_set(out, "differences", list);
    js_set(out, "not_visible", compare_strings_json(&c->not_visible));
    return out;
}

js *comparison_json(const struct comparison *c) {
    js *out = js_new_object();
    js_set_string(out, "schema", "gpuvet.compare/1");
    js_set(out, "before", js_copy(c->before));
    js_set(out, "after", js_copy(c->after));
    js_set_int(out, "exit_status", comparison_exit_status(c, false));
    js_set(out, "verdicts", counts_json(c));
    js *family = js_new_object();
    js_set_int(family, "size", (int64_t)c->n_family);
    js_set_number(family, "alpha", DECIDE_FAMILY_ALPHA);
    js_set(out, "family", family);
    js_set(out, "changed_for_the_worse", compare_worse_json(c));
    js_set(out, "failures", failures_json(c));
    js *rows = js_new_array();
    for (size_t i = 0; i < c->n_rows; i++)
        js_append(rows, row_json(&c->rows[i]));
    js_set(out, "series", rows);
    js_set(out, "environment", environment_json(c));
    js_set(out, "notes", compare_strings_json(&c->notes));
    return out;
}
