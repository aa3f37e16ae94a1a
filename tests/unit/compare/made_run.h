/* SPDX-License-Identifier: Apache-2.0 */
/* Runs made for tests: written as a file and read back, as the program does it. */
#ifndef GPUVET_UNIT_COMPARE_MADE_RUN_H
#define GPUVET_UNIT_COMPARE_MADE_RUN_H

#include "unit/unit.h"

#include "base/files.h"
#include "run/record.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MADE_GPU "GPU-11111111-2222-3333-4444-555555555555"

struct made {
    int number;           /* tells runs apart: seed of the noise, boot, time */
    double h2d;           /* GB/s; 0: 55 */
    const char *machine;  /* NULL: "m1" */
    const char *build;    /* NULL: "b1" */
    const char *bytes;    /* of h2d; NULL: 536870912 */
    const char *version;  /* of the case; NULL: "1" */
    const char *path;     /* class; NULL: "PIX" */
    const char *unit;     /* NULL: "GB/s" */
    const char *gpu;      /* NULL: MADE_GPU */
    const char *facts;    /* members of environment; NULL: the usual ones */
    const char *gpu_more; /* members of the GPU's entry */
    const char *more;     /* members of each record */
    const char *flags;    /* of each record */
    const char *outcome;  /* of d2h in round 2; NULL: "ok" */
    bool simulated, no_footer, no_record;
};

#define OR(value, fallback) ((value) != NULL ? (value) : (fallback))

static inline void made_text(const struct made *m, struct text *t) {
    const char *const metric[] = {"copy.h2d", "copy.d2h"};
    const char *gpu = OR(m->gpu, MADE_GPU);
    const char *bytes = OR(m->bytes, "536870912");
    text_addf(
        t,
        "{\"type\":\"header\",\"schema\":\"gpuvet.run/1\",\"tool\":{\"name\":\"gpuvet\",\"version\":\"0.1.0\","
        "\"build_id\":\"%s\"},\"command\":[],\"label\":null,\"seed\":1,\"profile\":\"standard\","
        "\"started\":\"2026-01-%02dT00:00:00.000Z\",\"node\":\"n\",\"machine_id\":\"%s\",\"boot_id\":\"boot%d\","
        "\"simulated\":%s,\"rounds_planned\":12,\"targets\":[\"host\"],\"environment\":{%s},"
        "\"environment_volatile\":{\"moving\":%d},\"gpus\":[{\"index\":0,\"uuid\":\"%s\","
        "\"bdf\":\"0000:01:00.0\"%s}],\"series\":[",
        OR(m->build, "b1"), m->number, OR(m->machine, "m1"), m->number, m->simulated ? "true" : "false",
        OR(m->facts, "\"cpu.governor\":\"powersave\",\"kernel.clocksource\":\"tsc\""), m->number, gpu,
        OR(m->gpu_more, ""));
    for (int i = 0; i < 2; i++)
        text_addf(t,
                  "%s{\"key\":\"%s@%s/bandwidth{gpu=%s,role=local;bytes=%s}@host\",\"unit\":\"%s\","
                  "\"better\":\"higher\",\"statistic\":\"\",\"n\":1,\"delta_rel\":0.02,\"delta_abs\":0,"
                  "\"between_rel\":0.005,\"class\":\"primary\"}",
                  i == 0 ? "" : ",", metric[i], OR(m->version, "1"), gpu, bytes, OR(m->unit, "GB/s"));
    text_add(t, "]}\n");
    for (int round = 1; round <= 12 && !m->no_record; round++)
        for (int i = 0; i < 2; i++) {
            double level = i == 0 && m->h2d > 0 ? m->h2d : 55;
            double noise = 1 + 0.001 * ((m->number * 7 + round * 5 + i * 3) % 11 - 5) / 5.0;
            const char *outcome = i == 1 && round == 2 ? OR(m->outcome, "ok") : "ok";
            bool good = strcmp(outcome, "ok") == 0;
            text_addf(
                t,
                "{\"type\":\"record\",\"target\":\"host\",\"round\":%d,\"id\":%d,\"case\":\"%s\",\"version\":%s,"
                "\"metric\":\"bandwidth\",\"unit\":\"%s\",\"better\":\"higher\",\"where\":{\"gpu\":\"%s\","
                "\"role\":\"local\"},\"attributes\":{\"path_class\":\"%s\"},\"params\":{\"bytes\":%s},"
                "\"outcome\":\"%s\",%s\"samples\":[",
                round, i, metric[i], OR(m->version, "1"), OR(m->unit, "GB/s"), gpu, OR(m->path, "PIX"), bytes,
                outcome, good ? "" : "\"reason\":\"data differ\",");
            if (good)
                text_addf(t, "%.9g", level * noise);
            text_addf(t, "],\"flags\":[%s]%s}\n", OR(m->flags, ""), OR(m->more, ""));
        }
    if (m->no_footer)
        text_add(t,
                 "{\"type\":\"start\",\"round\":13,\"target\":\"host\",\"id\":0,\"key\":\"copy.h2d@1/x\"}\n");
    else
        text_add(
            t, "{\"type\":\"footer\",\"finished\":\"2026-01-01T00:01:00.000Z\",\"outcome\":\"complete\"}\n");
}

static inline void made_write(const char *path, struct made m) {
    struct text t = {0};
    struct error err = {0};
    made_text(&m, &t);
    if (!file_replace(path, t.data, t.length, &err))
        fail_msg("%s", err.text);
    text_free(&t);
}

static inline struct run made_run(struct made m) {
    char path[] = "/tmp/gpuvet-made-XXXXXX";
    struct run run;
    struct error err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    made_write(path, m);
    if (!run_read(path, &run, &err))
        fail_msg("%s", err.text);
    unlink(path);
    return run;
}

static inline int made_remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static inline void made_remove(const char *folder) {
    nftw(folder, made_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
