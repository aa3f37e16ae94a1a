/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as gpuvet.doctor/1 and as text. */
#include "doctor/doctor.h"

#include <stdlib.h>

static const char *verdict(const struct findings *findings) {
    static const char *const words[] = {"ok", "warn", "fail"};
    return words[findings_worst(findings)];
}

static const char *cause_of(const struct finding *finding) {
    return finding->cause != NULL ? finding->cause : finding->rule->cause;
}

static js *finding_json(const struct finding *finding) {
    js *out = js_new_object();
    js *evidence = js_new_array();
    js *remedy = js_new_array();
    js_set_string(out, "id", finding->rule->id);
    js_set_string(out, "area", area_name(finding->rule->area));
    js_set_string(out, "severity", severity_name(finding->severity));
    js_set_string(out, "title", finding->title);
    for (size_t i = 0; i < finding->n_evidence; i++) {
        js *one = js_new_object();
        js_set_string(one, "path", finding->evidence[i].path);
        js_set_string(one, "value", finding->evidence[i].value);
        js_append(evidence, one);
    }
    js_set(out, "evidence", evidence);
    js_set_string(out, "cause", cause_of(finding));
    for (size_t i = 0; i < finding->remedy.count; i++)
        js_append_string(remedy, finding->remedy.items[i]);
    js_set(out, "remedy", remedy);
    if (finding->consequence_of != NULL)
        js_set_string(out, "consequence_of", finding->consequence_of);
    return out;
}

js *findings_to_json(const struct findings *findings, const struct scene *scene) {
    js *out = js_new_object();
    js *list = js_new_array();
    js_set_string(out, "schema", "gpuvet.doctor/1");
    js_set_string(out, "verdict", verdict(findings));
    js_set_string(out, "where", scene->container ? "container" : "host");
    for (size_t i = 0; i < findings->count; i++)
        js_append(list, finding_json(&findings->items[i]));
    js_set(out, "findings", list);
    return out;
}

/* ---- for people ---- */

struct page {
    FILE *out;
    bool colour;
};

/* What a file of a container says goes to the terminal made harmless. */
static void print_line(const struct page *page, const char *before, const char *text) {
    char *safe = text_printable(text);
    fprintf(page->out, "%s%s\n", before, safe);
    free(safe);
}

static void print_finding(const struct page *page, const struct finding *finding) {
    static const char *const colours[] = {"\033[36m", "\033[33m", "\033[31m"};
    char *title = text_printable(finding->title);
    fprintf(page->out, "%s%s%s  %s  [%s]\n", page->colour ? colours[finding->severity] : "",
            severity_name(finding->severity), page->colour ? "\033[0m" : "", title, finding->rule->id);
    free(title);
    for (size_t i = 0; i < finding->n_evidence; i++) {
        char *path = text_printable(finding->evidence[i].path);
        char *value = text_printable(finding->evidence[i].value);
        fprintf(page->out, "      %s: %s\n", path, value);
        free(path);
        free(value);
    }
    if (finding->consequence_of != NULL)
        fprintf(page->out, "      follows from %s\n", finding->consequence_of);
    else if (finding->severity > SEVERITY_INFO)
        print_line(page, "      why: ", cause_of(finding));
    for (size_t i = 0; i < finding->remedy.count; i++)
        print_line(page, i == 0 ? "      do:  " : "           ", finding->remedy.items[i]);
}

void findings_print(const struct findings *findings, const struct scene *scene, bool colour, bool verbose,
                    FILE *out) {
    struct page page = {.out = out, .colour = colour};
    size_t count[3] = {0};
    for (size_t i = 0; i < findings->count; i++) {
        count[findings->items[i].severity]++;
        if (verbose || findings->items[i].severity > SEVERITY_INFO)
            print_finding(&page, &findings->items[i]);
    }
    fprintf(out, "%s: %s (%zu fail, %zu warn, %zu info%s)\n", scene->container ? "container" : "host",
            verdict(findings), count[2], count[1], count[0],
            count[0] > 0 && !verbose ? "; --verbose shows them" : "");
}
