/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus' text format, for node_exporter's textfile collector. */
#include "report/escape.h"
#include "report/parts.h"

#include <math.h>

static void head(struct text *out, const char *name, const char *help) {
    text_addf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void label(struct text *out, const char *separator, const char *name, const char *value) {
    text_addf(out, "%s%s=\"", separator, name);
    escape_prometheus(out, value);
    text_add(out, "\"");
}

static void labels(struct text *out, const char *metric, const struct row *row) {
    text_add(out, metric);
    label(out, "{", "case", row->bench);
    label(out, ",", "metric", row->parts.metric);
    label(out, ",", "target", row->parts.target);
    label(out, ",", "unit", row->unit);
    label(out, ",", "class", row->primary ? "primary" : "descriptive");
    label(out, ",", "key", row->key);
}

enum what { VALUE, LOW, HIGH, LIMIT, RATIO, RATIO_LOW, RATIO_HIGH };

static double pick(const struct row *row, enum what what) {
    switch (what) {
    case VALUE:
        return row->after.middle;
    case LOW:
        return row->after.over_rounds ? row->after.low : NAN;
    case HIGH:
        return row->after.over_rounds ? row->after.high : NAN;
    case LIMIT:
        return row->limit;
    case RATIO:
        return row_judged(row, "ratio");
    case RATIO_LOW:
        return row_judged(row, "low");
    case RATIO_HIGH:
        return row_judged(row, "high");
    }
    return NAN;
}

static void series_metrics(const struct report *r, struct text *out) {
    static const struct {
        enum what what;
        const char *name, *help;
    } rows[] = {
        {VALUE, "gpuvet_series_value", "Geometric mean over rounds, in the label's unit."},
        {LOW, "gpuvet_series_value_low", "Lower end of the 95 % interval over rounds."},
        {HIGH, "gpuvet_series_value_high", "Upper end of the 95 % interval over rounds."},
        {LIMIT, "gpuvet_series_bound", "Physical limit, in the label's unit."},
        {RATIO, "gpuvet_series_change_ratio", "After over before."},
        {RATIO_LOW, "gpuvet_series_change_low_ratio", "Lower end of the 95 % interval of the change."},
        {RATIO_HIGH, "gpuvet_series_change_high_ratio", "Upper end of the 95 % interval of the change."},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        bool any = false;
        for (size_t i = 0; i < r->n_rows; i++) {
            double value = pick(&r->rows[i], rows[k].what);
            if (!isfinite(value) || r->rows[i].only_before)
                continue;
            if (!any)
                head(out, rows[k].name, rows[k].help);
            any = true;
            labels(out, rows[k].name, &r->rows[i]);
            text_addf(out, "} %.10g\n", value);
        }
    }
}

static void verdict_metrics(const struct report *r, struct text *out) {
    if (r->in->comparison == NULL)
        return;
    head(out, "gpuvet_series_verdict", "1 for the verdict that the series got.");
    for (size_t i = 0; i < r->n_rows; i++) {
        if (row_verdict(&r->rows[i])[0] == '\0')
            continue;
        labels(out, "gpuvet_series_verdict", &r->rows[i]);
        label(out, ",", "verdict", row_verdict(&r->rows[i]));
        text_add(out, "} 1\n");
    }
    head(out, "gpuvet_verdicts", "How many series got each verdict.");
    const js *verdicts = js_get(r->in->comparison, "verdicts");
    for (struct js_member m = js_first(verdicts); m.key != NULL; m = js_next(verdicts, m)) {
        label(out, "gpuvet_verdicts{", "verdict", m.key);
        text_addf(out, "} %lld\n", (long long)js_int(m.value, 0));
    }
    head(out, "gpuvet_facts_changed_for_the_worse", "Facts that changed for the worse.");
    text_addf(out, "gpuvet_facts_changed_for_the_worse %zu\n",
              js_length(js_get(r->in->comparison, "changed_for_the_worse")));
}

void prom_metrics(const struct report *r, struct text *out) {
    const js *header = r->newest->header;
    const js *counts = js_get(r->newest->footer, "counts");
    head(out, "gpuvet_run", "1; the labels say which run this is.");
    label(out, "gpuvet_run{", "node", js_get_string(header, "node", ""));
    label(out, ",", "label", js_get_string(header, "label", ""));
    label(out, ",", "profile", js_get_string(header, "profile", ""));
    label(out, ",", "started", js_get_string(header, "started", ""));
    label(out, ",", "build_id", js_get_string(js_get(header, "tool"), "build_id", ""));
    text_add(out, "} 1\n");
    head(out, "gpuvet_exit_status",
         "0 all well, 1 a regression, failure or fault, 2 nothing comparable, 3 undecided.");
    text_addf(out, "gpuvet_exit_status %d\n", report_status(r));
    head(out, "gpuvet_run_complete", "1 when the run came to its end.");
    text_addf(out, "gpuvet_run_complete %d\n", r->newest->interrupted ? 0 : 1);
    if (counts != NULL)
        head(out, "gpuvet_run_records", "Records of the run by outcome.");
    for (struct js_member m = js_first(counts); m.key != NULL; m = js_next(counts, m)) {
        label(out, "gpuvet_run_records{", "outcome", m.key);
        text_addf(out, "} %lld\n", (long long)js_int(m.value, 0));
    }
    series_metrics(r, out);
    verdict_metrics(r, out);
}
