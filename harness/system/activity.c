/* SPDX-License-Identifier: Apache-2.0 */
#include "system/activity.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/text.h"
#include "system/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL_FILE = 65536, STAT_FILE = 4 << 20 };

/* The file's text, NULL when it cannot be read. Release with text_free. */
static const char *slurp(const char *root, const char *path, size_t limit, struct text *out) {
    struct error ignored = {0};
    char *whole = path_join(root, path);
    text_clear(out);
    bool good = file_read(root[0] == '\0' ? path : whole, limit, out, &ignored);
    free(whole);
    return good ? text_string(out) : NULL;
}

/* Idle times of 512 CPUs over half a year are more nanoseconds than 63 bits hold: times wrap around, and what
 * they grew by is right all the same. */
static int64_t ticks_to_ns(uint64_t ticks) {
    long hz = sysconf(_SC_CLK_TCK);
    return (int64_t)(ticks * (uint64_t)(NS_PER_S / (hz > 0 ? hz : 100)));
}

static int64_t growth(int64_t from, int64_t to) {
    return (int64_t)((uint64_t)to - (uint64_t)from);
}

static bool read_cpu(const char *root, struct activity *out, struct error *err) {
    struct text text = {0};
    uint64_t t[8] = {0}; /* user nice system idle iowait irq softirq steal */
    const char *stat = slurp(root, "/proc/stat", STAT_FILE, &text);
    int n = stat == NULL ? 0
                         : sscanf(stat,
                                  "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                                  " %" SCNu64 " %" SCNu64,
                                  &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]);
    text_free(&text);
    if (n < 4)
        return FAIL(err, ERROR_SYSTEM, "cannot read CPU times from /proc/stat");
    out->busy_ns = ticks_to_ns(t[0] + t[1] + t[2] + t[5] + t[6]);
    out->steal_ns = ticks_to_ns(t[7]);
    out->total_ns = ticks_to_ns(t[0] + t[1] + t[2] + t[3] + t[4] + t[5] + t[6] + t[7]);
    return true;
}

static int64_t read_pressure(const char *root, const char *path) {
    struct text text = {0};
    int64_t total = -1;
    const char *content = slurp(root, path, SMALL_FILE, &text);
    const char *found = content != NULL && text_starts(content, "some ") ? strstr(content, "total=") : NULL;
    if (found == NULL || sscanf(found, "total=%" SCNd64, &total) != 1)
        total = -1;
    text_free(&text);
    return total;
}

/* The value behind a word at the start of a line. */
static int64_t stat_value(const char *lines, const char *key) {
    size_t length = strlen(key);
    int64_t value = -1;
    for (const char *at = strstr(lines, key); at != NULL && value < 0; at = strstr(at + 1, key))
        if ((at == lines || at[-1] == '\n') && at[length] == ' ' &&
            sscanf(at + length, " %" SCNd64, &value) != 1)
            value = -1;
    return value;
}

/* As far as the groups above can be seen; each counts only what its own quota did. */
int64_t activity_throttled_ns(const char *root) {
    char *copy = mem_copy_string(root);
    const struct source source = {.root = copy, .live = root[0] == '\0'};
    struct cgroup_place place;
    int64_t sum = -1;
    if (cgroup_find(&source, "cpu", &place)) {
        do {
            char *lines = cgroup_text(&source, &place, "cpu.stat");
            int64_t held =
                lines == NULL ? -1 : stat_value(lines, place.v2 ? "throttled_usec" : "throttled_time");
            free(lines);
            int64_t unit = place.v2 ? NS_PER_US : 1;
            if (held >= 0 && held < INT64_MAX / 4 / unit && sum < INT64_MAX / 2)
                sum = (sum < 0 ? 0 : sum) + held * unit;
        } while (cgroup_up(&place));
        cgroup_place_free(&place);
    }
    free(copy);
    return sum;
}

/* "PID (name, which may hold anything) S PPID … utime stime …" */
static bool parse_process(const char *stat, struct activity_process *out) {
    const char *open = strchr(stat, '(');
    const char *close = strrchr(stat, ')');
    long parent = 0;
    uint64_t user = 0;
    uint64_t system = 0;
    if (open == NULL || close == NULL || close < open)
        return false;
    if (sscanf(close + 1, " %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &parent, &user,
               &system) != 3)
        return false;
    size_t n = (size_t)(close - open - 1);
    char *name = mem_copy_bytes(open + 1, n);
    char *clean = text_printable(name);
    snprintf(out->name, sizeof out->name, "%.19s", clean);
    free(clean);
    free(name);
    out->parent = (pid_t)parent;
    out->cpu_ns = ticks_to_ns(user + system);
    return true;
}

static int by_pid(const void *a, const void *b) {
    pid_t x = ((const struct activity_process *)a)->pid;
    pid_t y = ((const struct activity_process *)b)->pid;
    return (x > y) - (x < y);
}

static void read_processes(const char *root, struct activity *out) {
    char *proc = path_join(root, "/proc");
    DIR *dir = opendir(root[0] == '\0' ? "/proc" : proc);
    free(proc);
    size_t capacity = 0;
    struct dirent *entry;
    struct text text = {0};
    while (dir != NULL && (entry = readdir(dir)) != NULL && out->n_processes < ACTIVITY_MAX_PROCESSES) {
        int64_t pid = 0;
        char path[64];
        struct activity_process process = {0};
        if (!isdigit((unsigned char)entry->d_name[0]) || !text_to_int(entry->d_name, &pid) || pid > INT32_MAX)
            continue;
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        const char *stat = slurp(root, path, SMALL_FILE, &text);
        if (stat == NULL || !parse_process(stat, &process))
            continue;
        process.pid = (pid_t)pid;
        out->processes = mem_grow(out->processes, out->n_processes, &capacity, sizeof *out->processes);
        out->processes[out->n_processes++] = process;
    }
    text_free(&text);
    if (dir != NULL)
        closedir(dir);
    if (out->n_processes > 1)
        qsort(out->processes, out->n_processes, sizeof *out->processes, by_pid);
}

bool activity_read(const char *root, struct activity *out, struct error *err) {
    struct clock clock = clock_real();
    *out = (struct activity){.at_ns = clock_now(&clock)};
    if (!read_cpu(root, out, err))
        return RELAY(err);
    out->psi_cpu_us = read_pressure(root, "/proc/pressure/cpu");
    out->psi_io_us = read_pressure(root, "/proc/pressure/io");
    out->psi_memory_us = read_pressure(root, "/proc/pressure/memory");
    out->throttled_ns = activity_throttled_ns(root);
    read_processes(root, out);
    return true;
}

void activity_free(struct activity *activity) {
    free(activity->processes);
    *activity = (struct activity){0};
}

static const struct activity_process *find(const struct activity *in, pid_t pid) {
    struct activity_process key = {.pid = pid};
    if (in->n_processes == 0)
        return NULL;
    return bsearch(&key, in->processes, in->n_processes, sizeof key, by_pid);
}

static bool is_ours(const struct activity *in, const struct activity_process *process, pid_t self) {
    for (int depth = 0; process != NULL && depth < 64; depth++) {
        if (process->pid == self)
            return true;
        process = find(in, process->parent);
    }
    return false;
}

static double pressure_share(int64_t from, int64_t to, double seconds) {
    return from < 0 || to < 0 || !(seconds > 0) ? NAN : (double)(to - from) / 1e6 / seconds;
}

void activity_between(const struct activity *from, const struct activity *to, pid_t self,
                      int64_t own_ended_ns, struct activity_report *out) {
    *out = (struct activity_report){.seconds = (double)(to->at_ns - from->at_ns) / 1e9};
    uint64_t own = (uint64_t)own_ended_ns;
    int64_t top = 0;
    for (size_t i = 0; i < to->n_processes; i++) {
        const struct activity_process *now = &to->processes[i];
        const struct activity_process *before = find(from, now->pid);
        int64_t used = growth(before != NULL ? before->cpu_ns : 0, now->cpu_ns);
        if (is_ours(to, now, self)) {
            own += (uint64_t)used;
        } else if (used > top) {
            top = used;
            out->top_pid = now->pid;
            snprintf(out->top_name, sizeof out->top_name, "%s", now->name);
        }
    }
    double total = (double)growth(from->total_ns, to->total_ns);
    double foreign = (double)growth((int64_t)own, growth(from->busy_ns, to->busy_ns));
    out->cpu_share = total > 0 && foreign > 0 ? foreign / total : 0;
    out->steal_share = total > 0 ? (double)growth(from->steal_ns, to->steal_ns) / total : 0;
    out->top_share = out->seconds > 0 ? (double)top / 1e9 / out->seconds : 0;
    out->psi_cpu = pressure_share(from->psi_cpu_us, to->psi_cpu_us, out->seconds);
    out->psi_io = pressure_share(from->psi_io_us, to->psi_io_us, out->seconds);
    out->psi_memory = pressure_share(from->psi_memory_us, to->psi_memory_us, out->seconds);
    out->throttled = from->throttled_ns >= 0 && to->throttled_ns > from->throttled_ns;
}
