/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the known causes of a container's cost the facts of both sides show. */
#include "compare/place_facts.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Series that a cause can move: by the beginning of the case's name. */
static const char *const anything[] = {"", NULL};
static const char *const memory_cases[] = {"copy.", "host.memory", "host.handoff", "p2p.", "nccl.", NULL};
static const char *const host_cases[] = {"host.", "launch.", "copy.latency", "nccl.", "decode.", NULL};
static const char *const gpu_cases[] = {"copy.", "launch.", "memory.", "p2p.", "nccl.", "decode.", NULL};
static const char *const nccl_cases[] = {"nccl.", "decode.", NULL}; /* a step has two all_reduces a layer */
static const char *const cublas_cases[] = {"decode.", NULL};

static void add(struct place_facts *out, const char *const *cases, char *text) {
    out->items = mem_resize(out->items, out->n + 1, sizeof *out->items);
    out->items[out->n++] = (struct place_fact){.cases = cases, .text = text};
}

static const js *view_of(const struct run *run, const char *target) {
    return js_get(js_get(js_get(run->header, "places"), target), "view");
}

/* NCCL passes data between ranks through files in /dev/shm; 64 MiB, Docker's default, is too little. */
static void look_at_shm(const js *ours, const js *theirs, struct place_facts *out) {
    int64_t a = js_get_int(ours, "shm_mib", -1);
    int64_t b = js_get_int(theirs, "shm_mib", -1);
    struct text t = {0};
    if (b >= 0 && b < 1024 && a > b) {
        text_addf(&t, "/dev/shm has %" PRId64 " MiB there, %" PRId64 " here (NCCL's shared memory)", b, a);
        add(out, nccl_cases, text_take(&t));
    } else if (a >= 0 && b < 0) {
        add(out, nccl_cases, mem_copy_string("there is no /dev/shm there (NCCL's shared memory)"));
    }
}

static void look_at_rights(const js *ours, const js *theirs, struct place_facts *out) {
    const js *calls = js_get(theirs, "syscalls");
    bool nice_here = js_get_bool(ours, "sys_nice", false);
    bool nice_there = js_get_bool(theirs, "sys_nice", true);
    struct text refused = {0};
    for (struct js_member m = js_first(calls); m.key != NULL; m = js_next(calls, m)) {
        const char *there = js_string(m.value, "ok");
        if (strcmp(there, "ok") != 0 &&
            strcmp(js_get_string(js_get(ours, "syscalls"), m.key, "ok"), "ok") == 0)
            text_addf(&refused, "%s%s (%s)", refused.length > 0 ? ", " : "", m.key, there);
    }
    struct text t = {0};
    if (refused.length > 0) {
        text_addf(&t, "%s refused there%s: memory is not placed", text_string(&refused),
                  nice_there ? "" : ", SYS_NICE is missing");
        add(out, memory_cases, text_take(&t));
    } else if (nice_here && !nice_there) {
        add(out, memory_cases, mem_copy_string("SYS_NICE is missing there"));
    }
    text_free(&refused);
    text_free(&t);
    const char *a = js_get_string(ours, "seccomp", "0");
    const char *b = js_get_string(theirs, "seccomp", "0");
    if (strcmp(a, b) != 0 && strcmp(b, "2") == 0)
        add(out, host_cases, mem_copy_string("a seccomp filter looks at every system call there"));
}

/* What of the environment differs is in the place's own object. */
static void look_at_libraries(const struct run *run, const char *target, struct place_facts *out) {
    const js *theirs = js_get(js_get(js_get(run->header, "places"), target), "environment");
    const js *ours = js_get(run->header, "environment");
    for (struct js_member m = js_first(theirs); m.key != NULL; m = js_next(theirs, m)) {
        if (!text_starts(m.key, "lib.") || !text_ends(m.key, ".version"))
            continue;
        const char *a = js_get_string(ours, m.key, NULL);
        const char *b = js_string(m.value, NULL);
        if (a == NULL || b == NULL || strcmp(a, b) == 0)
            continue;
        char *name = mem_copy_bytes(m.key + 4, strlen(m.key) - 4 - strlen(".version"));
        struct text t = {0};
        text_addf(&t, "lib%s is %s there, %s here", name, b, a);
        add(out,
            strcmp(name, "nccl") == 0     ? nccl_cases
            : text_starts(name, "cublas") ? cublas_cases
                                          : gpu_cases,
            text_take(&t));
        free(name);
    }
}

static void look_at_cpus(const js *ours, const js *theirs, struct place_facts *out) {
    const char *a = js_get_string(ours, "cpus", "");
    const char *b = js_get_string(theirs, "cpus", "");
    struct text t = {0};
    if (strcmp(a, b) != 0 && b[0] != '\0') {
        text_addf(&t, "it may run on CPUs %s, the host on %s: its own placement differs", b, a);
        add(out, anything, text_take(&t));
        out->items[out->n - 1].placement_only = true;
    }
    const char *nodes = js_get_string(theirs, "memory_nodes", "");
    if (nodes[0] != '\0' && strcmp(nodes, js_get_string(ours, "memory_nodes", "")) != 0) {
        text_addf(&t, "its memory comes from NUMA nodes %s only", nodes);
        add(out, memory_cases, text_take(&t));
    }
}

void place_facts_read(const struct run *run, const char *first, const char *target, struct place_facts *out) {
    const js *ours = view_of(run, first);
    const js *theirs = view_of(run, target);
    *out = (struct place_facts){0};
    if (ours != NULL && theirs != NULL) {
        look_at_cpus(ours, theirs, out);
        look_at_shm(ours, theirs, out);
        look_at_rights(ours, theirs, out);
    }
    look_at_libraries(run, target, out);
}

void place_facts_free(struct place_facts *facts) {
    for (size_t i = 0; i < facts->n; i++)
        free(facts->items[i].text);
    free(facts->items);
    *facts = (struct place_facts){0};
}

bool place_fact_fits(const struct place_fact *fact, const char *bench) {
    for (size_t i = 0; fact->cases[i] != NULL; i++)
        if (text_starts(bench, fact->cases[i]))
            return true;
    return false;
}
