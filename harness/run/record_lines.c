/* SPDX-License-Identifier: Apache-2.0 */
#include "run/record_lines.h"

#include "base/mem.h"
#include "stats/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char schema[] = "gpuvet.run/1";

struct round_value {
    int round;
    size_t order; /* of arrival: of two values of one round the later counts */
    double value, largest;
    size_t n; /* samples */
};

struct series_state {
    char *base;            /* the key of its records */
    const char *statistic; /* static text */
    struct round_value *values;
    size_t count, capacity;
};

#define FAIL_LINE(err, lines, format, ...)                                                                   \
    FAIL((err), ERROR_DATA, "%s:%zu: " format, (lines)->run->path, (lines)->number __VA_OPT__(, ) __VA_ARGS__)

/* ---- header ---- */

static const char *known_statistic(const char *name) {
    static const char *const known[] = {"", "p50", "p90", "p99"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (name != NULL && strcmp(name, known[i]) == 0)
            return known[i];
    return NULL;
}

/* The key without ".p50"; NULL when the key does not end its metric so. */
static char *base_of(const char *key, const struct key_parts *parts, const char *statistic) {
    if (statistic[0] == '\0')
        return mem_copy_string(key);
    size_t metric = strlen(parts->metric);
    size_t suffix = strlen(statistic) + 1;
    if (metric <= suffix || parts->metric[metric - suffix] != '.' || !text_ends(parts->metric, statistic))
        return NULL;
    size_t brace = strcspn(key, "{");
    struct text t = {0};
    text_add_bytes(&t, key, brace - suffix);
    text_add(&t, key + brace);
    return text_take(&t);
}

/* A number of [0, most], or 0 where there is none. NAN for anything else. */
static double bounded(const js *object, const char *name, double most) {
    const js *value = js_get(object, name);
    if (value == NULL || js_is_null(value))
        return 0;
    double number = js_number(value, NAN);
    return number >= 0 && number <= most ? number : NAN;
}

static bool fill_series(const struct run_lines *lines, const js *declared, struct series *s,
                        struct error *err) {
    const char *better = js_get_string(declared, "better", "");
    const char *class = js_get_string(declared, "class", "");
    s->unit = mem_copy_string(js_get_string(declared, "unit", ""));
    s->higher_is_better = strcmp(better, "higher") == 0;
    s->primary = strcmp(class, "primary") == 0;
    s->delta_rel = bounded(declared, "delta_rel", 100);
    s->delta_abs = bounded(declared, "delta_abs", 1e300);
    s->between_rel = bounded(declared, "between_rel", 100);
    s->limit = NAN;
    s->largest = NAN;
    if (!s->higher_is_better && strcmp(better, "lower") != 0)
        return FAIL_LINE(err, lines, "series %s: 'better' must be higher or lower", s->key);
    if (!s->primary && strcmp(class, "descriptive") != 0)
        return FAIL_LINE(err, lines, "series %s: 'class' must be primary or descriptive", s->key);
    if (isnan(s->delta_rel) || isnan(s->delta_abs) || isnan(s->between_rel))
        return FAIL_LINE(err, lines, "series %s: delta_rel, delta_abs or between_rel is out of range",
                         s->key);
    return true;
}

static bool declare(struct run_lines *lines, const js *declared, struct error *err) {
    struct run *run = lines->run;
    const char *key = js_get_string(declared, "key", "");
    struct series *s = &run->series[run->n_series];
    struct series_state *state = &lines->states[run->n_series];
    struct key_parts parts;
    if (!key_parse(key, &parts))
        return FAIL_LINE(err, lines, "series %zu has no valid key ('%.200s')", run->n_series + 1, key);
    run->n_series++;
    s->key = mem_copy_string(key);
    s->bench = mem_copy_string(parts.bench);
    s->target = mem_copy_string(parts.target);
    state->statistic = known_statistic(js_get_string(declared, "statistic", NULL));
    if (state->statistic != NULL)
        state->base = base_of(key, &parts, state->statistic);
    if (state->base != NULL && state->statistic != NULL && state->statistic[0] != '\0')
        s->metric = mem_copy_bytes(parts.metric, strlen(parts.metric) - strlen(state->statistic) - 1);
    else
        s->metric = mem_copy_string(parts.metric);
    s->path_class = mem_copy_string("");
    key_parts_free(&parts);
    if (state->base == NULL)
        return FAIL_LINE(err, lines, "series %s: its statistic is not the one of its key", key);
    return fill_series(lines, declared, s, err);
}

struct keyed {
    const char *key;
    size_t index;
};

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct keyed *)a)->key, ((const struct keyed *)b)->key);
}

/* Sorts series and states by key. */
static bool sort_series(struct run_lines *lines, struct error *err) {
    struct run *run = lines->run;
    size_t n = run->n_series;
    struct keyed *order = mem_zeroed(n, sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = (struct keyed){run->series[i].key, i};
    qsort(order, n, sizeof *order, by_key);
    struct series *series = mem_zeroed(n, sizeof *series);
    struct series_state *states = mem_zeroed(n, sizeof *states);
    const char *twice = NULL;
    for (size_t i = 0; i < n; i++) {
        series[i] = run->series[order[i].index];
        states[i] = lines->states[order[i].index];
        if (i > 0 && strcmp(series[i].key, series[i - 1].key) == 0)
            twice = series[i].key;
    }
    free(run->series);
    free(lines->states);
    free(order);
    run->series = series;
    lines->states = states;
    return twice == NULL || FAIL_LINE(err, lines, "series %s is declared twice", twice);
}

static void index_bases(struct run_lines *lines) {
    size_t n = lines->run->n_series;
    struct keyed *order = mem_zeroed(n, sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = (struct keyed){lines->states[i].base, i};
    qsort(order, n, sizeof *order, by_key);
    lines->by_base = mem_zeroed(n, sizeof *lines->by_base);
    for (size_t i = 0; i < n; i++)
        lines->by_base[i] = order[i].index;
    free(order);
}

static bool of_type_if_there(const js *header, const char *name, bool (*is)(const js *)) {
    const js *value = js_get(header, name);
    return value == NULL || is(value);
}

static bool take_header(struct run_lines *lines, js *header, struct error *err) {
    struct run *run = lines->run;
    const char *found = js_get_string(header, "schema", "");
    const js *series = js_get(header, "series");
    if (strcmp(found, schema) != 0 && text_starts(found, "gpuvet.run/"))
        return FAIL_LINE(err, lines,
                         "the file's schema is %.40s, this gpuvet reads %s; use the gpuvet that wrote it",
                         found, schema);
    if (strcmp(found, schema) != 0)
        return FAIL_LINE(err, lines, "this is no run file: its schema is '%.40s', not %s", found, schema);
    if (!js_is_array(series) || js_length(series) > RUN_MAX_SERIES)
        return FAIL_LINE(err, lines, "the header declares no series, or more than %d", RUN_MAX_SERIES);
    if (!of_type_if_there(header, "environment", js_is_object) ||
        !of_type_if_there(header, "gpus", js_is_array) ||
        !of_type_if_there(header, "environment_volatile", js_is_object) ||
        !of_type_if_there(header, "tool", js_is_object))
        return FAIL_LINE(err, lines, "a member of the header has the wrong type");
    if (js_length(js_get(header, "gpus")) > RUN_MAX_GPUS)
        return FAIL_LINE(err, lines, "the header names more than %d GPUs", RUN_MAX_GPUS);
    run->header = js_keep(header);
    run->series = mem_zeroed(js_length(series), sizeof *run->series);
    lines->states = mem_zeroed(js_length(series), sizeof *lines->states);
    for (size_t i = 0; i < js_length(series); i++)
        if (!declare(lines, js_at(series, i), err))
            return false;
    if (!sort_series(lines, err))
        return false;
    index_bases(lines);
    return true;
}

/* ---- start, record, finding, footer ---- */

static bool round_of(const js *line, int *round) {
    int64_t value = js_get_int(line, "round", -1);
    *round = value >= 0 && value <= RUN_MAX_ROUND ? (int)value : -1;
    return *round >= 0;
}

static bool take_start(struct run_lines *lines, js *line, struct error *err) {
    int round;
    const char *key = js_get_string(line, "key", NULL);
    if (key == NULL || !round_of(line, &round))
        return FAIL_LINE(err, lines, "a start without key or round");
    struct text t = {0};
    text_addf(&t, "%.1000s in round %d", key, round);
    free(lines->run->last_started);
    lines->run->last_started = text_take(&t);
    lines->started_id = js_get_int(line, "id", -1);
    return true;
}

/* Where records of this base key begin in by_base; the end when there are none. */
static size_t first_with_base(const struct run_lines *lines, const char *base) {
    size_t low = 0;
    size_t high = lines->run->n_series;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(lines->states[lines->by_base[middle]].base, base) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void keep_reason(char **slot, const char *outcome, const char *reason) {
    if (*slot != NULL)
        return;
    struct text t = {0};
    text_addf(&t, "%s%s%.500s", outcome, reason[0] != '\0' ? ": " : "", reason);
    *slot = text_take(&t);
}

static void keep_failure(struct run *run, const char *base, int round, const char *outcome,
                         const char *reason) {
    if (run->n_failures >= RUN_MAX_FAILURES)
        return;
    /* Grows by doubling at powers of two: the array has no capacity of its own. */
    size_t n = run->n_failures;
    if ((n & (n - 1)) == 0)
        run->failures = mem_resize(run->failures, n == 0 ? 1 : n * 2, sizeof *run->failures);
    run->failures[run->n_failures++] =
        (struct run_failure){mem_copy_string(base), round, mem_copy_string(outcome),
                             mem_copy_bytes(reason, strnlen(reason, RUN_MAX_REASON))};
}

/* Samples as doubles, owned; NULL when they are no numbers or there are none. */
static double *samples_of(const js *line, size_t *n) {
    const js *samples = js_get(line, "samples");
    *n = js_is_array(samples) ? js_length(samples) : 0;
    double *values = mem_zeroed(*n, sizeof *values);
    for (size_t i = 0; i < *n; i++) {
        values[i] = js_number(js_at(samples, i), NAN);
        if (!isfinite(values[i]))
            *n = 0;
    }
    if (*n > 0)
        return values;
    free(values);
    return NULL;
}

static bool is_flagged(const js *line, const char *beginning) {
    const js *flags = js_get(line, "flags");
    for (size_t i = 0; i < js_length(flags); i++)
        if (text_starts(js_string(js_at(flags, i), ""), beginning))
            return true;
    return false;
}

struct record {
    const js *line;
    const char *outcome, *reason;
    int round;
    double *samples; /* NULL unless ok */
    size_t n_samples;
};

static void add_to_series(struct run_lines *lines, size_t index, const struct record *r) {
    struct series *s = &lines->run->series[index];
    struct series_state *state = &lines->states[index];
    const char *path_class = js_get_string(js_get(r->line, "attributes"), "path_class", NULL);
    double limit = js_get_number(r->line, "limit", NAN);
    if (path_class != NULL && s->path_class[0] == '\0') {
        free(s->path_class);
        s->path_class = mem_copy_string(path_class);
    }
    s->limit = isfinite(limit) ? limit : s->limit;
    s->flagged_busy = s->flagged_busy || is_flagged(r->line, "busy");
    s->flagged_quota = s->flagged_quota || is_flagged(r->line, "cpu-quota");
    if (strcmp(r->outcome, "skip") == 0) {
        s->n_skip++;
        keep_reason(&s->skip_reason, r->outcome, r->reason);
    } else if (r->samples == NULL) {
        s->n_bad++;
        keep_reason(&s->bad_reason, r->outcome, r->reason);
    } else {
        state->values = mem_grow(state->values, state->count, &state->capacity, sizeof *state->values);
        double value = stats_named(state->statistic, r->samples, r->n_samples);
        double largest = r->samples[0];
        for (size_t i = 1; i < r->n_samples; i++)
            largest = fmax(largest, r->samples[i]);
        state->values[state->count] =
            (struct round_value){r->round, state->count, value, largest, r->n_samples};
        state->count++;
    }
}

static void spread_record(struct run_lines *lines, const char *base, const struct record *r) {
    struct run *run = lines->run;
    size_t at = first_with_base(lines, base);
    bool found = false;
    for (; at < run->n_series && strcmp(lines->states[lines->by_base[at]].base, base) == 0; at++) {
        add_to_series(lines, lines->by_base[at], r);
        found = true;
    }
    bool skip = strcmp(r->outcome, "skip") == 0;
    lines->undeclared += !found && !skip ? 1 : 0; /* the skip of a whole case has no series */
    if (r->samples == NULL && !skip)
        keep_failure(run, base, r->round, r->outcome, r->reason);
}

static bool is_outcome(const char *s) {
    static const char *const known[] = {"ok", "fail", "skip", "hang", "error"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(s, known[i]) == 0)
            return true;
    return false;
}

/* The base key of a record; NULL with `err` when it names no series. */
static char *key_of(const struct run_lines *lines, const js *line, struct error *err) {
    const char *bench = js_get_string(line, "case", "");
    const char *metric = js_get_string(line, "metric", "");
    const char *target = js_get_string(line, "target", "");
    int64_t version = js_get_int(line, "version", -1);
    char *key = NULL;
    if (bench[0] != '\0' && metric[0] != '\0' && target[0] != '\0' && version >= 0 && version <= 1000000 &&
        js_is_object(js_get(line, "where")) && js_is_object(js_get(line, "params")))
        key = series_key(bench, (int)version, metric, "", js_get(line, "where"), js_get(line, "params"),
                         target);
    if (key == NULL)
        FAIL_LINE(err, lines,
                  "the record does not say what it is of (case, version, metric, target, where, params)");
    return key;
}

static bool take_record(struct run_lines *lines, js *line, struct error *err) {
    struct run *run = lines->run;
    struct record r = {.line = line,
                       .outcome = js_get_string(line, "outcome", ""),
                       .reason = js_get_string(line, "reason", "")};
    if (++run->n_records > RUN_MAX_RECORDS)
        return FAIL_LINE(err, lines, "more than %d records", RUN_MAX_RECORDS);
    if (!is_outcome(r.outcome))
        return FAIL_LINE(err, lines, "the record's outcome is '%.40s'", r.outcome);
    if (!round_of(line, &r.round))
        return FAIL_LINE(err, lines, "the record has no round of 0 to %d", RUN_MAX_ROUND);
    if (strcmp(r.outcome, "ok") == 0 && (r.samples = samples_of(line, &r.n_samples)) == NULL)
        return FAIL_LINE(err, lines, "the record is ok but has no samples that are finite numbers");
    char *base = key_of(lines, line, err);
    if (base != NULL) {
        spread_record(lines, base, &r);
        run_gpus_take(run, line);
        if (lines->see != NULL)
            lines->see(lines->see_state, base, line);
    }
    if (run->last_started != NULL && js_get_int(line, "id", -1) == lines->started_id) {
        free(run->last_started);
        run->last_started = NULL;
    }
    free(r.samples);
    free(base);
    return base != NULL;
}

static bool take_footer(struct run_lines *lines, js *line, struct error *err) {
    const char *outcome = js_get_string(line, "outcome", "");
    if (strcmp(outcome, "complete") != 0 && strcmp(outcome, "interrupted") != 0 &&
        strcmp(outcome, "failed") != 0)
        return FAIL_LINE(err, lines, "the footer's outcome is '%.40s'", outcome);
    lines->run->footer = js_keep(line);
    return true;
}

static bool take_object(struct run_lines *lines, js *line, struct error *err) {
    struct run *run = lines->run;
    const char *type = js_get_string(line, "type", "");
    bool header = strcmp(type, "header") == 0;
    if (header != (run->header == NULL))
        return header ? FAIL_LINE(err, lines, "a second header: are these two runs in one file?")
                      : FAIL_LINE(err, lines, "this is no run file: its first line is no header");
    if (run->footer != NULL)
        return FAIL_LINE(err, lines, "a line after the footer");
    if (header)
        return take_header(lines, line, err);
    if (strcmp(type, "start") == 0)
        return take_start(lines, line, err);
    if (strcmp(type, "record") == 0)
        return take_record(lines, line, err);
    if (strcmp(type, "footer") == 0)
        return take_footer(lines, line, err);
    if (strcmp(type, "finding") != 0)
        return FAIL_LINE(err, lines, "unknown type of line '%.40s'", type);
    if (js_length(run->findings) >= RUN_MAX_FINDINGS)
        return FAIL_LINE(err, lines, "more than %d findings", RUN_MAX_FINDINGS);
    js_append(run->findings, js_keep(line));
    return true;
}

bool run_lines_take(struct run_lines *lines, const char *line, size_t length, struct error *err) {
    lines->number++;
    if (length > RUN_MAX_LINE)
        return FAIL_LINE(err, lines, "a line is longer than %d bytes", RUN_MAX_LINE);
    struct error why = {0};
    js *value = js_parse(line, length, &why);
    if (value == NULL)
        return lines->run->header == NULL ? FAIL_LINE(err, lines, "this is no run file: %.200s", why.text)
                                          : FAIL_LINE(err, lines, "%.200s", why.text);
    bool good = take_object(lines, value, err);
    js_free(value);
    return good;
}

/* ---- the end ---- */

static int by_round(const void *a, const void *b) {
    const struct round_value *x = a;
    const struct round_value *y = b;
    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void settle_series(struct run_lines *lines, size_t index) {
    struct series *s = &lines->run->series[index];
    struct series_state *state = &lines->states[index];
    if (state->count > 1)
        qsort(state->values, state->count, sizeof *state->values, by_round);
    s->values = mem_zeroed(state->count, sizeof *s->values);
    s->rounds = mem_zeroed(state->count, sizeof *s->rounds);
    for (size_t i = 0; i < state->count; i++) {
        bool again = s->n_values > 0 && s->rounds[s->n_values - 1] == state->values[i].round;
        lines->repeated += again ? 1 : 0;
        s->n_values -= again ? 1 : 0;
        s->rounds[s->n_values] = state->values[i].round;
        s->values[s->n_values++] = state->values[i].value;
        if (i + 1 < state->count && state->values[i + 1].round == state->values[i].round)
            continue; /* the later one counts */
        s->largest = fmax(s->largest, state->values[i].largest);
        s->n_samples += state->values[i].n;
    }
    free(state->values);
    free(state->base);
}

void run_lines_finish(struct run_lines *lines) {
    struct run *run = lines->run;
    for (size_t i = 0; i < run->n_series; i++)
        settle_series(lines, i);
    free(lines->states);
    free(lines->by_base);
    if (lines->repeated > 0)
        strings_addf(&run->notes, "%zu values came twice for their series and round; the later ones count",
                     lines->repeated);
    if (lines->undeclared > 0)
        strings_addf(&run->notes, "%zu records belong to no series that the header declares",
                     lines->undeclared);
    if (run->truncated_line)
        strings_addf(&run->notes, "the last line is cut off and was left out");
    run->interrupted =
        run->footer == NULL || strcmp(js_get_string(run->footer, "outcome", ""), "complete") != 0;
}
