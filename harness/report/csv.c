/* SPDX-License-Identifier: Apache-2.0 */
/* Every number, for spreadsheets: one row a series, and one row a round. */
#include "report/escape.h"
#include "report/parts.h"

#include <math.h>

static void number(struct text *out, double value) {
    if (isfinite(value))
        text_addf(out, ",%.10g", value);
    else
        text_add(out, ",");
}

static void field(struct text *out, const char *value) {
    text_add(out, ",");
    escape_csv(out, value);
}

void csv_results(const struct report *r, struct text *out) {
    text_add(
        out,
        "key,label,case,metric,target,class,unit,better,before,before_low,before_high,before_runs,"
        "before_rounds,after,after_low,after_high,after_runs,after_rounds,after_interval,ratio,ratio_low,"
        "ratio_high,p_adjusted,delta,verdict,reason,limit,percent_of_limit,failed_records,skipped_records,"
        "skip_reason\r\n");
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct row *row = &r->rows[i];
        const struct point *sides[] = {&row->before, &row->after};
        escape_csv(out, row->key);
        field(out, row->label);
        field(out, row->bench);
        field(out, row->parts.metric);
        field(out, row->parts.target);
        field(out, row->primary ? "primary" : "descriptive");
        field(out, row->unit);
        field(out, row->higher_is_better ? "higher" : "lower");
        for (size_t k = 0; k < 2; k++) {
            number(out, sides[k]->middle);
            number(out, sides[k]->low);
            number(out, sides[k]->high);
            text_addf(out, ",%zu,%zu", sides[k]->n_runs, sides[k]->n_rounds);
        }
        field(out, row->after.over_rounds     ? "95 % over rounds"
                   : isfinite(row->after.low) ? "one round's samples"
                                              : "");
        number(out, row_judged(row, "ratio"));
        number(out, row_judged(row, "low"));
        number(out, row_judged(row, "high"));
        number(out, row_judged(row, "p_adjusted"));
        number(out, row_judged(row, "delta"));
        field(out, row_verdict(row));
        field(out, js_get_string(row->verdict, "reason", ""));
        number(out, row->limit);
        number(out, row_share(row));
        text_addf(out, ",%zu,%zu", row->series->n_bad, row->series->n_skip);
        field(out, row->series->skip_reason);
        text_add(out, "\r\n");
    }
}

static void add_rounds(const struct run *runs, size_t n, const char *side, struct text *out) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < runs[i].n_series; k++) {
            const struct series *s = &runs[i].series[k];
            for (size_t v = 0; v < s->n_values; v++) {
                text_add(out, side);
                field(out, runs[i].path);
                field(out, s->key);
                field(out, s->unit);
                text_addf(out, ",%d", s->rounds[v]);
                number(out, s->values[v]);
                text_add(out, "\r\n");
            }
        }
}

void csv_rounds(const struct report *r, struct text *out) {
    text_add(out, "side,run,key,unit,round,value\r\n");
    add_rounds(r->in->before, r->in->n_before, "before", out);
    add_rounds(r->in->after, r->in->n_after, "after", out);
}
