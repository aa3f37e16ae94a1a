/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a run back whole. */
#include "run/record.h"

#include "base/mem.h"
#include "stats/robust.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* One declared series while records come in, found by the key its records have (without the suffix). */
struct slot {
    char *base;
    const char *statistic;
    size_t series; /* index into run->series */
    size_t capacity;
};

struct reader {
    struct run *run;
    struct slot *slots; /* sorted by base key */
    size_t n_slots;
    char *started; /* key of the last start without a record */
    int line;
};

static int by_base(const void *a, const void *b) {
    return strcmp(((const struct slot *)a)->base, ((const struct slot *)b)->base);
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct series *)a)->key, ((const struct series *)b)->key);
}

/* "copy.h2d@1/bandwidth.p50{…}@host" → bench, metric, target, and the key without the suffix. */
static bool split_key(struct series *s, const char *statistic, char **base) {
    struct key_parts parts;
    struct text suffix = {0};
    if (!key_parse(s->key, &parts))
        return false;
    if (statistic[0] != '\0')
        text_addf(&suffix, ".%s", statistic);
    bool good = text_ends(parts.metric, text_string(&suffix)) && strlen(parts.metric) > suffix.length;
    if (good) {
        size_t metric = strlen(parts.metric) - suffix.length;
        struct text t = {0};
        text_addf(&t, "%s@%d/%.*s{%s;%s}@%s", parts.bench, parts.version, (int)metric, parts.metric,
                  parts.where, parts.params, parts.target);
        *base = text_take(&t);
        s->bench = key_unescape(parts.bench);
        s->metric = mem_copy_bytes(parts.metric, metric);
        s->target = key_unescape(parts.target);
    }
    text_free(&suffix);
    key_parts_free(&parts);
    return good;
}

static bool sound_number(double x) {
    return isfinite(x) && x >= 0;
}

static bool declare(struct reader *r, const js *declared, struct error *err) {
    struct series *s =
        &r->run->series[r->run->n_series++]; /* counted first, so that a failure frees it too */
    const char *statistic = js_get_string(declared, "statistic", NULL);
    *s = (struct series){.limit = NAN};
    s->key = mem_copy_string(js_get_string(declared, "key", ""));
    s->unit = mem_copy_string(js_get_string(declared, "unit", ""));
    s->path_class = mem_copy_string("");
    s->higher_is_better = strcmp(js_get_string(declared, "better", ""), "higher") == 0;
    s->primary = strcmp(js_get_string(declared, "class", ""), "primary") == 0;
    s->delta_rel = js_get_number(declared, "delta_rel", 0);
    s->delta_abs = js_get_number(declared, "delta_abs", 0);
    s->between_rel = js_get_number(declared, "between_rel", 0);
    bool known = statistic != NULL && (statistic[0] == '\0' || strcmp(statistic, "p50") == 0 ||
                                       strcmp(statistic, "p90") == 0 || strcmp(statistic, "p99") == 0);
    char *base = NULL;
    if (!known || !split_key(s, statistic, &base))
        return FAIL(err, ERROR_DATA, "series %zu of the header is malformed", r->run->n_series - 1);
    r->slots[r->n_slots++] =
        (struct slot){.base = base, .statistic = statistic, .series = r->run->n_series - 1};
    if (!sound_number(s->delta_rel) || !sound_number(s->delta_abs) || !sound_number(s->between_rel))
        return FAIL(err, ERROR_DATA, "series %s of the header has an impossible number", s->key);
    return true;
}

static bool take_header(struct reader *r, js *header, struct error *err) {
    const char *schema = js_get_string(header, "schema", "");
    const js *series = js_get(header, "series");
    if (strcmp(js_get_string(header, "type", ""), "header") != 0)
        return FAIL(err, ERROR_DATA, "no run of gpuvet: it does not begin with a header");
    if (strcmp(schema, "gpuvet.run/1") != 0)
        return FAIL(err, ERROR_DATA, "schema '%s' is not known; this gpuvet reads gpuvet.run/1", schema);
    if (!js_is_array(series) || js_length(series) > RUN_MAX_SERIES)
        return FAIL(err, ERROR_DATA, "the header declares no series, or too many");
    r->run->header = js_keep(header);
    r->run->series = mem_zeroed(js_length(series), sizeof *r->run->series);
    r->slots = mem_zeroed(js_length(series), sizeof *r->slots);
    for (size_t i = 0; i < js_length(series); i++)
        if (!declare(r, js_at(series, i), err))
            return RELAY(err);
    if (r->n_slots > 1)
        qsort(r->slots, r->n_slots, sizeof *r->slots, by_base);
    return true;
}

static double round_value(const char *statistic, const js *samples) {
    size_t n = js_length(samples);
    double *values = mem_zeroed(n, sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = js_number(js_at(samples, i), NAN);
    double value = js_is_array(samples) ? stats_named(statistic, values, n) : NAN;
    free(values);
    return value;
}

/* Values stay in the order of rounds; a second one for the same round takes the first one's place. */
static void put_value(struct series *s, struct slot *slot, int round, double value) {
    size_t at = s->n_values;
    while (at > 0 && s->rounds[at - 1] >= round)
        at--;
    if (at < s->n_values && s->rounds[at] == round) {
        s->values[at] = value;
        return;
    }
    if (s->n_values == slot->capacity) {
        slot->capacity = slot->capacity < 16 ? 16 : slot->capacity * 2;
        s->values = mem_resize(s->values, slot->capacity, sizeof *s->values);
        s->rounds = mem_resize(s->rounds, slot->capacity, sizeof *s->rounds);
    }
    memmove(&s->values[at + 1], &s->values[at], (s->n_values - at) * sizeof *s->values);
    memmove(&s->rounds[at + 1], &s->rounds[at], (s->n_values - at) * sizeof *s->rounds);
    s->values[at] = value;
    s->rounds[at] = round;
    s->n_values++;
}

static void note_bad(struct series *s, const char *outcome, const char *reason) {
    bool skip = strcmp(outcome, "skip") == 0;
    char **slot = skip ? &s->skip_reason : &s->bad_reason;
    *(skip ? &s->n_skip : &s->n_bad) += 1;
    if (*slot != NULL)
        return;
    struct text why = {0};
    text_addf(&why, skip ? "%.0s%s" : "%s: %s", outcome, reason);
    *slot = text_take(&why);
}

static void feed(struct series *s, struct slot *slot, const js *record, int round) {
    const char *outcome = js_get_string(record, "outcome", "");
    const char *path_class = js_get_string(js_get(record, "attributes"), "path_class", NULL);
    const js *flags = js_get(record, "flags");
    if (strcmp(outcome, "ok") != 0) {
        note_bad(s, outcome, js_get_string(record, "reason", "no reason"));
        return;
    }
    if (path_class != NULL && s->path_class[0] == '\0') {
        free(s->path_class);
        s->path_class = mem_copy_string(path_class);
    }
    for (size_t i = 0; i < js_length(flags); i++)
        s->flagged_busy = s->flagged_busy || strcmp(js_string(js_at(flags, i), ""), "busy") == 0;
    if (!isfinite(s->limit))
        s->limit = js_get_number(record, "limit", NAN);
    double value = round_value(slot->statistic, js_get(record, "samples"));
    if (isfinite(value))
        put_value(s, slot, round, value);
}

static void note_failure(struct run *run, const js *record, const char *key, int round) {
    const char *outcome = js_get_string(record, "outcome", "error");
    bool failure = strcmp(outcome, "ok") != 0 && strcmp(outcome, "skip") != 0;
    if (!failure || run->n_failures >= RUN_MAX_FAILURES)
        return;
    run->failures = mem_resize(run->failures, run->n_failures + 1, sizeof *run->failures);
    run->failures[run->n_failures++] =
        (struct run_failure){mem_copy_string(key), round, mem_copy_string(outcome),
                             mem_copy_string(js_get_string(record, "reason", "no reason"))};
}

static bool take_record(struct reader *r, const js *record, struct error *err) {
    int64_t round = js_get_int(record, "round", -1);
    const char *bench = js_get_string(record, "case", NULL);
    const char *metric = js_get_string(record, "metric", NULL);
    if (++r->run->n_records > RUN_MAX_RECORDS)
        return FAIL(err, ERROR_DATA, "over %d records", RUN_MAX_RECORDS);
    if (bench == NULL || metric == NULL || round < 0 || round > RUN_MAX_ROUND)
        return FAIL(err, ERROR_DATA, "a record without case, metric or a possible round");
    char *base = series_key(bench, (int)js_get_int(record, "version", 0), metric, "", js_get(record, "where"),
                            js_get(record, "params"), js_get_string(record, "target", "host"));
    if (base == NULL)
        return FAIL(err, ERROR_DATA, "a record whose where or params are no texts and integers");
    note_failure(r->run, record, base, (int)round);
    if (r->started != NULL && strcmp(r->started, base) == 0) {
        free(r->started);
        r->started = NULL;
    }
    struct slot key = {.base = base};
    struct slot *found = r->n_slots == 0 ? NULL : bsearch(&key, r->slots, r->n_slots, sizeof key, by_base);
    while (found != NULL && found > r->slots && by_base(found - 1, &key) == 0)
        found--;
    for (; found != NULL && found < r->slots + r->n_slots && by_base(found, &key) == 0; found++)
        feed(&r->run->series[found->series], found, record, (int)round);
    free(base);
    return true;
}

static bool take_line(struct reader *r, js *line, struct error *err) {
    const char *type = js_get_string(line, "type", "");
    if (r->run->header == NULL)
        return take_header(r, line, err);
    if (strcmp(type, "record") == 0)
        return take_record(r, line, err);
    if (strcmp(type, "start") == 0) {
        free(r->started);
        r->started = mem_copy_string(js_get_string(line, "key", "?"));
    } else if (strcmp(type, "finding") == 0) {
        js_append(r->run->findings, js_keep(line));
    } else if (strcmp(type, "footer") == 0) {
        js_free(r->run->footer);
        r->run->footer = js_keep(line);
    } else {
        return FAIL(err, ERROR_DATA, "unknown line type '%s'", type);
    }
    return true;
}

static bool take_lines(struct reader *r, const struct text *all, struct error *err) {
    const char *at = text_string(all);
    const char *end = at + all->length;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        r->line++;
        if (newline == NULL) { /* written until the very end: a kill or a full disk cuts the last line */
            r->run->truncated_line = true;
            return true;
        }
        if (newline - at > RUN_MAX_LINE)
            return FAIL(err, ERROR_DATA, "a line over 1 MiB");
        js *line = js_parse(at, (size_t)(newline - at), err);
        bool good = line != NULL && take_line(r, line, err);
        js_free(line);
        if (!good)
            return RELAY(err);
        at = newline + 1;
    }
    return true;
}

static bool read_all(const char *path, struct text *out, struct error *err) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot open %s: %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return FAIL(err, ERROR_DATA, "%s is no regular file", path);
    }
    gzFile file = gzdopen(fd, "rb");
    if (file == NULL) {
        close(fd);
        return FAIL(err, ERROR_SYSTEM, "cannot read %s: no memory", path);
    }
    char chunk[65536];
    int n;
    while ((n = gzread(file, chunk, sizeof chunk)) > 0 && out->length <= RUN_MAX_BYTES)
        text_add_bytes(out, chunk, (size_t)n);
    int code = Z_OK;
    const char *why = n < 0 ? gzerror(file, &code) : "";
    bool good =
        n == 0 || FAIL(err, ERROR_DATA, "cannot read %s: %s", path, n < 0 ? why : "it is over 512 MiB");
    gzclose(file);
    return good;
}

bool run_read(const char *path, struct run *out, struct error *err) {
    struct reader r = {.run = out};
    struct text all = {0};
    *out = (struct run){.path = mem_copy_string(path), .findings = js_new_array()};
    bool good = read_all(path, &all, err);
    if (good && !take_lines(&r, &all, err))
        good = error_context(err, "%s:%d", path, r.line);
    if (good && out->header == NULL)
        good = FAIL(err, ERROR_DATA, "%s holds no run: %s", path,
                    all.length == 0 ? "it is empty" : "no complete line");
    text_free(&all);
    for (size_t i = 0; i < r.n_slots; i++)
        free(r.slots[i].base);
    free(r.slots);
    out->last_started = r.started;
    const char *outcome = js_get_string(out->footer, "outcome", "");
    out->interrupted = strcmp(outcome, "complete") != 0;
    if (good && out->n_series > 1)
        qsort(out->series, out->n_series, sizeof *out->series, by_key);
    if (!good)
        run_free(out);
    return good;
}

void run_free(struct run *run) {
    for (size_t i = 0; i < run->n_series; i++) {
        struct series *s = &run->series[i];
        char *const owned[] = {s->key,  s->bench,      s->metric,     s->target,
                               s->unit, s->path_class, s->bad_reason, s->skip_reason};
        for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
            free(owned[k]);
        free(s->values);
        free(s->rounds);
    }
    free(run->series);
    for (size_t i = 0; i < run->n_failures; i++) {
        free(run->failures[i].key);
        free(run->failures[i].outcome);
        free(run->failures[i].reason);
    }
    free(run->failures);
    strings_free(&run->notes);
    js_free(run->header);
    js_free(run->findings);
    js_free(run->footer);
    free(run->last_started);
    free(run->path);
    *run = (struct run){0};
}

const struct series *run_find(const struct run *run, const char *key) {
    struct series wanted = {.key = (char *)(uintptr_t)key};
    if (run->n_series == 0)
        return NULL;
    return bsearch(&wanted, run->series, run->n_series, sizeof wanted, by_key);
}
