/* SPDX-License-Identifier: Apache-2.0 */
#include "run/case.h"

#include <string.h>

#define CASE(file) extern const struct bench_case case_##file;
#include "bench/cases.def"
#undef CASE

const struct bench_case *const bench_cases[] = {
#define CASE(file) &case_##file,
#include "bench/cases.def"
#undef CASE
};
const size_t bench_cases_count = sizeof bench_cases / sizeof *bench_cases;

const struct bench_case *bench_find(const char *name) {
    for (size_t i = 0; i < bench_cases_count; i++)
        if (strcmp(bench_cases[i]->name, name) == 0)
            return bench_cases[i];
    return NULL;
}

const char *quantity_unit(enum quantity quantity) {
    switch (quantity) {
    case QUANTITY_TIME:
        return "us";
    case QUANTITY_LATENCY:
        return "ns";
    case QUANTITY_BANDWIDTH:
        return "GB/s";
    case QUANTITY_FREQUENCY:
        return "GHz";
    case QUANTITY_COUNT:
        break;
    }
    return "";
}

bool quantity_higher_is_better(enum quantity quantity) {
    return quantity != QUANTITY_TIME && quantity != QUANTITY_LATENCY;
}

static bool has_metric(const struct bench_case *bench, const char *name) {
    for (const struct metric *m = bench->metrics; m->name != NULL; m++)
        if (strcmp(m->name, name) == 0)
            return true;
    return false;
}

static bool known_statistic(const char *name) {
    return strcmp(name, "") == 0 || strcmp(name, "p50") == 0 || strcmp(name, "p90") == 0 ||
           strcmp(name, "p99") == 0;
}

static bool check_metrics(const struct bench_case *bench, struct error *err) {
    for (const struct metric *m = bench->metrics; m->name != NULL; m++) {
        if (m->timing == TIMING_GATED && bench->enqueue == NULL)
            return FAIL(err, ERROR_DATA, "case %s: metric %s is gated, but there is no enqueue()",
                        bench->name, m->name);
        if ((m->timing == TIMING_HOST || bench->by_host != NULL) && bench->sample == NULL)
            return FAIL(err, ERROR_DATA, "case %s: metric %s needs sample()", bench->name, m->name);
        if (m->quantity == QUANTITY_BANDWIDTH && m->timing == TIMING_GATED && bench->work == NULL)
            return FAIL(err, ERROR_DATA, "case %s: a gated bandwidth needs work()", bench->name);
    }
    return true;
}

static bool check_case(const struct bench_case *bench, struct error *err) {
    if (bench->name == NULL || bench->summary == NULL || bench->metrics == NULL || bench->series == NULL ||
        bench->instances == NULL || bench->version < 1)
        return FAIL(err, ERROR_DATA, "case %s: a mandatory slot is empty",
                    bench->name == NULL ? "(without name)" : bench->name);
    if (bench_find(bench->name) != bench)
        return FAIL(err, ERROR_DATA, "case %s: the name is used twice", bench->name);
    if (strpbrk(bench->name, "@/{}=,; ") != NULL)
        return FAIL(err, ERROR_DATA, "case %s: the name has a character that keys use", bench->name);
    for (const struct series_row *s = bench->series; s->metric != NULL; s++) {
        if (!has_metric(bench, s->metric))
            return FAIL(err, ERROR_DATA, "case %s: series of an unknown metric %s", bench->name, s->metric);
        if (!known_statistic(s->statistic))
            return FAIL(err, ERROR_DATA, "case %s: unknown statistic %s", bench->name, s->statistic);
        if (!(s->delta_rel > 0) && !(s->delta_abs > 0))
            return FAIL(err, ERROR_DATA, "case %s: series of %s without a smallest effect", bench->name,
                        s->metric);
    }
    return check_metrics(bench, err);
}

bool bench_check_all(struct error *err) {
    for (size_t i = 0; i < bench_cases_count; i++)
        if (!check_case(bench_cases[i], err))
            return RELAY(err);
    return true;
}
