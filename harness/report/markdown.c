/* SPDX-License-Identifier: Apache-2.0 */
/* summary.md, for a job's page: the first screen in Markdown. */
#include "report/escape.h"
#include "report/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 50 };

static void number(struct text *out, double value, const char *format) {
    char words[TEXT_FIGURE_SIZE];
    if (!isfinite(value)) {
        text_add(out, "-");
        return;
    }
    if (strcmp(format, "%") == 0)
        text_addf(out, "%+.2f %%", 100 * (value - 1));
    else
        text_add(out, text_figure(value, words));
}

static void add_row(const struct row *row, struct text *out) {
    text_add(out, "| ");
    escape_markdown(out, row->label);
    text_add(out, " | ");
    number(out, row->before.middle, "");
    text_add(out, " | ");
    number(out, row->after.middle, "");
    text_add(out, " | ");
    escape_markdown(out, row->unit);
    text_add(out, " | ");
    number(out, row_judged(row, "ratio"), "%");
    text_add(out, " | ");
    if (isfinite(row_judged(row, "low"))) {
        number(out, row_judged(row, "low"), "%");
        text_add(out, " … ");
        number(out, row_judged(row, "high"), "%");
    } else {
        text_add(out, "-");
    }
    text_add(out, " |\n");
}

static void add_verdict(const struct report *r, const char *verdict, const char *title, struct text *out) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct row *row = &r->rows[i];
        if (strcmp(row_verdict(row), verdict) != 0)
            continue;
        if (n++ == 0)
            text_addf(out,
                      "\n### %s\n\n| series | before | after | unit | change | 95 %% interval |\n"
                      "|---|---:|---:|---|---:|---|\n",
                      title);
        if (n <= MOST_ROWS)
            add_row(row, out);
    }
    if (n > MOST_ROWS)
        text_addf(out, "\n%zu more are in results.csv.\n", n - MOST_ROWS);
}

static void add_changes(const js *list, const char *title, bool worse, struct text *out) {
    if (js_length(list) == 0)
        return;
    text_addf(out, "\n### %s\n\n", title);
    for (size_t i = 0; i < js_length(list) && i < MOST_ROWS; i++) {
        const js *one = js_at(list, i);
        text_add(out, "- ");
        if (worse) {
            escape_markdown(out, js_get_string(one, "text", "?"));
            text_add(out, " ");
        }
        escape_markdown(out, js_get_string(one, "key", "?"));
        text_add(out, ": ");
        escape_markdown(out, js_get_string(one, "before", "(not there)"));
        text_add(out, " → ");
        escape_markdown(out, js_get_string(one, "after", "(not there)"));
        text_add(out, "\n");
    }
    if (js_length(list) > MOST_ROWS)
        text_addf(out, "- and %zu more\n", js_length(list) - MOST_ROWS);
}

static void add_failures(const struct report *r, struct text *out) {
    for (size_t i = 0; i < r->newest->n_failures && i < MOST_ROWS; i++) {
        const struct run_failure *f = &r->newest->failures[i];
        char *label = series_label(f->key, js_get(r->newest->header, "gpus"));
        text_add(out, i == 0 ? "\n### Failed\n\n- " : "- ");
        escape_markdown(out, label);
        text_addf(out, ", round %d, ", f->round);
        escape_markdown(out, f->outcome);
        text_add(out, ": ");
        escape_markdown(out, f->reason);
        text_add(out, "\n");
        free(label);
    }
    if (r->newest->n_failures > MOST_ROWS)
        text_addf(out, "- and %zu more\n", r->newest->n_failures - MOST_ROWS);
}

void markdown_summary(const struct report *r, struct text *out) {
    static const char *const marks[][2] = {{"bad", "❌"}, {"unsure", "❔"}, {"good", "✅"}, {"plain", "ℹ️"}};
    struct text sentence = {0};
    const char *kind = report_sentence(r, &sentence);
    const char *mark = "";
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        mark = strcmp(kind, marks[i][0]) == 0 ? marks[i][1] : mark;
    text_add(out, "## gpuvet ");
    escape_markdown(out, js_get_string(r->newest->header, "node", "?"));
    text_addf(out, "\n\n%s ", mark);
    escape_markdown(out, text_string(&sentence));
    text_add(out, "\n\nRun ");
    escape_markdown(out, r->newest->path);
    text_add(out, " of ");
    escape_markdown(out, js_get_string(r->newest->header, "started", "?"));
    if (js_get_string(r->newest->header, "label", "")[0] != '\0') {
        text_add(out, ", label ");
        escape_markdown(out, js_get_string(r->newest->header, "label", ""));
    }
    if (r->in->before_name != NULL && r->in->comparison != NULL) {
        text_add(out, ", against ");
        escape_markdown(out, r->in->before_name);
    }
    text_add(out, ".\n");
    if (r->newest->interrupted)
        text_add(out, "\nThis run was interrupted; this is what it holds.\n");
    add_changes(js_get(r->in->comparison, "changed_for_the_worse"), "Changed for the worse", true, out);
    add_verdict(r, "regressed", "Regressed", out);
    add_failures(r, out);
    add_changes(js_get(js_get(r->in->comparison, "environment"), "differences"), "Environment", false, out);
    add_verdict(r, "improved", "Improved", out);
    add_verdict(r, "undecided", "Undecided", out);
    text_free(&sentence);
}
