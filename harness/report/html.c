/* SPDX-License-Identifier: Apache-2.0 */
/* index.html: one file that needs nothing else, not even its script. */
#include "base/hash.h"
#include "report/embedded.h"
#include "report/escape.h"
#include "report/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- small things ---- */

void html_number(struct text *out, double value, int digits) {
    if (isfinite(value))
        text_addf(out, "%.*g", digits, value);
    else
        text_add(out, "–");
}

void html_cell(struct text *out, double value, int digits) {
    if (isfinite(value))
        text_addf(out, "<td class=n data-v=\"%.10g\">", value);
    else
        text_add(out, "<td class=n>");
    html_number(out, value, digits);
    text_add(out, "</td>");
}

void html_change(struct text *out, double ratio) {
    double change = 100 * (ratio - 1);
    if (!isfinite(change))
        text_add(out, "–");
    else if (ratio >= 10)
        text_addf(out, "×%.3g", ratio);
    else
        text_addf(out, "%s%.2f %%", change < 0 ? "−" : "+", fabs(change));
}

void html_change_cell(struct text *out, double ratio) {
    if (isfinite(ratio))
        text_addf(out, "<td class=n data-v=\"%.10g\">", ratio);
    else
        text_add(out, "<td class=n>");
    html_change(out, ratio);
    text_add(out, "</td>");
}

void html_key(struct text *out, const char *key) {
    text_add(out, "<code class=key>");
    escape_html(out, key);
    text_add(out, "</code>");
}

void html_spark(struct text *out, const double *values, size_t n) {
    enum { WIDTH = 120, HEIGHT = 22, MOST = 400 };
    double least = INFINITY;
    double most = -INFINITY;
    size_t step = n / MOST + 1;
    for (size_t i = 0; i < n; i += step) {
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    /* What varies by less than a per cent shall look flat. */
    double middle = (least + most) / 2;
    double span = fmax(most - least, 0.01 * fabs(middle));
    if (n < 2 || !isfinite(middle) || !isfinite(span))
        return;
    text_addf(out, "<svg class=spark viewBox=\"0 0 %d %d\" aria-hidden=\"true\"><polyline points=\"", WIDTH,
              HEIGHT);
    for (size_t i = 0; i < n; i += step)
        text_addf(out, "%.3g,%.3g ", 2 + (WIDTH - 4) * (double)i / (double)(n - 1),
                  HEIGHT / 2.0 - (HEIGHT - 4) * ((values[i] - middle) / fmax(span, 1e-300)));
    text_add(out, "\"/></svg>");
}

bool html_figures(const struct report *r, const char *section, struct text *out) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_plots; i++) {
        const struct plot *p = &r->plots[i];
        if (strcmp(p->section, section) != 0)
            continue;
        text_add(out, n++ == 0 ? "<div class=figures>\n<figure>" : "<figure>");
        text_add(out, "<figcaption><b>");
        escape_html(out, p->title);
        text_add(out, "</b></figcaption>");
        if (p->svg != NULL) {
            text_add(out, "<div class=plot>");
            text_add(out, p->svg);
            text_add(out, "</div>");
        } else {
            text_add(out, "<p class=empty>Not drawn: ");
            escape_html(out, r->gnuplot_absent
                                 ? "gnuplot is not installed (apt-get install gnuplot-nox, then report again)"
                                 : p->why);
            text_add(out, "</p>");
        }
        text_add(out, "<p class=caption>");
        escape_html(out, p->caption);
        text_addf(out, " <span class=files><a href=\"plots/%s.tsv\">data</a> <a href=\"plots/%s\">script</a>",
                  p->name, p->script);
        if (p->svg != NULL)
            text_addf(out, " <a href=\"plots/%s.svg\">SVG</a> <a href=\"plots/%s.png\">PNG</a>", p->name,
                      p->name);
        text_add(out, "</span></p></figure>\n");
    }
    text_add(out, n > 0 ? "</div>\n" : "");
    return n > 0;
}

/* ---- the frame ---- */

/* Of the script, so that no other script can run even if one came to stand in the page. */
static void add_script_hash(const char *script, struct text *out) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char hex[SHA256_HEX_SIZE];
    unsigned char bytes[33] = {0};
    sha256_hex(script, strlen(script), hex);
    for (size_t i = 0; i < 32; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    for (size_t i = 0; i < 33; i += 3) {
        unsigned long v = ((unsigned long)bytes[i] << 16) | ((unsigned long)bytes[i + 1] << 8) | bytes[i + 2];
        for (int k = 3; k >= 0; k--)
            if (!(i == 30 && k == 0))
                text_addf(out, "%c", digits[(v >> (6 * k)) & 63]);
    }
    text_add(out, "=");
}

static void add_head(const struct report *r, const char *script, struct text *out) {
    text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                  "'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; script-src 'sha256-");
    add_script_hash(script, out);
    text_add(
        out,
        "'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>gpuvet ");
    escape_html(out, js_get_string(r->newest->header, "node", ""));
    text_add(out, "</title>\n<style>\n");
    text_add(out, embedded_text("page.css"));
    text_add(out, "</style>\n</head>\n<body>\n");
}

void html_page(struct report *r, struct text *out) {
    const char *script = embedded_text("page.js");
    add_head(r, script, out);
    html_first_screen(r, out);
    html_sections(r, out);
    html_tables(r, out);
    text_add(out, "<footer>gpuvet ");
    escape_html(out, js_get_string(js_get(r->newest->header, "tool"), "version", ""));
    text_add(
        out,
        " · beside this page: <a href=\"summary.md\">summary.md</a> <a href=\"results.csv\">results.csv</a> "
        "<a href=\"rounds.csv\">rounds.csv</a> <a href=\"junit.xml\">junit.xml</a> "
        "<a href=\"metrics.prom\">metrics.prom</a> <a href=\"plots/\">plots/</a></footer>\n<script>");
    text_add(out, script);
    text_add(out, "</script>\n</body>\n</html>\n");
}
