/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/host_idle.h"

#include "base/files.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define QOS_DEVICE "/dev/cpu_dma_latency"

/* ---- what was entered ---- */

static bool read_file(const char *root, int cpu, int state, const char *file, struct text *out) {
    struct text path = {0};
    struct error err = {0};
    text_addf(&path, "%s/sys/devices/system/cpu/cpu%d/cpuidle/state%d/%s", root, cpu, state, file);
    bool good = file_read(path.data, 256, out, &err);
    text_free(&path);
    return good;
}

static int64_t read_count(const char *root, int cpu, int state, const char *file) {
    struct text text = {0};
    int64_t value = -1;
    if (!read_file(root, cpu, state, file, &text) || text.length == 0 ||
        !text_to_int(text_trim(text.data), &value))
        value = -1;
    text_free(&text);
    return value;
}

int idle_read(const char *root, int cpu, struct idle_count out[IDLE_MAX_STATES]) {
    int n = 0;
    for (; cpu >= 0 && n < IDLE_MAX_STATES; n++) {
        struct text name = {0};
        bool there = read_file(root, cpu, n, "name", &name) && name.length > 0;
        if (there)
            snprintf(out[n].name, sizeof out[n].name, "%.31s", text_trim(name.data));
        text_free(&name);
        if (!there)
            break;
        out[n].usage = read_count(root, cpu, n, "usage");
        out[n].time_us = read_count(root, cpu, n, "time");
        out[n].above = read_count(root, cpu, n, "above");
        out[n].below = read_count(root, cpu, n, "below");
    }
    return n;
}

static void put_difference(js *to, const char *key, int64_t before, int64_t after) {
    if (before >= 0 && after >= 0)
        js_set_int(to, key, after - before);
}

void idle_record(js *extra, const struct idle_count *before, const struct idle_count *after, int n) {
    if (n <= 0) {
        js_set_string(extra, "idle_states", "not visible");
        return;
    }
    js *states = js_new_object();
    for (int i = 0; i < n; i++) {
        js *state = js_new_object();
        put_difference(state, "usage", before[i].usage, after[i].usage);
        put_difference(state, "time_us", before[i].time_us, after[i].time_us);
        put_difference(state, "above", before[i].above, after[i].above);
        put_difference(state, "below", before[i].below, after[i].below);
        js_set(states, after[i].name, state);
    }
    js_set(extra, "idle_states", states);
}

/* ---- holding deep ones off ---- */

int64_t idle_first_state_bound(const struct node *node) {
    static const char prefix[] = "idle.state.", suffix[] = ".latency_us";
    int64_t first = -1;
    int64_t second = -1;
    for (struct js_member m = js_first(node->environment); m.key != NULL; m = js_next(node->environment, m)) {
        int64_t latency = js_int(m.value, -1);
        if (!text_starts(m.key, prefix) || !text_ends(m.key, suffix) || latency <= 0)
            continue; /* polling has none */
        if (first < 0 || latency < first) {
            second = first;
            first = latency;
        } else if (latency > first && (second < 0 || latency < second)) {
            second = latency;
        }
    }
    return second > 0 && second <= INT32_MAX ? second - 1 : -1;
}

const char *idle_no_control(const struct node *node) {
    const char *driver = node_text(node, "idle.driver");
    if (driver == NULL || strcmp(driver, "none") == 0)
        return "no cpuidle driver here, so there is no idle state to hold off";
    const js *bound = js_get(node->environment, "pm_qos.cpu_latency_us");
    if (bound == NULL)
        return "the kernel's PM-QoS bound (" QOS_DEVICE ") is not to be seen here";
    return js_is_number(bound) ? NULL : "holding a PM-QoS bound needs root";
}

bool idle_hold(int32_t us, int *fd, struct error *err) {
    *fd = open(QOS_DEVICE, O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (*fd < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot open " QOS_DEVICE " for writing: %s",
                           strerror(errno));
    if (write(*fd, &us, sizeof us) == (ssize_t)sizeof us)
        return true;
    int why = errno;
    idle_release(*fd);
    *fd = -1;
    return FAIL_NATIVE(err, ERROR_SYSTEM, why, "cannot hold a PM-QoS bound of %d us: %s", (int)us,
                       strerror(why));
}

void idle_release(int fd) {
    if (fd >= 0)
        close(fd); /* the kernel drops the bound with the descriptor, also when the process dies */
}

int64_t idle_bound(void) {
    int32_t value = -1;
    int fd = open(QOS_DEVICE, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -1;
    bool good = read(fd, &value, sizeof value) == (ssize_t)sizeof value;
    close(fd);
    return good ? value : -1;
}
