/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen: the verdict, what changed around it, the claims, what got worse. */
#include "report/escape.h"
#include "report/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 6, MOST_LISTED = 400 };

static void add_when(const char *stamp, struct text *out) {
    /* 2026-01-31T12:00:00.123Z */
    if (strlen(stamp) >= 16 && stamp[10] == 'T') {
        struct text t = {0};
        text_addf(&t, "%.10s %.5s UTC", stamp, stamp + 11);
        escape_html(out, text_string(&t));
        text_free(&t);
    } else {
        escape_html(out, stamp);
    }
}

static void add_title(const struct report *r, struct text *out) {
    const js *header = r->newest->header;
    const char *label = js_get_string(header, "label", "");
    text_add(out, "<header>\n<p class=brand>gpuvet report</p>\n<h1>");
    escape_html(out, js_get_string(header, "node", "?"));
    if (label[0] != '\0') {
        text_add(out, " <span class=tag>");
        escape_html(out, label);
        text_add(out, "</span>");
    }
    text_add(out, "</h1>\n<p class=meta>");
    add_when(js_get_string(header, "started", ""), out);
    text_add(out, " · profile ");
    escape_html(out, js_get_string(header, "profile", "?"));
    text_addf(out, " · %zu run%s", r->in->n_after, r->in->n_after == 1 ? "" : "s");
    const js *gpus = js_get(header, "gpus");
    if (js_length(gpus) > 0) {
        text_addf(out, " · %zu × ", js_length(gpus));
        escape_html(out, js_get_string(js_at(gpus, 0), "name", "GPU"));
    }
    if (r->in->comparison != NULL) {
        text_add(out, " · against ");
        escape_html(out, r->in->before_name != NULL ? r->in->before_name : "the runs before");
        text_addf(out, " (%zu run%s)", r->in->n_before, r->in->n_before == 1 ? "" : "s");
    }
    text_add(out, "</p>\n");
    if (js_get_bool(header, "simulated", false))
        text_add(out, "<p class=note>Every figure here is made up (run --simulate).</p>\n");
    if (r->newest->interrupted)
        text_add(out, "<p class=note>This run was interrupted; the page shows what it holds.</p>\n");
    text_add(out, "</header>\n");
}

static void add_tile(struct text *out, int64_t n, const char *word, const char *kind) {
    text_addf(out, "<li class=\"%s\"><b>%" PRId64 "</b> %s</li>", n > 0 ? kind : "none", n, word);
}

static void add_tiles(const struct report *r, struct text *out) {
    const js *verdicts = js_get(r->in->comparison, "verdicts");
    text_add(out, "<ul class=tiles>");
    if (r->in->comparison != NULL) {
        add_tile(out, js_get_int(verdicts, "regressed", 0), "regressed", "bad");
        add_tile(out, (int64_t)js_length(js_get(r->in->comparison, "changed_for_the_worse")), "facts worse",
                 "bad");
        add_tile(out, (int64_t)js_length(js_get(r->in->comparison, "failures")), "failed", "bad");
        add_tile(out, js_get_int(verdicts, "improved", 0), "improved", "good");
        add_tile(out, js_get_int(verdicts, "same", 0), "same", "plain");
        add_tile(out, js_get_int(verdicts, "undecided", 0), "undecided", "unsure");
        add_tile(out, js_get_int(verdicts, "not comparable", 0), "not comparable", "plain");
    } else {
        size_t measured = 0;
        size_t skipped = 0;
        for (size_t i = 0; i < r->n_rows; i++) {
            measured += r->rows[i].after.n_rounds > 0 ? 1 : 0;
            skipped += r->rows[i].after.n_rounds == 0 && r->rows[i].series->n_skip > 0 ? 1 : 0;
        }
        add_tile(out, (int64_t)measured, "series measured", "plain");
        add_tile(out, (int64_t)r->newest->n_failures, "records failed", "bad");
        add_tile(out, (int64_t)skipped, "series skipped", "plain");
    }
    text_add(out, "</ul>\n");
}

static void add_verdict(const struct report *r, struct text *out) {
    struct text sentence = {0};
    const char *kind = report_sentence(r, &sentence);
    text_addf(out, "<section class=\"verdict %s\" id=\"verdict\">\n<p>", kind);
    escape_html(out, text_string(&sentence));
    text_add(out, "</p>\n");
    add_tiles(r, out);
    text_add(out, "</section>\n");
    text_free(&sentence);
}

static void open_rest(struct text *out, size_t shown, size_t n) {
    if (shown == MOST_SHOWN && n > MOST_SHOWN)
        text_addf(out,
                  "</tbody></table></div><details><summary>all %zu</summary><div class=scroll><table><tbody>",
                  n);
}

static void close_list(struct text *out, size_t n) {
    text_add(out, "</tbody></table></div>");
    if (n > MOST_SHOWN)
        text_add(out, "</details>");
}

static void add_value(struct text *out, const char *value) {
    char *shown = text_shown(value, 120);
    escape_html(out, shown);
    free(shown);
}

static void add_environment(const struct report *r, struct text *out) {
    const js *environment = js_get(r->in->comparison, "environment");
    const js *list = js_get(environment, "differences");
    size_t n = js_length(list);
    text_add(out, "<section class=card id=\"environment\"><h2>What changed in the environment</h2>");
    if (r->in->comparison == NULL) {
        text_add(out, "<p class=empty>Nothing to compare with: ");
        escape_html(out, r->in->no_comparison != NULL ? r->in->no_comparison : "there is no run before");
        text_add(out, ".</p></section>\n");
        return;
    }
    if (n == 0)
        text_add(out,
                 "<p class=empty>Nothing: every key that was recorded on both sides has the same value.</p>");
    else
        text_add(out, "<div class=scroll><table><tbody>");
    for (size_t i = 0; i < n && i < MOST_LISTED; i++) {
        const js *one = js_at(list, i);
        open_rest(out, i, n);
        text_add(out, "<tr><td><code>");
        add_value(out, js_get_string(one, "key", "?"));
        text_add(out, "</code></td><td>");
        add_value(out, js_get_string(one, "before", "(not there)"));
        text_add(out, " → <b>");
        add_value(out, js_get_string(one, "after", "(not there)"));
        text_add(out, "</b></td></tr>");
    }
    if (n > 0)
        close_list(out, n);
    if (js_length(js_get(environment, "not_visible")) > 0)
        text_addf(out,
                  "<p class=note>%zu keys were visible on one side only: run gpuvet as root on both.</p>",
                  js_length(js_get(environment, "not_visible")));
    text_add(out, "</section>\n");
}

/* ---- claims ---- */

static void add_claims(const struct report *r, struct text *out) {
    const js *claims = js_get(r->in->comparison, "claims");
    size_t n = js_length(claims);
    text_add(out, "<section class=card id=\"claims\"><h2>Claims</h2>");
    if (n == 0)
        text_addf(
            out, "<p class=empty>%s</p></section>\n",
            r->in->comparison == NULL
                ? "A claim is judged on a comparison, and there is none."
                : "None is judged here: no claim was set against this comparison. What each tuning can move is in "
                  "docs/method.md.");
    if (n == 0)
        return;
    text_add(out,
             "<div class=scroll><table class=sort><thead><tr><th>claim</th><th>verdict</th><th>movers</th>"
             "<th>95 % interval</th></tr></thead><tbody>");
    for (size_t i = 0; i < n && i < MOST_LISTED; i++) {
        const js *one = js_at(claims, i);
        const char *verdict = js_get_string(one, "verdict", "undecided");
        const char *kind = strcmp(verdict, "confirmed") == 0   ? "good"
                           : strcmp(verdict, "regressed") == 0 ? "bad"
                           : strcmp(verdict, "undecided") == 0 ? "unsure"
                                                               : "plain";
        text_add(out, "<tr><td>");
        add_value(out, js_get_string(one, "name", js_get_string(one, "id", "?")));
        text_addf(out, "</td><td><span class=\"pill %s\">", kind);
        add_value(out, verdict);
        text_add(out, "</span>");
        if (js_get_string(one, "reason", "")[0] != '\0') {
            text_add(out, "<br><small>");
            add_value(out, js_get_string(one, "reason", ""));
            text_add(out, "</small>");
        }
        text_add(out, "</td>");
        html_change_cell(out, js_get_number(one, "ratio", NAN));
        text_add(out, "<td>");
        html_change(out, js_get_number(one, "low", NAN));
        text_add(out, " … ");
        html_change(out, js_get_number(one, "high", NAN));
        text_add(out, "</td></tr>");
    }
    text_add(out, "</tbody></table></div></section>\n");
}

/* ---- what got worse ---- */

static void add_facts(const struct report *r, struct text *out) {
    const js *worse = js_get(r->in->comparison, "changed_for_the_worse");
    for (size_t i = 0; i < js_length(worse) && i < MOST_LISTED; i++) {
        const js *one = js_at(worse, i);
        text_add(out, "<tr><td><span class=\"pill bad\">fact</span> ");
        add_value(out, js_get_string(one, "text", "?"));
        text_add(out, "<br><code>");
        add_value(out, js_get_string(one, "key", "?"));
        text_add(out, "</code></td><td>");
        add_value(out, js_get_string(one, "before", "?"));
        text_add(out, " → <b>");
        add_value(out, js_get_string(one, "after", "?"));
        text_add(out, "</b></td><td></td></tr>");
    }
}

static void add_regression(const struct row *row, struct text *out) {
    text_add(out, "<tr><td><span class=\"pill bad\">regressed</span> ");
    escape_html(out, row->label);
    text_add(out, "</td><td>");
    html_number(out, row->before.middle, 4);
    text_add(out, " → <b>");
    html_number(out, row->after.middle, 4);
    text_add(out, "</b> ");
    escape_html(out, row->unit);
    text_add(out, "</td><td class=n><b>");
    html_change(out, row_judged(row, "ratio"));
    text_add(out, "</b><br><small>");
    html_change(out, row_judged(row, "low"));
    text_add(out, " … ");
    html_change(out, row_judged(row, "high"));
    text_add(out, "</small></td></tr>");
}

static void add_failure(const struct report *r, const char *label, const char *outcome, const char *reason,
                        bool before, struct text *out) {
    (void)r;
    text_add(out, "<tr><td><span class=\"pill bad\">");
    escape_html(out, outcome);
    text_add(out, "</span> ");
    add_value(out, label);
    text_add(out, "</td><td colspan=2>");
    add_value(out, reason);
    text_add(out, before ? " (before too)" : "");
    text_add(out, "</td></tr>");
}

static size_t add_failures(const struct report *r, struct text *out) {
    const js *failures = js_get(r->in->comparison, "failures");
    size_t n = 0;
    for (; n < js_length(failures) && n < MOST_LISTED; n++) {
        const js *one = js_at(failures, n);
        add_failure(r, js_get_string(one, "label", "?"), js_get_string(one, "outcome", "?"),
                    js_get_string(one, "reason", ""), js_get_bool(one, "before_too", false), out);
    }
    if (r->in->comparison != NULL)
        return n;
    for (; n < r->newest->n_failures && n < MOST_LISTED; n++) {
        const struct run_failure *f = &r->newest->failures[n];
        bool again = false; /* the same item in another round */
        for (size_t k = 0; k < n && !again; k++)
            again = strcmp(r->newest->failures[k].key, f->key) == 0;
        char *label = again ? NULL : series_label(f->key, js_get(r->newest->header, "gpus"));
        if (!again)
            add_failure(r, label, f->outcome, f->reason, false, out);
        free(label);
    }
    return n;
}

static void add_worse(const struct report *r, struct text *out) {
    struct text rows = {0};
    add_facts(r, &rows);
    for (size_t i = 0; i < r->n_rows; i++)
        if (strcmp(row_verdict(&r->rows[i]), "regressed") == 0)
            add_regression(&r->rows[i], &rows);
    add_failures(r, &rows);
    text_add(out, "<section class=\"card worse\" id=\"worse\"><h2>What got worse</h2>");
    if (rows.length == 0) {
        text_addf(out, "<p class=empty>%s</p>",
                  r->in->comparison != NULL
                      ? "No series regressed, no fact changed for the worse, nothing failed."
                      : "Nothing failed. Regressions need a run before to compare with.");
    } else {
        text_add(out, "<div class=\"scroll tall\"><table><tbody>");
        text_add(out, text_string(&rows));
        text_add(out, "</tbody></table></div>");
    }
    text_add(out, "</section>\n");
    text_free(&rows);
}

void html_first_screen(const struct report *r, struct text *out) {
    add_title(r, out);
    text_add(out, "<main>\n");
    add_verdict(r, out);
    text_add(out, "<div class=cards>\n");
    add_environment(r, out);
    add_claims(r, out);
    add_worse(r, out);
    text_add(out, "</div>\n");
}
