/* SPDX-License-Identifier: Apache-2.0 */
/* How long comparing two runs of 1,000 series × 20 rounds takes: reading both, judging, printing. Prints the
 * best and the worst of 5 times, and the ratio to reading alone; no test, since a busy machine is slow. */
#include "base/clock.h"
#include "base/mem.h"
#include "compare/compare.h"
#include "run/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SERIES = 1000, ROUNDS = 20, SAMPLES = 16, TIMES = 5 };

static void describe(int i, js *where, js *params) {
    char uuid[48];
    snprintf(uuid, sizeof uuid, "GPU-%08x-0000-0000-0000-000000000000", (unsigned)(i % 8));
    js_set_string(where, "gpu", uuid);
    js_set_string(where, "role", i % 2 == 0 ? "local" : "remote1");
    js_set_int(params, "bytes", 4096 * (i + 1));
    js_set_string(params, "memory", "pinned");
}

static js *make_header(int seed) {
    js *header = js_new_object();
    js *series = js_new_array();
    char started[32];
    snprintf(started, sizeof started, "2026-01-31T12:00:%02dZ", seed);
    js_set_string(header, "type", "header");
    js_set_string(header, "schema", "gpuvet.run/1");
    js_set_string(header, "started", started);
    for (int i = 0; i < SERIES; i++) {
        js *s = js_new_object();
        js *where = js_new_object();
        js *params = js_new_object();
        describe(i, where, params);
        char *key = series_key("copy.h2d", 1, "bandwidth", "", where, params, "host");
        js_set_string(s, "key", key);
        js_set_string(s, "unit", "GB/s");
        js_set_string(s, "better", "higher");
        js_set_string(s, "statistic", "");
        js_set_int(s, "n", SAMPLES);
        js_set_number(s, "delta_rel", 0.02);
        js_set_number(s, "delta_abs", 0);
        js_set_number(s, "between_rel", 0.003);
        js_set_string(s, "class", "primary");
        js_append(series, s);
        free(key);
        js_free(where);
        js_free(params);
    }
    js_set(header, "series", series);
    return header;
}

static double noise(uint64_t *seed) {
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*seed >> 33) / 4294967296.0 - 0.25;
}

static js *make_record(int series, int round, uint64_t *seed) {
    js *r = js_new_object();
    js *where = js_new_object();
    js *params = js_new_object();
    js *samples = js_new_array();
    describe(series, where, params);
    for (int i = 0; i < SAMPLES; i++)
        js_append_number(samples, 55 * (1 + 0.01 * noise(seed)));
    js_set_string(r, "type", "record");
    js_set_string(r, "target", "host");
    js_set_int(r, "round", round);
    js_set_int(r, "id", series);
    js_set_string(r, "case", "copy.h2d");
    js_set_int(r, "version", 1);
    js_set_string(r, "metric", "bandwidth");
    js_set_string(r, "unit", "GB/s");
    js_set_string(r, "better", "higher");
    js_set(r, "where", where);
    js_set(r, "params", params);
    js_set_string(r, "outcome", "ok");
    js_set(r, "samples", samples);
    js_set(r, "flags", js_new_array());
    js_set_number(r, "limit", 57.6);
    js_set_number(r, "limit_raw", 63);
    return r;
}

static bool write_run(const char *path, int number, struct error *err) {
    uint64_t seed = (uint64_t)number;
    struct run_writer *w = run_writer_open(path, err);
    if (w == NULL)
        return false;
    js *header = make_header(number);
    bool good = run_writer_add(w, header, false, err);
    js_free(header);
    for (int round = 0; good && round < ROUNDS; round++)
        for (int i = 0; good && i < SERIES; i++) {
            js *record = make_record(i, round, &seed);
            good = run_writer_add(w, record, false, err);
            js_free(record);
        }
    return run_writer_close(w, err) && good;
}

static bool compare_once(char paths[2][64], double *seconds, double *reading, struct error *err) {
    struct run runs[2];
    struct comparison c;
    struct compare_options options = {0};
    FILE *nowhere = fopen("/dev/null", "w");
    int64_t start = clock_raw();
    if (nowhere == NULL || !run_read(paths[0], &runs[0], err) || !run_read(paths[1], &runs[1], err))
        return false;
    *reading = (double)(clock_raw() - start) / 1e9;
    if (!compare_runs(&runs[0], 1, &runs[1], 1, &options, &c, err))
        return false;
    comparison_print(&c, nowhere);
    *seconds = (double)(clock_raw() - start) / 1e9;
    comparison_free(&c);
    run_free(&runs[0]);
    run_free(&runs[1]);
    fclose(nowhere);
    return true;
}

int main(void) {
    char paths[2][64];
    struct error err = {0};
    double best = INFINITY;
    double worst = 0;
    double read_best = INFINITY;
    bool good = true;
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "/tmp/gpuvet-compare-speed.%ld.%d", (long)getpid(), i);
        good = good && write_run(paths[i], i + 1, &err);
    }
    for (int i = 0; good && i < TIMES; i++) {
        double seconds = 0, reading = 0;
        good = compare_once(paths, &seconds, &reading, &err);
        read_best = fmin(read_best, reading);
        best = fmin(best, seconds);
        worst = fmax(worst, seconds);
    }
    for (int i = 0; i < 2; i++)
        unlink(paths[i]);
    if (!good) {
        fprintf(stderr, "compare_speed: %s\n", err.text);
        return 1;
    }
    printf(
        "two runs of %d series x %d rounds x %d samples: %.2f s to %.2f s of %d times, %.1f times reading them\n",
        SERIES, ROUNDS, SAMPLES, best, worst, TIMES, best / read_best);
    return 0;
}
