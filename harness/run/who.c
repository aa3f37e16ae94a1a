/* SPDX-License-Identifier: Apache-2.0 */
#include "run/who.h"

#include "base/files.h"
#include "base/mem.h"
#include "base/text.h"
#include "system/cgroup.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_SHOWN = 12, NAME_MOST = 40 };

/* What follows `mark` up to the end of that name. */
static bool name_after(const char *lines, const char *mark, char out[NAME_MOST + 1]) {
    const char *at = strstr(lines, mark);
    if (at == NULL)
        return false;
    at += strlen(mark);
    size_t n = strcspn(at, "/\n");
    n = n < NAME_MOST ? n : NAME_MOST;
    memcpy(out, at, n);
    out[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)out[i]) && strchr("._-", out[i]) == NULL)
            out[i] = '?'; /* it goes to a terminal */
    return n > 0;
}

static bool is_id(const char *s) {
    return strlen(s) >= ID_SHOWN && strspn(s, "0123456789abcdef") >= ID_SHOWN;
}

bool who_container(const char *cgroup, char *out, size_t size) {
    static const struct {
        const char *mark, *manager;
        bool id; /* a long number, shown by its beginning as the managers themselves do */
    } known[] = {
        {"/docker/", "docker", true},          {"/docker-", "docker", true},
        {"/libpod-", "podman", true},          {"/cri-containerd-", "kubernetes", true},
        {"/crio-", "kubernetes", true},        {"/lxc.payload.", "lxc", false},
        {"/lxc.payload/", "lxc", false},       {"/lxc/", "lxc", false},
        {"/systemd-nspawn@", "nspawn", false},
    };
    char name[NAME_MOST + 1];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (name_after(cgroup, known[i].mark, name) && (!known[i].id || is_id(name))) {
            snprintf(out, size, "%s container %.*s", known[i].manager, known[i].id ? ID_SHOWN : NAME_MOST,
                     name);
            return true;
        }
    return false;
}

static char *process_file(int64_t pid, const char *file) {
    char path[64];
    struct text text = {0};
    struct error ignored = {0};
    snprintf(path, sizeof path, "/proc/%lld/%s", (long long)pid, file);
    if (file_read(path, 65536, &text, &ignored))
        return text_take(&text);
    text_free(&text);
    return NULL;
}

void who_process(int64_t pid, const char *name, char *out, size_t size) {
    char *comm = name != NULL ? mem_copy_string(name) : process_file(pid, "comm");
    char *cgroup = process_file(pid, "cgroup");
    char container[80] = "";
    if (cgroup != NULL)
        who_container(cgroup, container, sizeof container);
    if (comm != NULL) {
        char *clean = text_printable(text_trim(comm));
        snprintf(out, size, "PID %lld (%.40s%s%s)", (long long)pid, clean, container[0] != '\0' ? ", " : "",
                 container);
        free(clean);
    } else {
        snprintf(out, size, "PID %lld", (long long)pid);
    }
    free(comm);
    free(cgroup);
}

/* False: this group has no bound. */
static bool quota_of(const struct source *source, const struct cgroup_place *place, struct who_quota *out) {
    long long quota = -1;
    long long period = -1;
    char *first = cgroup_text(source, place, place->v2 ? "cpu.max" : "cpu.cfs_quota_us");
    char *second = place->v2 ? NULL : cgroup_text(source, place, "cpu.cfs_period_us");
    bool bound = first != NULL && (place->v2 ? sscanf(first, "%lld %lld", &quota, &period) == 2
                                             : second != NULL && sscanf(first, "%lld", &quota) == 1 &&
                                                   sscanf(second, "%lld", &period) == 1);
    free(first);
    free(second);
    if (!bound || quota <= 0 || period <= 0)
        return false;
    char *clean = text_printable(place->path[0] != '\0' ? place->path : "/");
    snprintf(out->group, sizeof out->group, "%.120s", clean);
    free(clean);
    out->quota_us = quota;
    out->period_us = period;
    return true;
}

static double cpus_of(const struct who_quota *quota) {
    return (double)quota->quota_us / (double)quota->period_us;
}

bool who_quota(const struct source *source, struct who_quota *out) {
    struct cgroup_place place;
    bool found = false;
    if (!cgroup_find(source, "cpu", &place))
        return false;
    do {
        struct who_quota here;
        if (quota_of(source, &place, &here) && (!found || cpus_of(&here) < cpus_of(out))) {
            *out = here;
            found = true;
        }
    } while (cgroup_up(&place));
    cgroup_place_free(&place);
    return found;
}

void who_throttles(char *out, size_t size) {
    struct source live;
    struct error ignored = {0};
    struct who_quota quota;
    snprintf(out, size, "this cgroup's CPU quota");
    if (!source_live(&live, &ignored))
        return;
    if (who_quota(&live, &quota))
        snprintf(out, size, "the CPU quota of cgroup %s (%lld of %lld us)", quota.group,
                 (long long)quota.quota_us, (long long)quota.period_us);
    source_free(&live);
}

bool who_lacks_cpus(const struct source *source, int cpus, char *out, size_t size) {
    struct who_quota quota;
    if (!who_quota(source, &quota) || cpus_of(&quota) >= cpus)
        return false;
    snprintf(out, size,
             "the CPU quota of cgroup %s (%lld of %lld us) is %.3g CPUs, and gpuvet may run on %d: what uses "
             "more is held back, and its figures are flagged cpu-quota",
             quota.group, (long long)quota.quota_us, (long long)quota.period_us, cpus_of(&quota), cpus);
    return true;
}
