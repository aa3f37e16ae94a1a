/* SPDX-License-Identifier: Apache-2.0 */
#include "system/probe_live.h"

#include "base/bounded.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static const int64_t item_ns = 1 * NS_PER_S;
static const int64_t all_ns = 1500 * NS_PER_MS;

static js *uname_json(void) {
    struct utsname name;
    js *out = js_new_object();
    if (uname(&name) == 0) {
        js_set_string(out, "release", name.release);
        js_set_string(out, "version", name.version);
        js_set_string(out, "machine", name.machine);
    }
    return out;
}

static js *groups_json(void) {
    enum { MAX_GROUPS = 65536 };
    js *out = js_new_array();
    int count = getgroups(0, NULL);
    gid_t *groups = mem_zeroed(count > 0 ? (size_t)count : 1, sizeof *groups);
    count = count > 0 && count <= MAX_GROUPS ? getgroups(count, groups) : 0;
    for (int i = 0; i < count; i++)
        js_append(out, js_new_int(groups[i]));
    free(groups);
    return out;
}

static js *rlimits_json(void) {
    static const struct {
        const char *key;
        __rlimit_resource_t which;
    } rows[] = {{"nofile", RLIMIT_NOFILE},
                {"memlock", RLIMIT_MEMLOCK},
                {"as", RLIMIT_AS},
                {"nproc", RLIMIT_NPROC},
                {"data", RLIMIT_DATA}};
    js *out = js_new_object();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rlimit limit;
        if (getrlimit(rows[i].which, &limit) == 0)
            js_set_int(out, rows[i].key, limit.rlim_cur == RLIM_INFINITY ? -1 : (int64_t)limit.rlim_cur);
    }
    return out;
}

/* By allow-list: variables may hold secrets. */
static bool is_allowed(const char *name) {
    static const char *const prefixes[] = {
        "CUDA_",      "NCCL_", "NVIDIA_VISIBLE_DEVICES=", "NVIDIA_DRIVER_CAPABILITIES=", "LD_LIBRARY_PATH=",
        "LD_PRELOAD="};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (text_starts(name, prefixes[i]))
            return true;
    return false;
}

static js *env_json(void) {
    js *out = js_new_object();
    for (char **e = environ; *e != NULL; e++) {
        const char *equals = strchr(*e, '=');
        if (equals == NULL || !is_allowed(*e))
            continue;
        char *name = mem_copy_bytes(*e, (size_t)(equals - *e));
        js_set_string(out, name, equals + 1);
        free(name);
    }
    return out;
}

/* ---- file systems ---- */

static const char *const mounts[] = {"/dev/shm", "/tmp"};
enum { N_MOUNTS = sizeof mounts / sizeof *mounts };

static void ask_statfs(void *argument, size_t index, struct text *answer) {
    struct statvfs fs;
    (void)argument;
    if (statvfs(mounts[index], &fs) == 0)
        text_addf(answer, "%llu", (unsigned long long)fs.f_blocks * fs.f_frsize);
}

static js *statfs_json(void) {
    js *out = js_new_object();
    struct bounded_answer *answers = bounded_each(ask_statfs, NULL, N_MOUNTS, item_ns, all_ns);
    for (size_t i = 0; i < N_MOUNTS; i++) {
        int64_t bytes = 0;
        if (answers[i].text != NULL && text_to_int(answers[i].text, &bytes))
            js_set_int(out, mounts[i], bytes);
        else if (answers[i].tried && answers[i].how == BOUNDED_LATE)
            js_set(out, mounts[i], js_new_null());
    }
    bounded_answers_free(answers, N_MOUNTS);
    return out;
}

/* ---- what makes nodes and loads modules for whoever asks ---- */

static void ask_modprobe(void *argument, size_t index, struct text *answer) {
    struct stat st;
    (void)argument, (void)index;
    if (stat("/usr/bin/nvidia-modprobe", &st) == 0)
        text_add(answer, st.st_uid == 0 && (st.st_mode & S_ISUID) != 0 ? "setuid" : "plain");
}

static void add_modprobe(js *out) {
    struct bounded_answer *answer = bounded_each(ask_modprobe, NULL, 1, item_ns, item_ns);
    if (answer[0].text != NULL)
        js_set_string(out, "nvidia_modprobe", answer[0].text[0] == '\0' ? "absent" : answer[0].text);
    bounded_answers_free(answer, 1);
}

/* ---- what seccomp lets through ---- */

/* Each call is made so that it changes nothing where it is allowed. */
static long call_get_mempolicy(void) {
    int mode = 0;
    return syscall(SYS_get_mempolicy, &mode, NULL, 0UL, NULL, 0UL);
}

static long call_set_mempolicy(void) {
    return syscall(SYS_set_mempolicy, 0, NULL, 0UL);
}

static long call_mbind(void) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? -1 : syscall(SYS_mbind, page, size, 0, NULL, 0UL, 0U);
}

static long call_move_pages(void) {
    void *page = (void *)&mounts;
    int status = 0;
    return syscall(SYS_move_pages, 0, 1UL, &page, NULL, &status, 0);
}

static const struct {
    const char *name;
    long (*call)(void);
} calls[] = {
    {"get_mempolicy", call_get_mempolicy},
    {"set_mempolicy", call_set_mempolicy},
    {"mbind", call_mbind},
    {"move_pages", call_move_pages},
};
enum { N_CALLS = sizeof calls / sizeof *calls };

static void ask_call(void *argument, size_t index, struct text *answer) {
    (void)argument;
    const char *name = calls[index].call() >= 0 ? "ok" : strerrorname_np(errno);
    text_add(answer, name != NULL ? name : "unknown");
}

static js *syscalls_json(void) {
    js *out = js_new_object();
    struct bounded_answer *answers = bounded_each(ask_call, NULL, N_CALLS, item_ns, all_ns);
    for (size_t i = 0; i < N_CALLS; i++)
        if (answers[i].tried)
            js_set_string(out, calls[i].name,
                          answers[i].text != NULL          ? answers[i].text
                          : answers[i].how == BOUNDED_LATE ? "timeout"
                                                           : "SIGSYS");
    bounded_answers_free(answers, N_CALLS);
    return out;
}

js *probe_live(void) {
    js *out = js_new_object();
    js_set(out, "uname", uname_json());
    js_set_int(out, "uid", geteuid());
    js_set_int(out, "gid", getegid());
    js_set(out, "groups", groups_json());
    js_set(out, "rlimits", rlimits_json());
    js_set(out, "statfs", statfs_json());
    js_set(out, "syscalls", syscalls_json());
    js_set(out, "env", env_json());
    add_modprobe(out);
    if (access("/proc/self", F_OK) != 0)
        js_set_string(out, "proc", "not mounted");
    return out;
}
