/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/env_diff.h"

#include "compare/parts.h"

#include <stdlib.h>

void env_diff(const struct run *before, size_t n_before, const struct run *after, size_t n_after,
              struct comparison *out) {
    const struct side old = {before, n_before, "BEFORE"};
    const struct side new = {after, n_after, "AFTER"};
    *out = (struct comparison){0};
    compare_environment(&old, &new, out);
}

bool env_diff_same(const struct comparison *c) {
    return c->n_differences == 0 && c->n_worse == 0;
}

/* ---- for people ---- */

/* Values come from files that may be anybody's. */
static void put(FILE *out, const char *before, const char *text) {
    char *printable = text_printable(text);
    fprintf(out, "%s%s", before, printable);
    free(printable);
}

static void print_kind(const struct comparison *c, enum difference_kind kind, const char *title, FILE *out) {
    bool first = true;
    for (size_t i = 0; i < c->n_differences; i++) {
        const struct compare_difference *d = &c->differences[i];
        if (d->kind != kind)
            continue;
        if (first)
            fprintf(out, "%s\n", title);
        first = false;
        put(out, "  ", d->key);
        if (kind != DIFFERENCE_ADDED)
            put(out, kind == DIFFERENCE_REMOVED ? " = " : ": ", d->before);
        if (kind != DIFFERENCE_REMOVED)
            put(out, kind == DIFFERENCE_ADDED ? " = " : " -> ", d->after);
        fputc('\n', out);
    }
}

void env_diff_print(const struct comparison *c, FILE *out) {
    if (c->n_worse > 0)
        fputs("changed for the worse\n", out);
    for (size_t i = 0; i < c->n_worse; i++) {
        put(out, "  ", c->worse[i].key);
        put(out, ": ", c->worse[i].before);
        put(out, " -> ", c->worse[i].after);
        fprintf(out, " (%s)\n", c->worse[i].text);
    }
    print_kind(c, DIFFERENCE_CHANGED, "changed", out);
    print_kind(c, DIFFERENCE_REMOVED, "only in BEFORE", out);
    print_kind(c, DIFFERENCE_ADDED, "only in AFTER", out);
    if (c->not_visible.count > 0)
        fputs("not visible on one side (it needs root)\n", out);
    for (size_t i = 0; i < c->not_visible.count; i++) {
        put(out, "  ", c->not_visible.items[i]);
        fputc('\n', out);
    }
    for (size_t i = 0; i < c->notes.count; i++) {
        put(out, "note: ", c->notes.items[i]);
        fputc('\n', out);
    }
    if (env_diff_same(c))
        fprintf(out, "the environments are the same, what moves by itself left out%s\n",
                c->not_visible.count > 0 ? ", as far as both are visible" : "");
}

/* ---- for machines ---- */

static js *kind_json(const struct comparison *c, enum difference_kind kind) {
    js *list = js_new_array();
    for (size_t i = 0; i < c->n_differences; i++) {
        const struct compare_difference *d = &c->differences[i];
        if (d->kind != kind)
            continue;
        js *o = js_new_object();
        js_set_string(o, "key", d->key);
        if (kind != DIFFERENCE_ADDED)
            js_set_string(o, "before", d->before);
        if (kind != DIFFERENCE_REMOVED)
            js_set_string(o, "after", d->after);
        js_append(list, o);
    }
    return list;
}

js *env_diff_json(const struct comparison *c, const char *before, const char *after) {
    js *out = js_new_object();
    js_set_string(out, "schema", "gpuvet.env-diff/1");
    js_set_string(out, "before", before);
    js_set_string(out, "after", after);
    js_set_bool(out, "same", env_diff_same(c));
    js_set(out, "worse", compare_worse_json(c));
    js_set(out, "changed", kind_json(c, DIFFERENCE_CHANGED));
    js_set(out, "only_before", kind_json(c, DIFFERENCE_REMOVED));
    js_set(out, "only_after", kind_json(c, DIFFERENCE_ADDED));
    js_set(out, "not_visible", compare_strings_json(&c->not_visible));
    js_set(out, "notes", compare_strings_json(&c->notes));
    return out;
}
