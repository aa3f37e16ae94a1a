/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the process and of the kernel's memory policy that CUDA's start does not fit into. */
#include "doctor/doctor.h"
#include "doctor/versions.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

enum { CUDA_OUT_OF_MEMORY = 2, CUDA_OPERATING_SYSTEM = 304 };

/* A soft limit; -1: none, or not known. */
static int64_t limit_of(const struct scene *scene, const char *name, const struct fact *fact) {
    int64_t value = js_get_int(js_get(scene->probes, "rlimits"), name, -1);
    if (value >= 0 || fact->value == NULL)
        return value;
    return text_to_int(fact->value, &value) ? value : -1;
}

/* ---- address space ---- */

static void check_address_space(const struct scene *scene, struct findings *out) {
    int64_t limit = limit_of(scene, "as", &scene->facts->limits.address_space);
    int code = versions_cuda_code(scene);
    bool fails = code == CUDA_OUT_OF_MEMORY || code == CUDA_OPERATING_SYSTEM;
    if (limit < 0 || !fails)
        return;
    struct finding *f = finding_add(out, "limits.address-space", SEVERITY_FAIL,
                                    "RLIMIT_AS allows %.1f GiB of address space, too little for CUDA",
                                    (double)limit / (double)(1 << 30));
    finding_evidence(f, "RLIMIT_AS", "%lld bytes", (long long)limit);
    finding_evidence(f, "cuInit", "%d", code);
    finding_remedy(
        f,
        "ulimit -v unlimited   (where it was set: a shell's profile, /etc/security/limits.conf: as, a batch system)");
    finding_remedy(
        f,
        "a service: LimitAS=infinity; a bound on memory itself: MemoryMax= (cgroup), which CUDA's reservations do not count in");
}

/* ---- open files ---- */

/* So few that nothing can be looked at: what was not found then says nothing. */
enum { BLIND = 5 };

static void say_open_files(int64_t limit, struct findings *out) {
    bool blind = limit <= BLIND;
    struct finding *f = finding_add(
        out, "limits.open-files", SEVERITY_FAIL, "RLIMIT_NOFILE allows %lld open files, too few for CUDA%s",
        (long long)limit, blind ? ", and for doctor to look at this machine" : "");
    finding_evidence(f, "RLIMIT_NOFILE", "%lld", (long long)limit);
    finding_remedy(f, "ulimit -n 1024   (or more: each GPU takes some)%s", blind ? "; then ask again" : "");
    finding_remedy(f, "a service: LimitNOFILE=65536; Docker: --ulimit nofile=65536");
}

/* Below the measured one the libraries may fail in other ways, or not be loaded at all; want of memory is
 * none of them. */
static void check_open_files(const struct scene *scene, struct findings *out) {
    enum { BASE = 48, PER_GPU = 16, MEASURED = 8 };
    int64_t limit = limit_of(scene, "nofile", &scene->facts->limits.nofile);
    int count = versions_nvml_count(scene);
    int64_t wanted = BASE + PER_GPU * (count > 0 ? count : 1);
    int code = versions_cuda_code(scene);
    if (limit < 0 || limit >= wanted || (code == 0 && limit > BLIND))
        return;
    bool hopeless = limit <= MEASURED && code != CUDA_OUT_OF_MEMORY && versions_is_loaded(scene) == 1;
    if (limit > BLIND && code != CUDA_OPERATING_SYSTEM && !hopeless)
        return;
    say_open_files(limit, out);
    if (code >= 0)
        finding_evidence(&out->items[out->count - 1], "cuInit", "%d", code);
}

/* ---- /proc ---- */

static void check_proc(const struct scene *scene, struct findings *out) {
    static const char *const signs[] = {"/proc/self/status", "/proc/self/mountinfo", "/proc/version",
                                        "/proc/cmdline",     "/proc/meminfo",        "/proc/devices",
                                        "/proc/uptime"};
    int code = versions_cuda_code(scene);
    /* Known live. A capture may well have been made without these files, so there CUDA's answer must say it
     * too. */
    bool seen = strcmp(js_get_string(scene->probes, "proc", ""), "not mounted") == 0;
    if (!seen && code != CUDA_OPERATING_SYSTEM)
        return;
    for (size_t i = 0; !seen && i < sizeof signs / sizeof *signs; i++)
        if (look_exists(scene->source, signs[i]))
            return;
    struct finding *f =
        finding_add(out, "limits.no-proc", SEVERITY_FAIL,
                    code >= 0 ? "/proc is not mounted, and CUDA reads it when it starts"
                              : "/proc is not mounted: CUDA reads it when it starts, and nothing else can be "
                                "told of the driver without it");
    finding_evidence(f, "/proc", "nothing in it");
    if (code >= 0)
        finding_evidence(f, "cuInit", "%d", code);
    finding_remedy(
        f, "mount -t proc proc /proc   (a chroot; a sandbox: bwrap --proc /proc, unshare --mount-proc)");
}

/* ---- overcommit ---- */

/* kB of a line of /proc/meminfo; -1 unknown. */
static int64_t meminfo(const char *text, const char *name) {
    char *value = text == NULL ? NULL : look_field(text, name);
    int64_t out = -1;
    if (value != NULL) {
        value[strcspn(value, " ")] = '\0';
        if (!text_to_int(value, &out))
            out = -1;
    }
    free(value);
    return out;
}

static void check_overcommit(const struct scene *scene, struct findings *out) {
    const int64_t wanted_kb = 8LL << 20;
    char *mode = look_text(scene->source, "/proc/sys/vm/overcommit_memory");
    char *memory = look_text(scene->source, "/proc/meminfo");
    int64_t most = meminfo(memory, "CommitLimit"), used = meminfo(memory, "Committed_AS");
    const struct kernel_event *event = kernel_log_last(&scene->log, EVENT_NO_COMMIT, NULL);
    bool strict = mode != NULL && strcmp(mode, "2") == 0;
    bool tight = strict && most >= 0 && used >= 0 && most - used < wanted_kb;
    bool by_driver = strict && event != NULL && event->first != NULL && strstr(event->first, "nvc:") != NULL;
    bool works = versions_cuda_works(scene);
    bool fails = versions_cuda_code(scene) == CUDA_OUT_OF_MEMORY;
    if ((tight && !works) || (strict && fails) || (by_driver && !works)) {
        bool proven = fails || by_driver;
        struct finding *f =
            finding_add(out, "limits.overcommit", proven ? SEVERITY_FAIL : SEVERITY_WARN,
                        "vm.overcommit_memory is 2 and leaves too little for CUDA's reservations");
        finding_evidence(f, "/proc/sys/vm/overcommit_memory", "2");
        if (most >= 0 && used >= 0)
            finding_evidence(f, "/proc/meminfo", "CommitLimit %lld MiB, of which Committed_AS %lld MiB",
                             (long long)(most / 1024), (long long)(used / 1024));
        if (event != NULL)
            finding_evidence(f, "kernel log", "%s", event->text);
        finding_remedy(f, "%ssysctl vm.overcommit_memory=0   (lasting: in /etc/sysctl.d, where 2 is set)",
                       scene->container ? "on the host: " : "");
        finding_remedy(
            f,
            "or keep 2 and raise the limit: vm.overcommit_ratio=95, or more swap; the price of 0: memory can run out at use instead of at malloc");
    }
    free(mode);
    free(memory);
}

static const struct rule rules[] = {
    {.id = "limits.address-space",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "RLIMIT_AS is too small for CUDA",
     .needs = "probes.json: rlimits, cuInit",
     .cause =
         "CUDA reserves address space for all memory of the machine and its GPUs; with 8 GiB cuInit answers 2, out of memory",
     .remedy = "no limit on address space",
     .source = "measured: RLIMIT_AS 8 GiB, cuInit 2",
     .check = check_address_space},
    {.id = "limits.open-files",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "RLIMIT_NOFILE is too small for CUDA",
     .needs = "probes.json: rlimits, cuInit",
     .cause = "the driver library opens nodes and files for each GPU; when it may not, cuInit answers 304",
     .remedy = "at least 1024 open files",
     .source = "measured: RLIMIT_NOFILE 8, cuInit 304",
     .check = check_open_files},
    {.id = "limits.no-proc",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "/proc is not mounted",
     .needs = "/proc, probes.json: cuInit",
     .cause = "the driver library reads /proc/self and /proc/devices; without them cuInit answers 304",
     .remedy = "mount it",
     .source = "measured: /proc not mounted, cuInit 304",
     .check = check_proc},
    {.id = "limits.overcommit",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "strict overcommit leaves too little",
     .needs = "/proc/sys/vm/overcommit_memory, /proc/meminfo, kernel log, probes.json: cuInit",
     .cause =
         "with vm.overcommit_memory=2 every reservation counts as used: CUDA and the container runtime reserve 8 GiB and more at once",
     .remedy = "vm.overcommit_memory=0, or a higher limit",
     .source =
         "public thread: __vm_enough_memory … nvc:[driver] after an upgrade (cause not confirmed there)",
     .check = check_overcommit},
    {0},
};

const struct rule_family family_limits = {"limits", rules};
