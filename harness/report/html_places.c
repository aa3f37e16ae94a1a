/* SPDX-License-Identifier: Apache-2.0 */
/* What a container costs over its host, and why. */
#include "report/escape.h"
#include "report/parts.h"

#include <math.h>
#include <string.h>

static void add_row(const js *row, struct text *out) {
    const char *verdict = js_get_string(row, "verdict", "");
    text_add(out, "<tr><td>");
    escape_html(out, js_get_string(row, "label", "?"));
    text_add(out, "</td>");
    html_cell(out, js_get_number(row, "here", NAN), 4);
    html_cell(out, js_get_number(row, "there", NAN), 4);
    text_add(out, "<td>");
    escape_html(out, js_get_string(row, "unit", ""));
    text_add(out, "</td>");
    html_change_cell(out, js_get_number(row, "ratio", NAN));
    text_add(out, "<td class=n>");
    html_change(out, js_get_number(row, "low", NAN));
    text_add(out, " … ");
    html_change(out, js_get_number(row, "high", NAN));
    text_addf(out, "</td><td><span class=\"pill %s\">",
              strcmp(verdict, "regressed") == 0   ? "bad"
              : strcmp(verdict, "improved") == 0  ? "good"
              : strcmp(verdict, "undecided") == 0 ? "unsure"
                                                  : "plain");
    escape_html(out, verdict);
    text_add(out, "</span></td><td>");
    escape_html(out, js_get_string(row, "cause", js_get_string(row, "reason", "")));
    text_add(out, "</td></tr>\n");
}

static void add_place(const js *place, struct text *out) {
    const js *rows = js_get(place, "series");
    const js *differs = js_get(place, "differs");
    text_add(out, "<details><summary>");
    escape_html(out, js_get_string(place, "target", "?"));
    text_addf(out,
              ": every figure, and what may explain a gap</summary><p class=caption>n = %zu rounds of both.",
              (size_t)js_get_int(place, "rounds", 0));
    for (size_t i = 0; i < js_length(differs) && i < 100; i++) {
        text_add(out, i == 0 ? " What differs: " : "; ");
        escape_html(out, js_string(js_at(differs, i), ""));
    }
    text_add(
        out,
        "</p><div class=scroll><table class=sort><thead><tr><th>series</th><th class=n>first place</th>"
        "<th class=n>there</th><th>unit</th><th class=n>change</th><th class=n>95 % interval</th><th>verdict</th>"
        "<th>cause</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < js_length(rows) && i < 5000; i++)
        add_row(js_at(rows, i), out);
    text_add(out, "</tbody></table></div></details>\n");
}

void html_places(const struct report *r, struct text *out) {
    for (size_t i = 0; i < js_length(r->in->places); i++)
        add_place(js_at(r->in->places, i), out);
}
