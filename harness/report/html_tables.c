/* SPDX-License-Identifier: Apache-2.0 */
/* Every number in a table that sorts, and which runs they are from. */
#include "report/escape.h"
#include "report/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *kind_of(const char *verdict) {
    return strcmp(verdict, "regressed") == 0   ? "bad"
           : strcmp(verdict, "improved") == 0  ? "good"
           : strcmp(verdict, "undecided") == 0 ? "unsure"
                                               : "plain";
}

static void add_interval(struct text *out, double low, double high, int digits) {
    text_add(out, "<td class=n>");
    if (isfinite(low) && isfinite(high)) {
        html_number(out, low, digits);
        text_add(out, " … ");
        html_number(out, high, digits);
    } else {
        text_add(out, "–");
    }
    text_add(out, "</td>");
}

static void add_change(const struct row *row, struct text *out) {
    html_change_cell(out, row_judged(row, "ratio"));
    text_add(out, "<td class=n>");
    if (isfinite(row_judged(row, "low"))) {
        html_change(out, row_judged(row, "low"));
        text_add(out, " … ");
        html_change(out, row_judged(row, "high"));
    } else {
        text_add(out, "–");
    }
    text_add(out, "</td>");
    text_addf(out, "<td><span class=\"pill %s\">", kind_of(row_verdict(row)));
    escape_html(out, row_verdict(row)[0] != '\0' ? row_verdict(row) : "none");
    text_add(out, "</span>");
    if (js_get_string(row->verdict, "reason", "")[0] != '\0') {
        text_add(out, "<br><small>");
        escape_html(out, js_get_string(row->verdict, "reason", ""));
        text_add(out, "</small>");
    }
    text_add(out, "</td>");
}

static void add_row(const struct report *r, const struct row *row, struct text *out) {
    char largest[TEXT_FIGURE_SIZE];
    bool compared = r->in->comparison != NULL;
    const char *why = row->series->bad_reason != NULL    ? row->series->bad_reason
                      : row->series->skip_reason != NULL ? row->series->skip_reason
                                                         : "";
    text_add(out, "<tr><td>");
    escape_html(out, row->label);
    if (row->after.n_rounds == 0 && why[0] != '\0') {
        text_add(out, "<br><small>");
        escape_html(out, why);
        text_add(out, "</small>");
    }
    /* What the tail does not show; no figure to compare: the more samples, the larger it is. */
    if (text_ends(row->parts.metric, ".p99") && isfinite(row->series->largest))
        text_addf(out, "<br><small>largest of %zu samples: %s</small>", row->series->n_samples,
                  text_figure(row->series->largest, largest));
    text_addf(out, "</td><td>%s</td>", row->primary ? "primary" : "descriptive");
    if (compared)
        html_cell(out, row->before.middle, 5);
    html_cell(out, row->after.middle, 5);
    text_add(out, "<td>");
    escape_html(out, row->unit);
    text_add(out, "</td>");
    add_interval(out, row->after.low, row->after.high, 4);
    text_addf(out, "<td class=n data-v=\"%zu\">%zu%s</td>", row->after.n_rounds, row->after.n_rounds,
              row->after.n_rounds > 0 && !row->after.over_rounds ? "*" : "");
    html_cell(out, row->limit, 4);
    html_cell(out, row_share(row), 3);
    if (compared)
        add_change(row, out);
    text_add(out, "<td>");
    html_key(out, row->key);
    text_add(out, "</td></tr>\n");
}

static void add_numbers(const struct report *r, struct text *out) {
    bool compared = r->in->comparison != NULL;
    text_add(
        out,
        "<section id=\"numbers\">\n<h2>Every number</h2>\n<p class=intro>Geometric means over rounds. The interval is the "
        "figure's own, 95 % over n rounds; * under three rounds: what the samples of the rounds say. A head sorts.</p>\n"
        "<p class=filter hidden><label>Filter <input type=search></label></p>\n"
        "<div class=scroll><table class=sort id=all><thead><tr><th>series</th><th>class</th>");
    text_add(out, compared ? "<th class=n>before</th><th class=n>after</th>" : "<th class=n>figure</th>");
    text_add(
        out,
        "<th>unit</th><th class=n>interval</th><th class=n>n</th><th class=n>limit</th><th class=n>% of limit</th>");
    text_add(out, compared ? "<th class=n>change</th><th class=n>95 % interval</th><th>verdict</th>" : "");
    text_add(out, "<th>key</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < r->n_rows; i++)
        add_row(r, &r->rows[i], out);
    text_add(out, "</tbody></table></div>\n</section>\n");
}

/* ---- history ---- */

static void add_trend(const struct trend *t, size_t tested, struct text *out) {
    double change = t->slope * (double)(t->runs[t->n - 1] - t->runs[0]);
    bool sure = t->p * (double)tested <= 0.01;
    bool matters = fabs(change) >= t->delta;
    bool better = (t->slope > 0) == t->higher_is_better;
    text_add(out, "<tr><td>");
    escape_html(out, t->label);
    text_addf(out, "</td><td>%s</td><td>", t->primary ? "primary" : "descriptive");
    html_spark(out, t->values, t->n);
    text_addf(out, "</td><td class=n>%zu</td>", t->n);
    html_cell(out, t->values[0], 4);
    html_cell(out, t->values[t->n - 1], 4);
    text_add(out, "<td>");
    escape_html(out, t->unit);
    text_add(out, "</td>");
    html_change_cell(out, 1 + change);
    html_cell(out, t->p, 2);
    const char *kind = !sure || !matters ? "plain" : better ? "good" : "bad";
    const char *words = !sure      ? "no trend shown"
                        : !matters ? "a trend below what matters"
                        : better   ? "getting better"
                                   : "getting worse";
    text_addf(out, "<td><span class=\"pill %s\">%s</span></td></tr>\n", kind, words);
}

static void add_history_runs(const struct report *r, struct text *out) {
    text_add(
        out,
        "<details><summary>the runs, in order of time</summary><div class=scroll><table class=sort><thead><tr>"
        "<th class=n>run</th><th>started</th><th>label</th><th>build</th><th class=n>failed</th><th>file</th></tr></thead>"
        "<tbody>\n");
    for (size_t i = 0; i < js_length(r->in->history); i++) {
        static const char *const names[] = {"started", "label", "build_id"};
        const js *one = js_at(r->in->history, i);
        text_addf(out, "<tr><td class=n>%zu</td>", i + 1);
        for (size_t k = 0; k < 3; k++) {
            text_add(out, "<td>");
            escape_html(out, js_get_string(one, names[k], ""));
            text_add(out, "</td>");
        }
        html_cell(out, js_get_number(one, "failures", 0), 6);
        text_add(out, "<td><code>");
        escape_html(out, js_get_string(one, "path", ""));
        text_add(out, "</code></td></tr>\n");
    }
    text_add(out, "</tbody></table></div></details>\n");
}

void html_history(const struct report *r, struct text *out) {
    enum { MOST_TRENDS = 2000 };
    if (js_length(r->in->history) < 2) {
        text_add(
            out,
            "<p class=empty>One run makes no history. Give several: gpuvet report runs/*.jsonl -o out/</p>\n");
        return;
    }
    struct history h;
    size_t tested = 0;
    history_make(r, &h);
    for (size_t i = 0; i < h.n; i++)
        tested += isfinite(h.trends[i].p) ? 1 : 0;
    html_figures(r, "history", out);
    text_add(
        out,
        "<p class=caption>Trend: Theil and Sen's slope from the first to the last run; p: Mann and Kendall's, of no "
        "trend at all, each series by itself; one counts from 0.01 over the number of series on, and from the smallest "
        "change that matters.</p>\n"
        "<div class=\"scroll tall\"><table class=sort><thead><tr><th>series</th><th>class</th><th>course</th>"
        "<th class=n>runs</th><th class=n>first</th><th class=n>last</th><th>unit</th><th class=n>trend</th>"
        "<th class=n>p</th><th>verdict</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < h.n && i < MOST_TRENDS; i++)
        add_trend(&h.trends[i], tested, out);
    text_add(out, "</tbody></table></div>\n");
    add_history_runs(r, out);
    history_free(&h);
}

/* ---- runs ---- */

static void add_run(const char *side, const struct run *run, struct text *out) {
    static const char *const names[] = {"started", "label", "node", "profile"};
    text_addf(out, "<tr><td>%s</td>", side);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        text_add(out, "<td>");
        escape_html(out, js_get_string(run->header, names[i], ""));
        text_add(out, "</td>");
    }
    text_addf(out, "<td class=n>%zu</td><td class=n>%zu</td><td>%s</td><td>", run->n_records, run->n_failures,
              run->interrupted ? "interrupted" : "complete");
    escape_html(out, js_get_string(js_get(run->header, "tool"), "build_id", ""));
    text_add(out, "</td><td><code>");
    escape_html(out, run->path);
    text_add(out, "</code></td></tr>\n");
}

static void add_environment(const struct report *r, struct text *out) {
    const js *environment = js_get(r->newest->header, "environment");
    text_add(
        out,
        "<details><summary>the environment of the newest run</summary><div class=scroll><table class=sort><thead><tr>"
        "<th>key</th><th>value</th></tr></thead><tbody>\n");
    size_t n = 0;
    for (struct js_member m = js_first(environment); m.key != NULL && n < 3000;
         m = js_next(environment, m), n++) {
        char *value = js_text(m.value);
        char *shown = text_shown(js_string(m.value, value), 200);
        text_add(out, "<tr><td><code>");
        escape_html(out, m.key);
        text_add(out, "</code></td><td>");
        escape_html(out, shown);
        text_add(out, "</td></tr>\n");
        free(shown);
        free(value);
    }
    text_add(out, "</tbody></table></div></details>\n");
}

static void add_runs(const struct report *r, struct text *out) {
    text_add(
        out,
        "<section id=\"runs\">\n<h2>Runs</h2>\n<p class=intro>What this page is made of.</p>\n"
        "<div class=scroll><table class=sort><thead><tr><th>side</th><th>started</th><th>label</th><th>node</th>"
        "<th>profile</th><th class=n>records</th><th class=n>failed</th><th>end</th><th>build</th><th>file</th></tr>"
        "</thead><tbody>\n");
    for (size_t i = 0; i < r->in->n_before; i++)
        add_run("before", &r->in->before[i], out);
    for (size_t i = 0; i < r->in->n_after; i++)
        add_run("after", &r->in->after[i], out);
    text_add(out, "</tbody></table></div>\n");
    const js *notes = js_get(r->in->comparison, "notes");
    for (size_t i = 0; i < js_length(notes) && i < 200; i++) {
        text_add(out, i == 0 ? "<ul class=notes><li>" : "<li>");
        escape_html(out, js_string(js_at(notes, i), ""));
        text_add(out, "</li>");
    }
    text_add(out, js_length(notes) > 0 ? "</ul>\n" : "");
    add_environment(r, out);
    text_add(out, "</section>\n</main>\n");
}

void html_tables(const struct report *r, struct text *out) {
    add_numbers(r, out);
    add_runs(r, out);
}
