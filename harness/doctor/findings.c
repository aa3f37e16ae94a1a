/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting findings, and their order. */
#include "base/mem.h"
#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *format_text(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    size_t size = length < 0 ? 1 : (size_t)length + 1;
    char *out = mem_zeroed(size, 1);
    vsnprintf(out, size, format, arguments);
    return out;
}

struct finding *finding_add(struct findings *out, const char *id, enum severity severity, const char *title,
                            ...) {
    const struct rule *rule = rule_find(id);
    if (rule == NULL)
        abort(); /* a rule's own mistake, found by the test that runs every rule */
    va_list arguments;
    va_start(arguments, title);
    char *text = format_text(title, arguments);
    va_end(arguments);
    out->items = mem_grow(out->items, out->count, &out->capacity, sizeof *out->items);
    struct finding *finding = &out->items[out->count++];
    *finding = (struct finding){.rule = rule, .severity = severity, .title = text};
    return finding;
}

/* A line of a megabyte is no evidence that anybody reads. */
static void cut(char *text) {
    enum { MOST = 2000 };
    static const char more[] = " …";
    if (strlen(text) <= MOST)
        return;
    size_t at = MOST - sizeof more;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80) /* not inside of a character */
        at--;
    memcpy(text + at, more, sizeof more);
}

void finding_evidence(struct finding *finding, const char *path, const char *value, ...) {
    va_list arguments;
    va_start(arguments, value);
    char *text = format_text(value, arguments);
    va_end(arguments);
    cut(text);
    finding->evidence = mem_grow(finding->evidence, finding->n_evidence, &finding->evidence_capacity,
                                 sizeof *finding->evidence);
    finding->evidence[finding->n_evidence++] =
        (struct evidence){.path = mem_copy_string(path), .value = text};
}

void finding_cause(struct finding *finding, const char *cause, ...) {
    va_list arguments;
    va_start(arguments, cause);
    free(finding->cause);
    finding->cause = format_text(cause, arguments);
    va_end(arguments);
}

void finding_remedy(struct finding *finding, const char *line, ...) {
    va_list arguments;
    va_start(arguments, line);
    char *text = format_text(line, arguments);
    va_end(arguments);
    strings_add(&finding->remedy, text);
    free(text);
}

void finding_follows(struct finding *finding, const char *id) {
    free(finding->consequence_of);
    finding->consequence_of = mem_copy_string(id);
}

bool findings_has(const struct findings *findings, const char *pattern, enum severity least) {
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].severity >= least && text_matches(pattern, findings->items[i].rule->id))
            return true;
    return false;
}

/* What takes one GPU away, without an error: it does not explain a cuInit that fails while others are left.
 */
static bool loses_one_gpu(const struct finding *finding) {
    static const char *const ids[] = {"nodes.gpu-missing", "nodes.minor-unknown", "nodes.minor-wrong",
                                      "cgroup.gpu-denied", "gpu.lost"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (strcmp(finding->rule->id, ids[i]) == 0)
            return true;
    return false;
}

const struct finding *findings_cuda_cause(const struct findings *findings) {
    const struct finding *one_gpu = NULL;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->severity != SEVERITY_FAIL || finding->rule->area != AREA_CUDA ||
            finding->consequence_of != NULL)
            continue;
        if (!loses_one_gpu(finding))
            return finding;
        one_gpu = one_gpu == NULL ? finding : one_gpu;
    }
    return one_gpu;
}

enum severity findings_worst(const struct findings *findings) {
    enum severity worst = SEVERITY_INFO;
    for (size_t i = 0; i < findings->count; i++)
        worst = findings->items[i].severity > worst ? findings->items[i].severity : worst;
    return worst;
}

static void free_finding(struct finding *finding) {
    for (size_t i = 0; i < finding->n_evidence; i++) {
        free(finding->evidence[i].path);
        free(finding->evidence[i].value);
    }
    free(finding->evidence);
    free(finding->title);
    free(finding->cause);
    free(finding->consequence_of);
    strings_free(&finding->remedy);
}

void findings_free(struct findings *findings) {
    for (size_t i = 0; i < findings->count; i++)
        free_finding(&findings->items[i]);
    free(findings->items);
    *findings = (struct findings){0};
}

/* Whether a family's findings may explain that CUDA fails here: those up to cuda (rules.def). */
static bool explains(const struct rule *rule) {
    for (size_t f = 0; f < rule_families_count; f++) {
        if (strncmp(rule->id, rule_families[f]->name, strlen(rule_families[f]->name)) == 0 &&
            rule->id[strlen(rule_families[f]->name)] == '.')
            return true;
        if (strcmp(rule_families[f]->name, "cuda") == 0)
            break;
    }
    return false;
}

/* Causes of what fails here, then what loses a GPU without failing, then other containers, consequences last.
 */
static int rank(const struct finding *finding) {
    if (finding->consequence_of != NULL)
        return 3;
    if (!explains(finding->rule))
        return 2;
    return loses_one_gpu(finding) ? 1 : 0;
}

/* Whether `b` must stand before `a`: it is more severe, or as severe and of a deeper rank. */
static bool stands_before(const struct finding *b, const struct finding *a) {
    if (a->severity != b->severity)
        return b->severity > a->severity;
    return rank(b) < rank(a);
}

void doctor_judge(const struct scene *scene, struct findings *out) {
    *out = (struct findings){0};
    for (size_t f = 0; f < rule_families_count; f++)
        for (const struct rule *rule = rule_families[f]->rules; rule->id != NULL; rule++)
            if (rule->check != NULL)
                rule->check(scene, out);
    /* Stable, since equals keep the order of the families; a handful, so that insertion is enough. */
    for (size_t i = 1; i < out->count; i++)
        for (size_t j = i; j > 0 && stands_before(&out->items[j], &out->items[j - 1]); j--) {
            struct finding swap = out->items[j];
            out->items[j] = out->items[j - 1];
            out->items[j - 1] = swap;
        }
}
