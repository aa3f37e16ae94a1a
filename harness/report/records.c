/* SPDX-License-Identifier: Apache-2.0 */
/* What the page wants of single records beyond what struct run keeps. */
#include "base/mem.h"
#include "report/parts.h"
#include "stats/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double median_of(const js *list) {
    size_t n = js_length(list);
    double *values = mem_zeroed(n, sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = js_number(js_at(list, i), NAN);
    double middle = stats_median(values, n);
    free(values);
    return middle;
}

/* Of several GPUs the hottest, and the one that draws most. */
static void take_state(const js *state, struct sighting *s) {
    for (struct js_member m = js_first(state); m.key != NULL; m = js_next(state, m)) {
        s->power_w = fmax(s->power_w, js_get_number(m.value, "power_w", NAN));
        s->temperature_c = fmax(s->temperature_c, js_get_number(m.value, "temperature_c", NAN));
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How well the median is known from these samples alone: 95 % by ranks from six on, with fewer all of them.
 */
static void set_interval(const js *samples, struct sighting *s) {
    double *values = mem_zeroed(s->n, sizeof *values);
    for (size_t i = 0; i < s->n; i++)
        values[i] = js_number(js_at(samples, i), NAN);
    if (s->n > 1) {
        qsort(values, s->n, sizeof *values, by_value);
        double half = s->n < 6 ? (double)s->n : 1.96 * sqrt((double)s->n) / 2;
        double middle = ((double)s->n - 1) / 2;
        s->least = values[(size_t)fmax(floor(middle - half), 0)];
        s->most = values[(size_t)fmin(ceil(middle + half), (double)s->n - 1)];
    }
    free(values);
}

/* A whole case that could not run has no series; its reason is told where its section stays empty. */
static void keep_skip(struct sightings *out, const js *record) {
    enum { MOST_SKIPS = 200 };
    struct text t = {0};
    text_addf(&t, "%.60s: %.300s", js_get_string(record, "case", "?"), js_get_string(record, "reason", ""));
    if (out->skips.count < MOST_SKIPS && !strings_contain(&out->skips, text_string(&t)))
        strings_add(&out->skips, text_string(&t));
    text_free(&t);
}

static void see(void *state, const char *key, const js *record) {
    struct sightings *out = state;
    const js *samples = js_get(record, "samples");
    const char *outcome = js_get_string(record, "outcome", "");
    if (strcmp(outcome, "skip") == 0 && js_length(js_get(record, "where")) == 0)
        keep_skip(out, record);
    if (strcmp(outcome, "ok") != 0)
        return;
    struct sighting s = {.key = mem_copy_string(key),
                         .round = (int)js_get_int(record, "round", 0),
                         .n = js_length(samples),
                         .least = NAN,
                         .most = NAN,
                         .power_w = NAN,
                         .temperature_c = NAN};
    set_interval(samples, &s);
    s.sm_mhz = median_of(js_get(record, "sm_mhz"));
    take_state(js_get(record, "gpu_state"), &s);
    out->items = mem_grow(out->items, out->n, &out->capacity, sizeof *out->items);
    out->items[out->n++] = s;
}

static int by_key_and_round(const void *a, const void *b) {
    const struct sighting *x = a;
    const struct sighting *y = b;
    int order = strcmp(x->key, y->key);
    return order != 0 ? order : (x->round > y->round) - (x->round < y->round);
}

bool records_gather(const struct run *runs, size_t n, struct sightings *out, struct error *err) {
    /* The newest are last, and enough to show how samples spread. */
    for (size_t i = n > REPORT_MOST_VISITED ? n - REPORT_MOST_VISITED : 0; i < n; i++)
        if (!run_visit(runs[i].path, see, out, err))
            return RELAY(err);
    if (out->n > 1)
        qsort(out->items, out->n, sizeof *out->items, by_key_and_round);
    return true;
}

void records_free(struct sightings *s) {
    for (size_t i = 0; i < s->n; i++)
        free(s->items[i].key);
    free(s->items);
    strings_free(&s->skips);
    *s = (struct sightings){0};
}

const struct sighting *records_find(const struct sightings *s, const char *key, size_t *n) {
    size_t low = 0;
    size_t high = s->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(s->items[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *n = 0;
    while (low + *n < s->n && strcmp(s->items[low + *n].key, key) == 0)
        (*n)++;
    return *n > 0 ? &s->items[low] : NULL;
}
