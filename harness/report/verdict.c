/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of the whole, in one sentence. */
#include "report/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t new_failures(const js *comparison) {
    const js *list = js_get(comparison, "failures");
    size_t n = 0;
    for (size_t i = 0; i < js_length(list); i++)
        n += js_get_bool(js_at(list, i), "before_too", false) ? 0 : 1;
    return n;
}

static size_t bad_findings(const struct run *run) {
    size_t n = 0;
    for (size_t i = 0; i < js_length(run->findings); i++)
        n += strcmp(js_get_string(js_at(run->findings, i), "severity", ""), "fail") == 0 ? 1 : 0;
    return n;
}

static int64_t count(const struct report *r, const char *verdict) {
    return js_get_int(js_get(r->in->comparison, "verdicts"), verdict, 0);
}

int report_status(const struct report *r) {
    int64_t compared = js_get_int(r->in->comparison, "exit_status", 0);
    size_t failed = r->in->comparison == NULL ? r->newest->n_failures : 0;
    if (compared == 2)
        return 2;
    if (compared == 1 || failed > 0 || bad_findings(r->newest) > 0)
        return 1;
    return r->in->strict && count(r, "undecided") > 0 ? 3 : 0;
}

/* The judged row whose change is largest. */
static const struct row *largest(const struct report *r, const char *verdict) {
    const struct row *found = NULL;
    for (size_t i = 0; i < r->n_rows; i++)
        if (strcmp(row_verdict(&r->rows[i]), verdict) == 0 &&
            (found == NULL ||
             fabs(log(row_judged(&r->rows[i], "ratio"))) > fabs(log(row_judged(found, "ratio")))))
            found = &r->rows[i];
    return found;
}

static void add_largest(const struct report *r, const char *verdict, struct text *out) {
    const struct row *row = largest(r, verdict);
    if (row == NULL || !isfinite(row_judged(row, "ratio")))
        return;
    text_addf(out, "%s %s, %+.2f %%", count(r, verdict) > 1 ? "; most of all" : ":", row->label,
              100 * (row_judged(row, "ratio") - 1));
    if (isfinite(row_judged(row, "low")))
        text_addf(out, " [%+.2f, %+.2f]", 100 * (row_judged(row, "low") - 1),
                  100 * (row_judged(row, "high") - 1));
}

static const char *plural(int64_t n) {
    return n == 1 ? "" : "s";
}

/* "lxc:129 against host: 1 regressed, 5 same" */
static void add_places(const struct report *r, struct text *out) {
    static const char *const verdicts[] = {"regressed", "improved", "same", "undecided"};
    for (size_t i = 0; i < js_length(r->in->places) && i < 4; i++) {
        const js *place = js_at(r->in->places, i);
        const js *rows = js_get(place, "series");
        bool any = false;
        for (size_t v = 0; v < 4; v++) {
            size_t n = 0;
            for (size_t k = 0; k < js_length(rows); k++)
                n += strcmp(js_get_string(js_at(rows, k), "verdict", ""), verdicts[v]) == 0 ? 1 : 0;
            if (n > 0 && !any)
                text_addf(out, " %s against %s: ", js_get_string(place, "target", "?"),
                          js_get_string(place, "against", "?"));
            if (n > 0)
                text_addf(out, "%s%zu %s", any ? ", " : "", n, verdicts[v]);
            any = any || n > 0;
        }
        text_add(out, any ? "." : "");
    }
}

static const char *alone(const struct report *r, struct text *out) {
    size_t measured = 0;
    for (size_t i = 0; i < r->n_rows; i++)
        measured += r->rows[i].after.n_rounds > 0 ? 1 : 0;
    if (bad_findings(r->newest) > 0) {
        text_addf(out, "doctor found %zu fault%s. ", bad_findings(r->newest),
                  plural((int64_t)bad_findings(r->newest)));
    }
    if (r->newest->n_failures > 0) {
        const struct run_failure *first = &r->newest->failures[0];
        char *label = series_label(first->key, js_get(r->newest->header, "gpus"));
        text_addf(
            out,
            "%zu record%s failed, hung or ended in an error, the first %s (%s: %s); %zu series were measured.",
            r->newest->n_failures, plural((int64_t)r->newest->n_failures), label, first->outcome,
            first->reason, measured);
        free(label);
        return "bad";
    }
    text_addf(out, "%zu series were measured, each check passed. There is nothing before to judge by: %s.",
              measured, r->in->no_comparison != NULL ? r->in->no_comparison : "there is no run before it");
    return bad_findings(r->newest) > 0 ? "bad" : "plain";
}

static const char *bad_news(const struct report *r, struct text *out) {
    int64_t regressed = count(r, "regressed");
    size_t worse = js_length(js_get(r->in->comparison, "changed_for_the_worse"));
    size_t failed = new_failures(r->in->comparison);
    int64_t family = js_get_int(js_get(r->in->comparison, "family"), "size", 0);
    if (regressed > 0) {
        text_addf(out, "%" PRId64 " of %" PRId64 " judged series regressed", regressed, family);
        add_largest(r, "regressed", out);
        text_add(out, ".");
    }
    if (worse > 0)
        text_addf(out, "%s%zu fact%s changed for the worse: %s%s.", out->length > 0 ? " " : "", worse,
                  plural((int64_t)worse),
                  js_get_string(js_at(js_get(r->in->comparison, "changed_for_the_worse"), 0), "text", "?"),
                  worse > 1 ? " and others" : "");
    if (failed > 0)
        text_addf(out, "%s%zu item%s failed that did not fail before.", out->length > 0 ? " " : "", failed,
                  plural((int64_t)failed));
    if (bad_findings(r->newest) > 0)
        text_addf(out, "%sdoctor found %zu fault%s.", out->length > 0 ? " " : "", bad_findings(r->newest),
                  plural((int64_t)bad_findings(r->newest)));
    return out->length > 0 ? "bad" : NULL;
}

static const char *compared(const struct report *r, struct text *out) {
    int64_t family = js_get_int(js_get(r->in->comparison, "family"), "size", 0);
    int64_t undecided = count(r, "undecided");
    int64_t improved = count(r, "improved");
    if (bad_news(r, out) != NULL)
        return "bad";
    if (report_status(r) == 2) {
        const js *first = js_at(js_get(r->in->comparison, "series"), 0);
        text_addf(out, "Nothing was comparable: %s.",
                  js_get_string(first, "reason", "no series on both sides"));
        return "bad";
    }
    text_add(out, "Nothing regressed");
    if (improved > 0) {
        text_addf(out, ", and %" PRId64 " of %" PRId64 " judged series improved", improved, family);
        add_largest(r, "improved", out);
    }
    if (undecided > 0)
        text_addf(out, "%s %" PRId64 " of %" PRId64 " judged series stay undecided.",
                  improved > 0 ? "." : ", but", undecided, family);
    else
        text_addf(out, "%s", improved > 0 ? "." : ": all judged series are the same, within what matters.");
    return undecided > 0 && improved == 0 ? "unsure" : "good";
}

const char *report_sentence(const struct report *r, struct text *out) {
    const char *kind = r->in->comparison == NULL ? alone(r, out) : compared(r, out);
    add_places(r, out);
    return kind;
}
