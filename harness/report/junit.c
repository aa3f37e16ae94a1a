/* SPDX-License-Identifier: Apache-2.0 */
/* JUnit XML as GitLab and Jenkins read it (results/schema/junit.xsd): one test case a series, a fact, a
 * finding. */
#include "report/escape.h"
#include "report/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct suite {
    const char *name;
    struct text cases;
    size_t tests, failures, errors, skipped;
};

static void attribute(struct text *out, const char *name, const char *value) {
    text_addf(out, " %s=\"", name);
    escape_xml(out, value);
    text_add(out, "\"");
}

static void open_case(struct suite *s, const char *group, const char *name) {
    s->tests++;
    text_add(&s->cases, "    <testcase");
    attribute(&s->cases, "classname", group);
    attribute(&s->cases, "name", name);
    text_add(&s->cases, " time=\"0\">\n");
}

static void close_case(struct suite *s) {
    text_add(&s->cases, "    </testcase>\n");
}

static void say(struct suite *s, const char *element, const char *type, const char *message,
                const char *body) {
    s->failures += strcmp(element, "failure") == 0 ? 1 : 0;
    s->errors += strcmp(element, "error") == 0 ? 1 : 0;
    s->skipped += strcmp(element, "skipped") == 0 ? 1 : 0;
    text_addf(&s->cases, "      <%s", element);
    attribute(&s->cases, "message", message);
    if (type != NULL)
        attribute(&s->cases, "type", type);
    if (body == NULL) {
        text_add(&s->cases, "/>\n");
        return;
    }
    text_add(&s->cases, ">");
    escape_xml(&s->cases, body);
    text_addf(&s->cases, "</%s>\n", element);
}

static void figures(const struct row *row, struct text *out) {
    if (isfinite(row->before.middle))
        text_addf(out, "before %.6g %s, ", row->before.middle, row->unit);
    if (isfinite(row->after.middle))
        text_addf(out, "after %.6g %s", row->after.middle, row->unit);
    if (isfinite(row_judged(row, "ratio")))
        text_addf(out, ", %+.2f %%", 100 * (row_judged(row, "ratio") - 1));
    if (isfinite(row_judged(row, "low")))
        text_addf(out, " [%+.2f, %+.2f]", 100 * (row_judged(row, "low") - 1),
                  100 * (row_judged(row, "high") - 1));
    if (isfinite(row->limit))
        text_addf(out, ", limit %.6g %s", row->limit, row->unit);
}

/* How a failed record of the series counts: its check failed, or something broke. */
static const char *bad_kind(const struct row *row) {
    return text_starts(row->series->bad_reason, "fail") ? "failure" : "error";
}

/* What is no pass is never shown as one: undecided and not comparable are skips with their reason. */
static void add_series(struct suite *s, const struct report *r, const struct row *row) {
    struct text words = {0};
    struct text message = {0};
    const char *verdict = row_verdict(row);
    const char *reason = js_get_string(row->verdict, "reason", "");
    char *rest = series_label(row->key, js_get(r->newest->header, "gpus"));
    const char *name = strchr(rest, ' ') != NULL ? strchr(rest, ' ') + 1 : rest;
    figures(row, &words);
    open_case(s, row->bench, name);
    if (row->series->n_bad > 0 && !row->only_before) {
        say(s, bad_kind(row), "measurement", row->series->bad_reason, text_string(&words));
    } else if (strcmp(verdict, "regressed") == 0) {
        text_addf(&message, "regressed: %s", text_string(&words));
        say(s, "failure", "regressed", text_string(&message), row->key);
    } else if (strcmp(verdict, "undecided") == 0 || strcmp(verdict, "not comparable") == 0) {
        text_addf(&message, "%s: %s", verdict, reason);
        say(s, "skipped", NULL, text_string(&message), NULL);
    } else if (row->after.n_rounds == 0) {
        say(s, "skipped", NULL,
            row->series->skip_reason != NULL ? row->series->skip_reason : "not measured in this run", NULL);
    } else {
        text_add(&s->cases, "      <system-out>");
        escape_xml(&s->cases, text_string(&words));
        text_add(&s->cases, "</system-out>\n");
    }
    close_case(s);
    free(rest);
    text_free(&words);
    text_free(&message);
}

static void add_facts(struct suite *s, const struct report *r) {
    const js *worse = js_get(r->in->comparison, "changed_for_the_worse");
    for (size_t i = 0; i < js_length(worse); i++) {
        const js *one = js_at(worse, i);
        struct text message = {0};
        text_addf(&message, "%s: was %s, is %s", js_get_string(one, "text", "?"),
                  js_get_string(one, "before", "?"), js_get_string(one, "after", "?"));
        open_case(s, "facts", js_get_string(one, "key", "?"));
        say(s, "failure", "changed for the worse", text_string(&message), NULL);
        close_case(s);
        text_free(&message);
    }
}

static void add_findings(struct suite *s, const struct report *r) {
    for (size_t i = 0; i < js_length(r->newest->findings); i++) {
        const js *one = js_at(r->newest->findings, i);
        const char *title = js_get_string(one, "title", "");
        const char *severity = js_get_string(one, "severity", "info");
        open_case(s, "doctor", js_get_string(one, "id", "?"));
        if (strcmp(severity, "fail") == 0) {
            say(s, "failure", "doctor", title, js_get_string(one, "cause", ""));
        } else {
            text_addf(&s->cases, "      <system-out>");
            escape_xml(&s->cases, severity);
            text_add(&s->cases, ": ");
            escape_xml(&s->cases, title);
            text_add(&s->cases, "</system-out>\n");
        }
        close_case(s);
    }
}

static void write_suite(const struct suite *s, const struct report *r, struct text *out) {
    text_add(out, "  <testsuite");
    attribute(out, "name", s->name);
    attribute(out, "hostname", js_get_string(r->newest->header, "node", ""));
    /* Jenkins takes a stamp without its zone. */
    char stamp[20] = "";
    strncat(stamp, js_get_string(r->newest->header, "started", ""), 19);
    double ignored;
    bool plausible = strlen(stamp) == 19 && stamp[4] == '-' && stamp[10] == 'T' && stamp[13] == ':' &&
                     strspn(stamp, "0123456789-:T") == 19 &&
                     text_to_double((char[]){stamp[0], '\0'}, &ignored);
    attribute(out, "timestamp", plausible ? stamp : "1970-01-01T00:00:00");
    text_addf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"0\"", s->tests,
              s->failures, s->errors, s->skipped);
    text_add(out, ">\n");
    text_add(out, text_string(&s->cases));
    text_add(out, "  </testsuite>\n");
}

void junit_xml(const struct report *r, struct text *out) {
    struct suite series = {.name = "gpuvet series"};
    struct suite facts = {.name = "gpuvet facts"};
    struct suite doctor = {.name = "gpuvet doctor"};
    struct suite *all[] = {&series, &facts, &doctor};
    for (size_t i = 0; i < r->n_rows; i++)
        add_series(&series, r, &r->rows[i]);
    add_facts(&facts, r);
    add_findings(&doctor, r);
    text_addf(out,
              "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gpuvet\" tests=\"%zu\" "
              "failures=\"%zu\" errors=\"%zu\">\n",
              series.tests + facts.tests + doctor.tests, series.failures + facts.failures + doctor.failures,
              series.errors + facts.errors + doctor.errors);
    for (size_t i = 0; i < 3; i++) {
        write_suite(all[i], r, out);
        text_free(&all[i]->cases);
    }
    text_add(out, "</testsuites>\n");
}
