/* SPDX-License-Identifier: Apache-2.0 */
/* What collectives need beside P2P: shared memory, calls that a container may forbid, lockable memory for
 * RDMA, a version that knows the GPU; and what a run proved. */
#include "doctor/doctor.h"
#include "doctor/p2p_facts.h"
#include "doctor/versions.h"
#include "system/look.h"

#include <stdio.h>
#include <string.h>

static const double mib = 1 << 20;

/* ---- how GPUs reach each other ---- */

static bool is_set(const struct scene *scene, const char *name) {
    const char *value = versions_variable(scene, name);
    return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

static const char *level_off(const struct scene *scene) {
    const char *level = versions_variable(scene, "NCCL_P2P_LEVEL");
    return level != NULL && (strcmp(level, "LOC") == 0 || strcmp(level, "0") == 0) ? level : NULL;
}

/* Pairs for which the driver offers no P2P; the first one. */
static int pairs_without(const struct p2p_facts *p, int pair[2], const char **word) {
    int n = 0;
    for (size_t i = 0; p->known && i < p->gpus.count; i++)
        for (size_t k = 0; k < p->gpus.count; k++) {
            const char *says = gpu_list_p2p(&p->gpus, (int)i, (int)k);
            if (i == k || says[0] == '\0' || strcmp(says, "OK") == 0)
                continue;
            if (n++ == 0) {
                pair[0] = (int)i;
                pair[1] = (int)k;
                *word = says;
            }
        }
    return n;
}

/* Whether NCCL goes through shared memory here: it is told to, or some pair has no P2P. Evidence is added. */
static bool through_host(const struct scene *scene, struct finding *f) {
    struct p2p_facts p;
    int pair[2] = {0, 0};
    const char *word = "";
    p2p_facts_read(scene, &p);
    int n = pairs_without(&p, pair, &word);
    bool told = is_set(scene, "NCCL_P2P_DISABLE"), level = level_off(scene) != NULL;
    if (told && f != NULL)
        finding_evidence(f, "NCCL_P2P_DISABLE", "%s", versions_variable(scene, "NCCL_P2P_DISABLE"));
    if (level && f != NULL)
        finding_evidence(f, "NCCL_P2P_LEVEL", "%s", level_off(scene));
    if (n > 0 && f != NULL)
        finding_evidence(f, "nvmlDeviceGetP2PStatus", "%s to %s: %s (%d pair%s without P2P)",
                         p.gpus.items[pair[0]].bdf, p.gpus.items[pair[1]].bdf, word, n, n == 1 ? "" : "s");
    p2p_facts_free(&p);
    return told || level || n > 0;
}

/* ---- /dev/shm ---- */

enum { SHM_WANTED = 1 << 30, SEGMENT = 9637892 };

static int64_t shm_bytes(const struct scene *scene) {
    return js_get_int(js_get(scene->probes, "statfs"), "/dev/shm", -1);
}

static bool shm_is_small(const struct scene *scene) {
    int64_t bytes = shm_bytes(scene);
    return bytes >= 0 && bytes < SHM_WANTED && versions_nvml_count(scene) >= 2 &&
           !is_set(scene, "NCCL_SHM_DISABLE");
}

static void remedy_shm(struct finding *f, const struct scene *scene) {
    const char *manager = scene->container ? scene->manager : "none";
    bool unknown = manager[0] == '\0';
    if (unknown || strcmp(manager, "docker") == 0 || strcmp(manager, "podman") == 0)
        finding_remedy(f, "docker run --shm-size=8g … (Compose: shm_size: 8gb), or --ipc=host");
    if (unknown || strcmp(manager, "kubernetes") == 0)
        finding_remedy(f, "Kubernetes: an emptyDir volume with medium: Memory, mounted at /dev/shm");
    if (unknown || strcmp(manager, "lxc") == 0)
        finding_remedy(f, "LXC: lxc.mount.entry: tmpfs dev/shm tmpfs rw,nosuid,nodev,size=8g,create=dir 0 0");
    if (strcmp(manager, "none") == 0)
        finding_remedy(f, "mount -o remount,size=8g /dev/shm   (lasting: its line in /etc/fstab)");
}

static void check_shm(const struct scene *scene, struct findings *out) {
    int gpus = versions_nvml_count(scene);
    if (!shm_is_small(scene))
        return;
    bool needed = through_host(scene, NULL);
    struct finding *f =
        finding_add(out, "nccl.shm-small", needed ? SEVERITY_WARN : SEVERITY_INFO,
                    "/dev/shm has %.4g MiB, and NCCL %s", (double)shm_bytes(scene) / mib,
                    needed ? "goes through it here: collectives fail with \"No space left on device\""
                           : "would need more without P2P");
    finding_evidence(f, "statfs /dev/shm", "%lld bytes", (long long)shm_bytes(scene));
    finding_evidence(f, "segments of NCCL", "%.1f MiB each, several a pair: 2 GPUs need more than 64 MiB",
                     SEGMENT / mib);
    finding_evidence(f, "GPUs by NVML", "%d", gpus);
    through_host(scene, f);
    remedy_shm(f, scene);
    if (is_set(scene, "NCCL_P2P_DISABLE"))
        finding_remedy(f, "or unset NCCL_P2P_DISABLE, where P2P works (gpuvet run --case 'p2p.*' shows it)");
}

/* What dead jobs left behind counts against the size. */
static void check_stale(const struct scene *scene, struct findings *out) {
    struct strings names = {0};
    size_t left = 0;
    const char *first = NULL;
    look_list(scene->source, "/dev/shm", &names);
    for (size_t i = 0; i < names.count; i++)
        if (text_starts(names.items[i], "nccl-")) {
            first = first == NULL ? names.items[i] : first;
            left++;
        }
    int64_t bytes = shm_bytes(scene);
    bool tight = bytes >= 0 && (double)left * SEGMENT > 0.5 * (double)bytes;
    if (left > 0) {
        struct finding *f =
            finding_add(out, "nccl.shm-left", tight ? SEVERITY_WARN : SEVERITY_INFO,
                        "%zu segment%s of NCCL in /dev/shm, of running jobs or left by dead ones", left,
                        left == 1 ? "" : "s");
        finding_evidence(f, "/dev/shm", "%.60s%s", first, left > 1 ? " …" : "");
        finding_evidence(f, "together", "up to %.0f MiB", (double)left * SEGMENT / mib);
        finding_remedy(f, "where no process holds them (fuser -v /dev/shm/nccl-*): rm /dev/shm/nccl-*");
    }
    strings_free(&names);
}

/* ---- get_mempolicy ---- */

static void check_mempolicy(const struct scene *scene, struct findings *out) {
    const char *answer = js_get_string(js_get(scene->probes, "syscalls"), "get_mempolicy", "ok");
    bool denied =
        strcmp(answer, "EPERM") == 0 || strcmp(answer, "SIGSYS") == 0 || strcmp(answer, "ENOSYS") == 0;
    if (!denied)
        return;
    bool shm = findings_has(out, "nccl.shm-small", SEVERITY_WARN);
    struct finding *f = finding_add(out, "nccl.mempolicy", shm ? SEVERITY_WARN : SEVERITY_INFO,
                                    "get_mempolicy is not allowed here (%s)%s", answer,
                                    shm ? ", so that NCCL needs /dev/shm all the more" : "");
    finding_evidence(f, "get_mempolicy", "%s", answer);
    finding_remedy(f, "docker run --cap-add SYS_NICE …, or a seccomp profile that allows get_mempolicy, "
                      "set_mempolicy and mbind");
    if (shm)
        finding_remedy(f, "and enlarge /dev/shm: NCCL falls back to it without these calls");
}

/* ---- memlock ---- */

/* A device, not the kernel's part alone: every kernel that has RDMA built in has the class, if empty. */
static bool has_rdma(const struct scene *scene) {
    struct strings names = {0};
    bool any = look_list(scene->source, "/sys/class/infiniband", &names) && names.count > 0;
    strings_free(&names);
    return any || look_exists(scene->source, "/dev/infiniband") ||
           look_exists(scene->source, "/sys/module/mlx5_ib");
}

static void check_memlock(const struct scene *scene, struct findings *out) {
    const int64_t wanted = INT64_C(1) << 30;
    int64_t limit = js_get_int(js_get(scene->probes, "rlimits"), "memlock", -1);
    if (limit < 0 || limit >= wanted || !has_rdma(scene) || versions_nvml_count(scene) < 1)
        return;
    struct finding *f =
        finding_add(out, "nccl.memlock", SEVERITY_WARN, "RLIMIT_MEMLOCK is %lld KiB, too little for RDMA",
                    (long long)limit / 1024);
    finding_evidence(f, "RLIMIT_MEMLOCK", "%lld bytes", (long long)limit);
    finding_evidence(f, "RDMA", "%s",
                     look_exists(scene->source, "/dev/infiniband") ? "/dev/infiniband"
                                                                   : "an adapter is there");
    finding_remedy(f, "ulimit -l unlimited; lasting: \"* - memlock unlimited\" in /etc/security/limits.conf, "
                      "then log in anew");
    finding_remedy(f, "a service: LimitMEMLOCK=infinity; Docker: --ulimit memlock=-1");
}

/* ---- version ---- */

/* 22602 of "2.26.2". 0: not known. */
static int64_t version_number(const char *text) {
    int major = 0, minor = 0, patch = 0;
    if (text == NULL || sscanf(text, "%d.%d.%d", &major, &minor, &patch) < 2 || major != 2 || minor < 9)
        return 0;
    return major * 10000 + minor * 100 + patch;
}

/* As the library said itself, else from its file's name. */
static int64_t nccl_version(const struct scene *scene, const char **path) {
    const char *told = NULL;
    for (size_t i = 0; i < N_LIBRARIES; i++)
        if (strcmp(scene->facts->libraries[i].name, "nccl") == 0)
            told = scene->facts->libraries[i].version.value;
    *path = versions_library(scene, "nccl");
    int64_t asked = js_get_int(js_get(scene->probes, "versions"), "nccl", 0);
    return asked > 0 ? asked : version_number(told);
}

static void check_version(const struct scene *scene, struct findings *out) {
    enum { FIRST_SOUND_SM120 = 22700 };
    const js *gpus = js_get(scene->probes, "gpus");
    const char *path = NULL;
    const js *young = NULL;
    int64_t version = nccl_version(scene, &path);
    for (size_t i = 0; i < js_length(gpus); i++)
        if (text_starts(js_get_string(js_at(gpus, i), "cc", ""), "12."))
            young = js_at(gpus, i);
    if (young == NULL || version <= 0 || version >= FIRST_SOUND_SM120)
        return;
    struct finding *f =
        finding_add(out, "nccl.too-old", SEVERITY_WARN, "NCCL %lld.%lld.%lld is too old for %s (sm_120)",
                    (long long)version / 10000, (long long)version / 100 % 100, (long long)version % 100,
                    js_get_string(young, "name", "this GPU"));
    finding_evidence(f, path != NULL ? path : "NCCL", "%lld", (long long)version);
    finding_evidence(f, js_get_string(young, "bdf", "GPU"), "compute capability %s",
                     js_get_string(young, "cc", "?"));
    finding_remedy(f, "pip install -U nvidia-nccl-cu13 (or -cu12), or apt install --only-upgrade libnccl2: "
                      "2.27 or newer");
    finding_remedy(f, "a program that brings its own NCCL (PyTorch): a newer build of it");
}

static void check_disabled(const struct scene *scene, struct findings *out) {
    struct p2p_facts p;
    int pair[2];
    const char *word = "";
    p2p_facts_read(scene, &p);
    bool offered = p.known && pairs_without(&p, pair, &word) == 0;
    p2p_facts_free(&p);
    bool off = is_set(scene, "NCCL_P2P_DISABLE") || level_off(scene) != NULL;
    if (!off || !offered)
        return;
    struct finding *f = finding_add(out, "nccl.p2p-off", SEVERITY_INFO,
                                    "NCCL is told not to use P2P, which the driver offers between all GPUs");
    through_host(scene, f);
    finding_remedy(f, "if P2P is sound (gpuvet run --case 'p2p.*' --case 'nccl.*'): unset NCCL_P2P_DISABLE "
                      "and NCCL_P2P_LEVEL");
}

/* ---- what a run proved ---- */

static void remedy_hang(struct finding *f, bool p2p) {
    if (p2p)
        finding_remedy(f, "until it is mended: NCCL_P2P_DISABLE=1 (with it the same collective ends)");
    finding_remedy(f, "IOMMU: iommu=pt, or off on bare metal (cat /proc/cmdline; dmesg | grep -i iommu)");
    finding_remedy(f, "ACS: no redirection on the bridges between the GPUs (gpuvet topo; lspci -vvv | grep "
                      "ACSCtl)");
    finding_remedy(f, "HMM: options nvidia_uvm uvm_disable_hmm=1, then reboot");
    finding_remedy(f,
                   "shared memory: df /dev/shm; topology: nvidia-smi topo -m, NCCL_TOPO_DUMP_FILE=topo.xml");
}

static void check_proof(const struct scene *scene, struct findings *out) {
    static const struct {
        const char *id, *title;
    } rows[] = {
        {"nccl.hang", "a collective never ends"},
        {"nccl.wrong", "a collective's result is wrong"},
        {"nccl.no-space", "a collective failed for want of space in /dev/shm"},
    };
    const js *proof = js_get(scene->probes, "p2p_proof");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct finding *f = NULL;
        bool p2p = false;
        for (size_t i = 0; i < js_length(proof); i++) {
            const js *one = js_at(proof, i);
            if (strcmp(js_get_string(one, "finding", ""), rows[r].id) != 0)
                continue;
            if (f == NULL)
                f = finding_add(out, rows[r].id, SEVERITY_FAIL, "%s", rows[r].title);
            finding_evidence(f, js_get_string(one, "from", "?"), "with %s: %s", js_get_string(one, "to", "?"),
                             js_get_string(one, "why", "failed"));
            p2p = p2p || strcmp(js_get_string(one, "control", ""), "ok") == 0;
        }
        if (f == NULL)
            continue;
        static const char *const causes[] = {"p2p.copy", "p2p.exchange", "p2p.hang",
                                             "p2p.acs",  "p2p.iommu",    "nccl.shm-small"};
        for (size_t c = 0; c < (r == 2 ? 0 : 5) && f->consequence_of == NULL; c++)
            if (findings_has(out, causes[c], SEVERITY_FAIL))
                finding_follows(f, causes[c]);
        if (r == 2)
            remedy_shm(f, scene);
        else
            remedy_hang(f, p2p);
    }
}

static const struct rule rules[] = {
    {.id = "nccl.shm-small",
     .area = AREA_NCCL,
     .severity = SEVERITY_WARN,
     .title = "/dev/shm is small for NCCL",
     .needs = "probes.json: statfs, p2p, env",
     .cause = "where two GPUs have no P2P, NCCL copies through segments of 9.6 MB each in /dev/shm, which a "
              "container has 64 MiB of by default; with P2P it needs none",
     .remedy = "a larger /dev/shm",
     .source =
         "measured: 64 MiB, NCCL_P2P_DISABLE=1: failed to extend /dev/shm/nccl-…; with P2P it works; NCCL "
         "issues 290, 342, 525",
     .check = check_shm},
    {.id = "nccl.shm-left",
     .area = AREA_NCCL,
     .severity = SEVERITY_WARN,
     .title = "segments of NCCL lie in /dev/shm",
     .needs = "/dev/shm, probes.json: statfs",
     .cause = "a job that was killed leaves its segments, which count against the size of /dev/shm",
     .remedy = "remove those that no process holds",
     .source = "NCCL issue 1518",
     .check = check_stale},
    {.id = "nccl.mempolicy",
     .area = AREA_NCCL,
     .severity = SEVERITY_WARN,
     .title = "get_mempolicy is forbidden",
     .needs = "probes.json: syscalls",
     .cause =
         "Docker's seccomp profile allows get_mempolicy, set_mempolicy and mbind only with CAP_SYS_NICE; NCCL "
         "then falls back to /dev/shm, and memory cannot be bound to a NUMA node: slower, not broken",
     .remedy = "--cap-add SYS_NICE",
     .source = "vllm issue 24016, moby issue 37241",
     .check = check_mempolicy},
    {.id = "nccl.memlock",
     .area = AREA_NCCL,
     .severity = SEVERITY_WARN,
     .title = "RLIMIT_MEMLOCK is too small for RDMA",
     .needs = "probes.json: rlimits; /dev/infiniband",
     .cause = "an RDMA adapter locks the memory that it reads and writes; NCCL then fails in ibv_reg_mr",
     .remedy = "unlimited memlock",
     .source = "nccl-tests issue 206",
     .check = check_memlock},
    {.id = "nccl.too-old",
     .area = AREA_NCCL,
     .severity = SEVERITY_WARN,
     .title = "NCCL is older than the GPU",
     .needs = "probes.json: gpus, libs, versions",
     .cause =
         "NCCL before 2.27 has known failures on sm_120: illegal memory accesses from 512 KiB up, launches "
         "that want more shared memory than there is",
     .remedy = "NCCL 2.27 or newer",
     .source = "NCCL issues 2418, 1637; nccl-tests issue 287",
     .check = check_version},
    {.id = "nccl.p2p-off",
     .area = AREA_NCCL,
     .severity = SEVERITY_INFO,
     .title = "NCCL is told not to use P2P",
     .needs = "probes.json: env, p2p",
     .cause = "a variable that was once a way around a fault keeps all traffic between GPUs in host memory",
     .remedy = "unset it where P2P is sound",
     .source = "NCCL's documentation of its variables",
     .check = check_disabled},
    {.id = "nccl.hang",
     .area = AREA_NCCL,
     .severity = SEVERITY_FAIL,
     .title = "a collective never ends",
     .needs = "a run: gpuvet run --case 'nccl.*'",
     .cause = "what one GPU writes into another's memory, or a flag of it, never arrives: an IOMMU that "
              "translates or blocks, ACS that redirects, HMM, or memory that is not shared",
     .remedy = "the path between the GPUs; until then NCCL_P2P_DISABLE=1",
     .source = "NCCL issues 1999, 2079",
     .check = check_proof},
    {.id = "nccl.wrong",
     .area = AREA_NCCL,
     .severity = SEVERITY_FAIL,
     .title = "a collective's result is wrong",
     .needs = "a run: gpuvet run --case 'nccl.*'",
     .cause = "data between GPUs is lost or comes from elsewhere, and no call says so",
     .remedy = "the path between the GPUs; until then NCCL_P2P_DISABLE=1",
     .source = "open-gpu-kernel-modules issue 1257"},
    {.id = "nccl.no-space",
     .area = AREA_NCCL,
     .severity = SEVERITY_FAIL,
     .title = "a collective found no space in /dev/shm",
     .needs = "a run: gpuvet run --case 'nccl.*'",
     .cause = "NCCL's segments did not fit into /dev/shm",
     .remedy = "a larger /dev/shm",
     .source = "measured: 64 MiB, NCCL_P2P_DISABLE=1"},
    {0},
};

const struct rule_family family_nccl = {"nccl", rules};
