/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_view.h"

#include "base/mem.h"
#include "cli/skips_view.h"
#include "stats/robust.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- words ---- */

static int gpu_index(const struct node *node, const char *uuid) {
    for (size_t i = 0; i < node->gpus.count; i++)
        if (strcmp(node->gpus.items[i].uuid, uuid) == 0)
            return node->gpus.items[i].index;
    return -1;
}

static void describe_bytes(int64_t bytes, struct text *out) {
    static const struct {
        int64_t size;
        const char *name;
    } units[] = {{INT64_C(1) << 30, "GiB"}, {INT64_C(1) << 20, "MiB"}, {INT64_C(1) << 10, "KiB"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (bytes >= units[i].size && bytes % units[i].size == 0) {
            text_addf(out, "%" PRId64 " %s", bytes / units[i].size, units[i].name);
            return;
        }
    text_addf(out, "%" PRId64 " B", bytes);
}

static int by_number(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

/* "GPU 0", "GPUs 0 1", "8 GPUs" */
static void describe_gpus(const char *joined, const struct node *node, struct text *out) {
    enum { NAMED = 4 };
    struct strings uuids = {0};
    int indices[NAMED];
    strings_split(&uuids, joined, '+');
    if (uuids.count > NAMED)
        text_addf(out, "%zu GPUs", uuids.count);
    size_t n = uuids.count > NAMED ? 0 : uuids.count;
    for (size_t i = 0; i < n; i++)
        indices[i] = gpu_index(node, uuids.items[i]);
    qsort(indices, n, sizeof *indices, by_number); /* a key has them by UUID */
    for (size_t i = 0; i < n; i++)
        text_addf(out, "%s%d", i > 0 ? " " : n == 1 ? "GPU " : "GPUs ", indices[i]);
    strings_free(&uuids);
}

/* What is so nearly always and would only fill the line. */
static bool goes_without_saying(const char *key, const js *value) {
    return (strcmp(key, "idle_us") == 0 && js_int(value, 0) == 0) ||
           (strcmp(key, "engine") == 0 && strcmp(js_string(value, ""), "ce") == 0) ||
           (strcmp(key, "peer") == 0 && strcmp(js_string(value, ""), "on") == 0) ||
           (strcmp(key, "place") == 0 && strcmp(js_string(value, ""), "out") == 0) ||
           (strcmp(key, "after") == 0 && strcmp(js_string(value, ""), "idle") == 0) || /* idle_us says it */
           strcmp(key, "cache") == 0 ||               /* by the case, and by the size */
           strcmp(key, "ranks") == 0 ||               /* as many as GPUs */
           strcmp(js_string(value, ""), "none") == 0; /* control, load */
}

/* The value alone is understood. */
static bool speaks_for_itself(const char *key) {
    static const char *const keys[] = {"memory",  "role", "direction", "core",  "source",
                                       "control", "load", "wait",      "after", "dtype"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static void describe_member(const char *key, const js *value, const struct node *node, struct text *out) {
    const char *word = js_string(value, NULL);
    int64_t number = js_int(value, 0);
    bool end = strcmp(key, "to") == 0; /* of "GPU 0 to GPU 1" */
    if (out->length > 0)
        text_add(out, end ? " " : ", ");
    if ((strcmp(key, "gpu") == 0 || strcmp(key, "from") == 0) && word != NULL)
        text_addf(out, "GPU %d", gpu_index(node, word));
    else if (end && word != NULL)
        text_addf(out, "to GPU %d", gpu_index(node, word));
    else if (strcmp(key, "gpus") == 0 && word != NULL)
        describe_gpus(word, node, out);
    else if (strcmp(key, "bytes") == 0)
        describe_bytes(number, out);
    else if (strcmp(key, "idle_us") == 0)
        text_addf(out, "idle %g ms", (double)number / 1000);
    else if (strcmp(key, "cpu_node") == 0)
        text_addf(out, "node %" PRId64, number);
    else if (strcmp(key, "mem_node") == 0)
        text_addf(out, "memory of node %" PRId64, number);
    else if (word != NULL && speaks_for_itself(key))
        text_add(out, word);
    else if (word != NULL)
        text_addf(out, "%s %s", key, word);
    else
        text_addf(out, "%s %" PRId64, key, number);
}

void describe_item(const struct plan_item *item, const struct node *node, struct text *out) {
    struct text words = {0};
    const js *parts[] = {item->instance.where, item->instance.params};
    for (size_t i = 0; i < 2; i++)
        for (struct js_member m = js_first(parts[i]); m.key != NULL; m = js_next(parts[i], m))
            if (!goes_without_saying(m.key, m.value))
                describe_member(m.key, m.value, node, &words);
    text_add(out, text_string(&words));
    text_free(&words);
}

/* ---- collecting ---- */

/* Columns of a terminal on which one line can be written over and over; 0: stderr is none. One that cannot
 * clear a line, or is so narrow that the line would break, gets plain lines. */
static int progress_columns(void) {
    const char *term = getenv("TERM");
    struct winsize size = {0};
    if (isatty(STDERR_FILENO) == 0 || term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0)
        return 0;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80; /* it does not say */
    return size.ws_col < 60 ? 0 : size.ws_col;
}

void run_table_make(struct run_table *table, const struct plan *plan, const struct node *node,
                    struct clock *clock) {
    *table = (struct run_table){.plan = plan, .node = node, .clock = clock, .n_rows = plan->n_series};
    table->rows = mem_zeroed(plan->n_series, sizeof *table->rows);
    for (size_t i = 0; i < plan->n_series; i++) {
        table->rows[i].series = &plan->series[i];
        table->rows[i].values = mem_zeroed((size_t)plan->rounds, sizeof(double));
        table->rows[i].baseline = NAN;
        table->rows[i].largest = NAN;
    }
    table->started = clock_now(clock);
    table->columns = progress_columns();
    table->progress = table->columns > 0;
    table->rounds = plan->rounds;
}

void run_table_free(struct run_table *table) {
    for (size_t i = 0; i < table->n_rows; i++)
        free(table->rows[i].values);
    free(table->rows);
    *table = (struct run_table){0};
}

static double take_samples(struct view_row *row, const js *samples) {
    size_t n = js_length(samples);
    double *values = mem_zeroed(n, sizeof *values);
    for (size_t i = 0; i < n; i++) {
        values[i] = js_number(js_at(samples, i), NAN);
        row->largest = fmax(row->largest, values[i]);
    }
    row->n_samples += n;
    double value = stats_named(row->series->row->statistic, values, n);
    free(values);
    return value;
}

static void take_record(struct view_row *row, const js *record) {
    const char *outcome = js_get_string(record, "outcome", "error");
    if (strcmp(outcome, "ok") == 0) {
        row->values[row->count] = take_samples(row, js_get(record, "samples"));
        row->count++;
        return;
    }
    row->bad++;
    snprintf(row->outcome, sizeof row->outcome, "%s", outcome);
    char *reason = text_printable(js_get_string(record, "reason", "")); /* a library's last words, perhaps */
    snprintf(row->reason, sizeof row->reason, "%s", reason);
    free(reason);
}

/* ---- progress ---- */

static void clear_line(struct run_table *table) {
    if (table->shown)
        fputs("\r\033[K", stderr);
    table->shown = false;
}

static double elapsed_s(const struct run_table *table) {
    return (double)(clock_now(table->clock) - table->started) / 1e9;
}

/* What was predicted; where the rounds so far took longer (a busy machine), they and the rest as predicted.
 */
static double seconds_in_all(const struct run_table *table) {
    double rest = table->predicted_s * (table->rounds - table->round) / table->rounds;
    return fmax(table->predicted_s, table->rounds_s + rest);
}

static void on_round(void *state, int round, int rounds) {
    struct run_table *table = state;
    table->round = round;
    table->rounds = rounds;
    table->rounds_s = elapsed_s(table);
    if (table->progress)
        return;
    fprintf(stderr, "gpuvet: round %d of %d, %.0f s so far, about %.0f s in all\n", round + 1, rounds,
            table->rounds_s, seconds_in_all(table));
}

static void on_start(void *state, const struct plan_item *item, int round) {
    struct run_table *table = state;
    if (!table->progress)
        return;
    struct text words = {0};
    describe_item(item, table->node, &words);
    double left = fmax(0, seconds_in_all(table) - elapsed_s(table));
    clear_line(table);
    int beside = snprintf(NULL, 0, "round %d/%d  %-19s  %3.0f s left", round + 1, table->rounds,
                          item->bench->name, left);
    int room = table->columns - 1 - beside;
    room = room < 0 ? 0 : room > 44 ? 44 : room;
    fprintf(stderr, "round %d/%d  %-19s %-*.*s %3.0f s left", round + 1, table->rounds, item->bench->name,
            room, room, text_string(&words), left);
    fflush(stderr);
    table->shown = true;
    text_free(&words);
}

/* A figure the moment it is first known, so that the table grows while the run goes on. */
static void say_first(struct run_table *table, const struct view_row *row) {
    const struct plan_item *item = &table->plan->items[row->series->item];
    struct text words = {0};
    if (!table->progress || row->count != 1 || !row->series->primary)
        return;
    char figure[TEXT_FIGURE_SIZE];
    describe_item(item, table->node, &words);
    clear_line(table);
    fprintf(stderr, "%-19s %-44.44s %12s %s", item->bench->name, text_string(&words),
            text_figure(row->values[0], figure), quantity_unit(item->instance.metric->quantity));
    double share = 100 * row->values[0] / item->instance.limit;
    if (isfinite(item->instance.limit) && isfinite(share))
        fprintf(stderr, "  %.0f %% of limit", share);
    if (isfinite(row->values[0] / row->baseline))
        fprintf(stderr, "  %+.1f %% to the baseline", 100 * (row->values[0] / row->baseline - 1));
    fputc('\n', stderr);
    text_free(&words);
}

static void on_hang(void *state, const struct plan_item *item, const char *reason) {
    struct run_table *table = state;
    char *clean = text_printable(reason);
    clear_line(table);
    fprintf(stderr, "gpuvet: %s hangs: %s\n", item->bench->name, clean);
    free(clean);
}

static void on_record(void *state, const struct plan_item *item, int round, const js *record) {
    struct run_table *table = state;
    (void)round;
    for (size_t i = 0; item != NULL && i < table->n_rows; i++)
        if (&table->plan->items[table->rows[i].series->item] == item) {
            take_record(&table->rows[i], record);
            say_first(table, &table->rows[i]);
        }
}

static void on_wait(void *state, const char *why) {
    struct run_table *table = state;
    clear_line(table);
    fprintf(stderr, "gpuvet: waiting for a quiet node: %s\n", why);
}

struct run_view run_table_view(struct run_table *table) {
    return (struct run_view){.state = table,
                             .on_round = on_round,
                             .on_start = on_start,
                             .on_hang = on_hang,
                             .on_record = on_record,
                             .on_wait = on_wait};
}

/* ---- the table ---- */

static const char *series_name(const struct view_row *row, char *out, size_t size) {
    const struct series_row *r = row->series->row;
    snprintf(out, size, "%s%s%s", r->metric, r->statistic[0] != '\0' ? "." : "", r->statistic);
    return out;
}

/* Robust spread of the rounds, one sigma, relative. */
static double spread_of(const struct view_row *row) {
    return stats_mad_sigma(row->values, row->count) / stats_median(row->values, row->count);
}

static void print_row(const struct run_table *table, const struct view_row *row, FILE *out) {
    const struct plan_item *item = &table->plan->items[row->series->item];
    struct text words = {0};
    char name[64];
    describe_item(item, table->node, &words);
    fprintf(out, "%-19s %-14s %-46s ", item->bench->name, series_name(row, name, sizeof name),
            text_string(&words));
    text_free(&words);
    if (row->count == 0) {
        fprintf(out, "%s: %s\n", row->bad > 0 ? row->outcome : "not measured", row->reason);
        return;
    }
    const char *unit = quantity_unit(item->instance.metric->quantity);
    char figure[TEXT_FIGURE_SIZE];
    fprintf(out, "%10s %-5s", text_figure(stats_median(row->values, row->count), figure), unit);
    double spread = 100 * spread_of(row);
    double share = 100 * stats_median(row->values, row->count) / item->instance.limit;
    if (row->count > 1 && isfinite(spread))
        fprintf(out, " %5.1f %%", spread);
    else
        fprintf(out, " %7s", "-");
    if (isfinite(item->instance.limit) && isfinite(share))
        fprintf(out, " %5.0f %%", share);
    else
        fprintf(out, " %7s", "-");
    /* Shown beside the tail, and never compared: the more samples, the larger it is. */
    bool tail = strcmp(row->series->row->statistic, "p99") == 0 && isfinite(row->largest);
    fprintf(out, "  %s", row->verdict);
    if (tail)
        fprintf(out, "%slargest of %zu: %s %s", row->verdict[0] != '\0' ? "; " : "", row->n_samples,
                text_figure(row->largest, figure), unit);
    if (row->bad > 0)
        fprintf(out, "%s%zu of %zu rounds: %s: %s", tail || row->verdict[0] != '\0' ? "; " : "", row->bad,
                row->bad + row->count, row->outcome, row->reason);
    fputc('\n', out);
}

static bool is_compared(const struct run_table *table) {
    for (size_t i = 0; i < table->n_rows; i++)
        if (isfinite(table->rows[i].baseline) || table->rows[i].verdict[0] != '\0')
            return true;
    return false;
}

void run_table_print(const struct run_table *table, FILE *out) {
    clear_line((struct run_table *)table);
    if (table->n_rows > 0)
        fprintf(out, "%-19s %-14s %-46s %10s %-5s %7s %7s  %s\n", "case", "series", "where", "figure", "",
                "spread", "limit", is_compared(table) ? "against the baseline" : "");
    for (int primary = 1; primary >= 0; primary--)
        for (size_t i = 0; i < table->n_rows; i++)
            if (table->rows[i].series->primary == (primary == 1) &&
                (primary == 1 || table->rows[i].count + table->rows[i].bad > 0))
                print_row(table, &table->rows[i], out);
    skips_print(table->plan, table->node, "skipped", out);
}
