/* SPDX-License-Identifier: Apache-2.0 */
/* Plots as data: what the scripts of scripts/plot read. */
#include "base/mem.h"
#include "report/embedded.h"
#include "report/escape.h"
#include "report/parts.h"

#include <math.h>
#include <string.h>

enum { LABEL_LENGTH = 64 };

const char *embedded_text(const char *name) {
    for (const struct embedded_file *f = embedded_files; f->name != NULL; f++)
        if (strcmp(f->name, name) == 0)
            return f->text;
    return NULL;
}

static bool name_is_taken(const struct report *r, const char *name) {
    for (size_t i = 0; i < r->n_plots; i++)
        if (strcmp(r->plots[i].name, name) == 0)
            return true;
    return false;
}

struct plot *plot_add(struct report *r, const char *section, const char *script, const char *name,
                      const char *title) {
    struct text slug = {0};
    escape_slug(&slug, name);
    struct text unique = {0};
    text_add(&unique, text_string(&slug));
    for (int i = 2; name_is_taken(r, text_string(&unique)); i++) {
        text_clear(&unique);
        text_addf(&unique, "%s-%d", text_string(&slug), i);
    }
    text_free(&slug);
    r->plots = mem_grow(r->plots, r->n_plots, &r->plot_capacity, sizeof *r->plots);
    struct plot *p = &r->plots[r->n_plots++];
    *p = (struct plot){.name = text_take(&unique),
                       .section = section,
                       .script = script,
                       .title = mem_copy_string(title),
                       .caption = mem_copy_string("")};
    plot_string(p, "heading", title);
    return p;
}

void plot_number(struct plot *p, const char *variable, double value) {
    text_addf(&p->variables, "%s = %.10g\n", variable, isfinite(value) ? value : -1);
}

void plot_string(struct plot *p, const char *variable, const char *value) {
    text_addf(&p->variables, "%s = '", variable);
    escape_plot(&p->variables, value, LABEL_LENGTH);
    text_add(&p->variables, "'\n");
}

void plot_note(struct plot *p, const char *note) {
    text_addf(&p->variables, "note = '%s'\n", note);
}

void plot_field(struct plot *p, const char *text) {
    escape_plot(&p->data, text[0] == '\0' ? " " : text, LABEL_LENGTH);
    text_add(&p->data, "\t");
}

void plot_value(struct plot *p, double value) {
    if (isfinite(value))
        text_addf(&p->data, "%.8g\t", value);
    else
        text_add(&p->data, "?\t");
}

void plot_end_row(struct plot *p) {
    text_add(&p->data, "\n");
}
