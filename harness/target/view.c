/* SPDX-License-Identifier: Apache-2.0 */
#include "target/view.h"

#include "base/files.h"
#include "system/facts.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SYS_NICE_BIT = 23, MAX_STATUS = 1 << 16 };

static const struct {
    const char *name;
    __rlimit_resource_t which;
} limits[] = {{"nofile", RLIMIT_NOFILE}, {"memlock", RLIMIT_MEMLOCK}, {"nproc", RLIMIT_NPROC},
              {"as", RLIMIT_AS},         {"stack", RLIMIT_STACK},     {"rtprio", RLIMIT_RTPRIO},
              {"nice", RLIMIT_NICE}};
enum { N_LIMITS = sizeof limits / sizeof *limits };

static js *read_limits(pid_t pid) {
    js *out = js_new_object();
    for (size_t i = 0; i < N_LIMITS; i++) {
        struct rlimit r;
        if (prlimit(pid, limits[i].which, NULL, &r) == 0)
            js_set_int(out, limits[i].name, r.rlim_cur == RLIM_INFINITY ? -1 : (int64_t)r.rlim_cur);
        else
            js_set(out, limits[i].name, js_new_null());
    }
    return out;
}

/* A call that a seccomp filter or a missing capability refuses is one that libraries trip over. */
static const char *outcome_of(long result) {
    if (result == 0)
        return "ok";
    const char *name = strerrorname_np(errno);
    return name != NULL ? name : "unknown";
}

static js *try_calls(void) {
    js *out = js_new_object();
    int mode = 0;
    js_set_string(out, "get_mempolicy", outcome_of(syscall(SYS_get_mempolicy, &mode, NULL, 0UL, NULL, 0UL)));
    long page = sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) {
        js_set_string(out, "mbind",
                      outcome_of(syscall(SYS_mbind, memory, page, (long)MPOL_DEFAULT, NULL, 0UL, 0UL)));
        void *pages[1] = {memory};
        int status[1] = {0};
        js_set_string(out, "move_pages", outcome_of(syscall(SYS_move_pages, 0, 1UL, pages, NULL, status, 0)));
        munmap(memory, (size_t)page);
    }
    return out;
}

static void add_status(js *out, const char *key, const char *status, const char *name) {
    struct strings lines = {0};
    strings_split(&lines, status, '\n');
    js_set(out, key, js_new_null());
    for (size_t i = 0; i < lines.count; i++)
        if (text_starts(lines.items[i], name) && lines.items[i][strlen(name)] == ':')
            js_set_string(out, key, text_trim(lines.items[i] + strlen(name) + 1));
    strings_free(&lines);
}

static js *folder_flag(const char *path, unsigned long flag) {
    struct statvfs fs;
    return statvfs(path, &fs) == 0 ? js_new_bool((fs.f_flag & flag) != 0) : js_new_null();
}

js *view_read(void) {
    js *out = js_new_object();
    struct text status = {0};
    struct text map = {0};
    struct error ignored = {0};
    file_read("/proc/self/status", MAX_STATUS, &status, &ignored);
    file_read("/proc/self/uid_map", MAX_STATUS, &map, &ignored);
    add_status(out, "capabilities", text_string(&status), "CapEff");
    add_status(out, "seccomp", text_string(&status), "Seccomp");
    add_status(out, "no_new_privileges", text_string(&status), "NoNewPrivs");
    add_status(out, "cpus", text_string(&status), "Cpus_allowed_list");
    add_status(out, "memory_nodes", text_string(&status), "Mems_allowed_list");
    const char *capabilities = js_get_string(out, "capabilities", NULL);
    if (capabilities != NULL)
        js_set_bool(out, "sys_nice", (strtoull(capabilities, NULL, 16) >> SYS_NICE_BIT & 1) != 0);
    js_set_bool(out, "user_namespace", map.length > 0 && strstr(map.data, "4294967295") == NULL);
    struct statvfs shm;
    js_set(out, "shm_mib",
           statvfs("/dev/shm", &shm) == 0
               ? js_new_int((int64_t)((double)shm.f_blocks * (double)shm.f_frsize / (1 << 20)))
               : js_new_null());
    js_set(out, "tmp_noexec", folder_flag("/tmp", ST_NOEXEC));
    js_set(out, "syscalls", try_calls());
    js_set(out, "limits", read_limits(0));
    js_set(out, "init_limits", read_limits(1));
    text_free(&status);
    text_free(&map);
    return out;
}

void view_take_init_limits(void) {
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit r;
        /* What is refused stays as it is and shows in the record: limits beside init_limits. */
        if (prlimit(1, (__rlimit_resource_t)i, NULL, &r) == 0)
            setrlimit((__rlimit_resource_t)i, &r);
    }
}
