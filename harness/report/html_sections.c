/* SPDX-License-Identifier: Apache-2.0 */
/* The sections below the first screen. One that stays empty says why. */
#include "report/escape.h"
#include "report/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct section {
    const char *id, *title, *intro;
    const char *cases;   /* prefix of the cases it shows; NULL: no case */
    const char *without; /* why it is empty when no such case is known; NULL: then it is left out */
};

static const struct section sections[] = {
    {"forest", "Changes", "How much each primary series changed, and how surely.", NULL, NULL},
    {"limits", "Against the physical limit",
     "What each path carries of what it could carry at most, after packet headers.", NULL, NULL},
    {"places", "Host against container",
     "The same series inside and outside, measured in alternating rounds of one boot.", NULL,
     "This run has one place only. Measure both: gpuvet run --in host --in lxc:NAME"},
    {"p2p", "GPU to GPU", "Rows send, columns receive.", "p2p.",
     "No case of GPU to GPU was planned in this run: gpuvet run --case 'p2p.*'"},
    {"numa", "Memory by NUMA node", "Cores of one node, memory of another.", "host.memory",
     "The machine has one NUMA node here, so there is nothing to set side by side; its figures are in the table below."},
    {"sweeps", "By size", "Small copies pay for the call, large ones for the path.", NULL,
     "No case was measured at three sizes or more. Profile thorough has every size."},
    {"wake", "Waking up", "How late a core is after it was idle: what deep idle states cost.", "host.wake",
     "No wake-up was measured in this run: gpuvet run --case host.wake"},
    {"gemm", "Matrix multiplication", "The rate beside the clock, power and temperature it was reached with.",
     "gemm.", NULL}, /* no case here measures it */
    {"decode", "Decoding step", "Launches and small GEMMs as a language model's decoding makes them.",
     "decode.", "No decoding step was measured in this run: gpuvet run --case decode.step"},
    {"rounds", "Rounds in order", "Each round is a fresh process. A slope is drift; a step is somebody else.",
     NULL, "No primary series has three rounds or more."},
    {"topology", "The node", "Where the GPUs sit.", NULL, NULL},
    {"doctor", "Doctor", "What was found about the set-up of this node.", NULL, NULL},
    {"history", "History", "The same series over many runs.", NULL, NULL},
};
enum { N_SECTIONS = sizeof sections / sizeof *sections };

/* ---- why a section is empty ---- */

/* What the run itself says of the section's cases: skipped, failed, too few values. */
static bool told_reason(const struct report *r, const char *cases, struct text *why) {
    const struct strings *skips = &r->after_records.skips;
    for (size_t i = 0; i < skips->count; i++)
        if (text_starts(skips->items[i], cases)) {
            text_addf(why, "Skipped. %s", skips->items[i]);
            return true;
        }
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct series *s = r->rows[i].series;
        if (!text_starts(r->rows[i].bench, cases) || r->rows[i].after.n_rounds > 0)
            continue;
        if (s->bad_reason != NULL || s->skip_reason != NULL) {
            text_addf(why, "%s: %s", r->rows[i].label,
                      s->bad_reason != NULL ? s->bad_reason : s->skip_reason);
            return true;
        }
    }
    return false;
}

static void add_empty(const struct report *r, const struct section *s, struct text *out) {
    struct text why = {0};
    if (strcmp(s->id, "forest") == 0)
        text_addf(&why, "Nothing is compared: %s.",
                  r->in->comparison != NULL      ? "no primary series has a partner on the other side"
                  : r->in->no_comparison != NULL ? r->in->no_comparison
                                                 : "there is no run before");
    else if (s->cases == NULL || !told_reason(r, s->cases, &why))
        text_add(&why, s->without);
    text_add(out, "<p class=empty>");
    escape_html(out, text_string(&why));
    text_add(out, "</p>\n");
    text_free(&why);
}

/* ---- limits ---- */

static void add_limit_row(const struct row *row, struct text *out) {
    double share = row_share(row);
    text_add(out, "<tr><td>");
    escape_html(out, row->label);
    text_add(out, "</td>");
    html_cell(out, row->after.middle, 4);
    html_cell(out, row->limit, 4);
    text_add(out, "<td>");
    escape_html(out, row->unit);
    text_addf(
        out,
        "</td><td class=n data-v=\"%.6g\">%.0f %%</td><td class=meter><i><b style=\"width:%.1f%%\"></b></i></td></tr>\n",
        share, share, fmin(fmax(share, 0), 100));
}

static bool add_limits(const struct report *r, struct text *out) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct row *row = &r->rows[i];
        if (!row->primary || !isfinite(row_share(row)))
            continue;
        if (n++ == 0)
            text_add(
                out,
                "<div class=scroll><table class=sort><thead><tr><th>series</th><th class=n>figure</th>"
                "<th class=n>limit</th><th>unit</th><th class=n>of limit</th><th></th></tr></thead><tbody>\n");
        add_limit_row(row, out);
    }
    if (n == 0)
        text_add(out, "<p class=empty>No primary series of this run has a known physical limit.</p>\n");
    else
        text_add(out, "</tbody></table></div>\n");
    return true;
}

/* ---- doctor ---- */

static void add_finding(const js *one, struct text *out) {
    const char *severity = js_get_string(one, "severity", "info");
    const char *kind = strcmp(severity, "fail") == 0   ? "bad"
                       : strcmp(severity, "warn") == 0 ? "unsure"
                                                       : "plain";
    const js *evidence = js_get(one, "evidence");
    const js *remedy = js_get(one, "remedy");
    text_addf(out, "<article class=finding><h3><span class=\"pill %s\">", kind);
    escape_html(out, severity);
    text_add(out, "</span> ");
    escape_html(out, js_get_string(one, "title", "?"));
    text_add(out, "</h3><p><code>");
    escape_html(out, js_get_string(one, "id", "?"));
    text_add(out, "</code> ");
    escape_html(out, js_get_string(one, "cause", ""));
    text_add(out, "</p>");
    for (size_t i = 0; i < js_length(evidence) && i < 20; i++) {
        char *value = js_text(js_get(js_at(evidence, i), "value"));
        text_add(out, i == 0 ? "<pre>" : "\n");
        escape_html(out, js_get_string(js_at(evidence, i), "path", "?"));
        text_add(out, ": ");
        escape_html(out, js_string(js_get(js_at(evidence, i), "value"), value));
        free(value);
    }
    text_add(out, js_length(evidence) > 0 ? "</pre>" : "");
    for (size_t i = 0; i < js_length(remedy) && i < 40; i++) {
        text_add(out, i == 0 ? "<p>Remedy:</p><pre>" : "\n");
        escape_html(out, js_string(js_at(remedy, i), ""));
    }
    text_add(out, js_length(remedy) > 0 ? "</pre></article>\n" : "</article>\n");
}

static void add_doctor(const struct report *r, struct text *out) {
    size_t n = js_length(r->newest->findings);
    if (n == 0)
        text_add(out, "<p class=empty>This run holds no finding. To ask now: gpuvet doctor</p>\n");
    for (size_t i = 0; i < n && i < 100; i++)
        add_finding(js_at(r->newest->findings, i), out);
}

/* ---- all ---- */

/* Of the sections that hold nothing but figures. */
static bool is_empty(const struct report *r, const struct section *s) {
    static const char *const own[] = {"limits", "topology", "doctor", "history"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(s->id, own[i]) == 0)
            return false;
    for (size_t i = 0; i < r->n_plots; i++)
        if (strcmp(r->plots[i].section, s->id) == 0)
            return false;
    return true;
}

static bool is_left_out(const struct report *r, const struct section *s) {
    struct text why = {0};
    bool out = s->cases != NULL && s->without == NULL && is_empty(r, s) && !told_reason(r, s->cases, &why);
    text_free(&why);
    return out;
}

static void add_navigation(const struct report *r, struct text *out) {
    text_add(out, "<nav><a href=\"#verdict\">Verdict</a>");
    for (size_t i = 0; i < N_SECTIONS; i++)
        if (!is_left_out(r, &sections[i]))
            text_addf(out, "<a href=\"#%s\">%s</a>", sections[i].id, sections[i].title);
    text_add(out, "<a href=\"#numbers\">Every number</a><a href=\"#runs\">Runs</a></nav>\n");
}

static void add_round_table(const struct report *r, struct text *out) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct series *s = run_find(r->newest, r->rows[i].key);
        if (s == NULL || s->n_values < 2)
            continue;
        if (n++ == 0)
            text_add(
                out,
                "<details><summary>every round's value</summary><div class=scroll><table class=sort><thead><tr>"
                "<th>series</th><th class=n>n</th><th>course</th><th>unit</th><th>values in the order of rounds</th>"
                "</tr></thead><tbody>\n");
        text_add(out, "<tr><td>");
        escape_html(out, r->rows[i].label);
        text_addf(out, "</td><td class=n>%zu</td><td>", s->n_values);
        html_spark(out, s->values, s->n_values);
        text_add(out, "</td><td>");
        escape_html(out, s->unit);
        text_add(out, "</td><td class=values>");
        for (size_t k = 0; k < s->n_values && k < 256; k++)
            text_addf(out, "%s%.4g", k > 0 ? " " : "", s->values[k]);
        text_add(out, "</td></tr>\n");
    }
    text_add(out, n > 0 ? "</tbody></table></div></details>\n" : "");
}

void html_sections(const struct report *r, struct text *out) {
    add_navigation(r, out);
    for (size_t i = 0; i < N_SECTIONS; i++) {
        const struct section *s = &sections[i];
        if (is_left_out(r, s))
            continue;
        text_addf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", s->id, s->title);
        if (!is_empty(r, s))
            text_addf(out, "<p class=intro>%s</p>\n", s->intro);
        if (strcmp(s->id, "limits") == 0)
            add_limits(r, out);
        else if (strcmp(s->id, "topology") == 0)
            html_topology(r, out);
        else if (strcmp(s->id, "doctor") == 0)
            add_doctor(r, out);
        else if (strcmp(s->id, "history") == 0)
            html_history(r, out);
        else if (!html_figures(r, s->id, out))
            add_empty(r, s, out);
        if (strcmp(s->id, "rounds") == 0)
            add_round_table(r, out);
        if (strcmp(s->id, "places") == 0)
            html_places(r, out);
        text_add(out, "</section>\n");
    }
}
