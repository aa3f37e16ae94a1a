/* SPDX-License-Identifier: Apache-2.0 */
/* What the system's own files say, read through a root path: "/" live, DIR/root for a capture. A fact that is
 * missing is unknown; nothing here guesses, and nothing here needs a GPU, CUDA or NVML. */
#ifndef GPUVET_SYSTEM_FACTS_H
#define GPUVET_SYSTEM_FACTS_H

#include "base/error.h"
#include "base/json.h"
#include "system/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The reasons that stand in the place of a value in the environment. */
#define FACT_NEEDS_ROOT "needs root"
#define FACT_UNKNOWN "unknown"

/* One fact that may be unknown: `value` NULL with the reason in `why` ("needs root", "unknown"; NULL: it is
 * not there). `value` is owned by the struct facts it is in. */
struct fact {
    char *value;
    const char *why; /* static text */
};

struct fact_number {
    bool known;
    int64_t value;
    const char *why; /* where not known, as above */
};

/* Several of a kind: kernel parameters, sysctls, module parameters. */
struct setting {
    char *key;
    struct fact value;
};
struct settings {
    struct setting *items;
    size_t count, capacity;
};

/* Where CPUs differ, a text counts them: "performance:60,powersave:4". */
struct cpu_facts {
    struct fact model, microcode, smt, mitigations;
    struct fact scaling_driver, amd_pstate_status, governor, epp, boost;
    struct fact online;  /* the kernel's list, "0-127" */
    struct fact allowed; /* what this process may run on */
    struct fact_number max_mhz;
    struct fact_number frequency_mhz; /* now, of the first CPU: moves */
    bool hypervisor_flag, hypervisor_flag_known;
};

struct idle_state {
    char *name; /* "C2" */
    struct fact_number latency_us, residency_us;
    struct fact disabled; /* "0", "1", or counted over CPUs */
};
struct idle_facts {
    struct fact driver, governor;
    struct idle_state *states;
    size_t n_states;
    struct fact_number pm_qos_latency_us; /* the effective bound; 2000000000: none */
    struct fact pm_qos_holders;           /* "4711 tuned": who keeps one (qos_holders.h); moves */
};

struct kernel_facts {
    struct fact release, version, preempt, preempt_mode, clocksource;
    struct fact_number hz;
    struct settings cmdline, sysctl;
    struct fact thp, thp_defrag, hugepages;
    struct fact iommu_mode;
    struct fact bios_version, bios_date, board;
    struct fact boot_id, machine_id;
    struct fact hypervisor, container;
    struct fact load; /* moves */
};

struct module_facts {
    char *name;
    struct fact version;
    struct settings parameters;
};

struct numa_node_facts {
    int os_index;
    struct fact_number memory_mib;
    struct fact cpus;
};
struct memory_facts {
    struct numa_node_facts *nodes;
    size_t n_nodes;
    struct fact_number total_mib;
    struct fact_number available_mib; /* moves */
    struct fact_number shm_mib;       /* size of /dev/shm */
};

/* One PCI device on the way to a GPU: the GPU and each bridge above it up to the root port. */
struct pci_facts {
    char bdf[16];
    char parent[16]; /* the bridge above; "": none, or not known */
    bool gpu;
    int vendor, device, class_code; /* -1 unknown */
    struct fact driver;
    struct fact_number numa_node; /* -1 known: the firmware does not say */
    struct fact_number link_gen, link_width, link_gen_max, link_width_max;
    struct fact_number mps, mrrs;    /* bytes */
    struct fact_number acs_control;  /* the control word */
    struct fact_number aspm_control; /* Link Control bits 0 and 1 */
    struct fact acs, aspm;           /* in words: "SrcValid+ReqRedir", "off", "none" (no capability) */
};

/* A line of /proc/devices, character devices only. */
struct chrdev {
    char *name;
    int major;
};

struct library_facts {
    const char *name; /* "cuda", of libcuda.so.1 */
    struct fact path; /* links resolved */
    struct fact version, sha256;
};
enum { N_LIBRARIES = 5 };

struct cgroup_facts {
    struct fact cpuset;
    struct fact cpu_max; /* as cgroup v2 writes it: "400000 100000", "max" */
};

struct limit_facts {
    struct fact nofile, memlock, address_space; /* soft limits; "unlimited" */
};

struct facts {
    struct cpu_facts cpu;
    struct idle_facts idle;
    struct kernel_facts kernel;
    struct memory_facts memory;
    struct module_facts *modules;
    size_t n_modules;
    struct pci_facts *pci;
    size_t n_pci;
    struct fact gpu_irq_affinity;
    struct chrdev *chrdevs;
    size_t n_chrdevs;
    struct library_facts libraries[N_LIBRARIES];
    struct cgroup_facts cgroup;
    struct limit_facts limits;
    struct settings variables; /* of the process's environment, by allow-list */
};

struct files_table;
struct recording;

/* Where facts come from. */
struct source {
    char *root; /* "" live (so that root + "/proc" is a path), DIR/root for a capture */
    bool live;
    js *probes;        /* a capture's probes.json; NULL live */
    char *topology;    /* a capture's topology.xml; NULL: none */
    char *dev_table;   /* a capture's dev.tsv; NULL: none, and live */
    char *files_table; /* a capture's files.tsv; likewise */
    char *kernel_log;  /* klog.txt; live filled by whoever reads the log; NULL: not known */
    char *where;       /* a capture's "host" or "container"; NULL live */
    char *manager;     /* a capture's "lxc", "docker", …; NULL live or unknown */
    /* The same taken apart, for look.h; NULL: none. */
    struct files_table *files;
    bool recorded; /* gpuvet wrote the capture: what it lacks of what facts read was not there */
    /* What is looked at is noted here, to be written as a capture; borrowed, NULL: not wanted. */
    struct recording *recording;
    bool hash_libraries; /* also read whole libraries for their sha256: seconds, so off at first */
};
bool source_live(struct source *out, struct error *err);
/* Reads gpuvet.capture/1 as far as these facts go. Hostile input: every path is resolved as if DIR/root were
 * / (links included), odd file types, depth over 64, over 200,000 entries or 512 MiB are refused. */
bool source_capture(const char *dir, struct source *out, struct error *err);
void source_free(struct source *source);
/* Whether what is missing was not there: live, and in a capture that gpuvet wrote. In any other it is not
 * known. */
static inline bool source_is_whole(const struct source *source) {
    return source->live || source->recorded;
}

struct facts *facts_read(const struct source *source, struct error *err);
void facts_free(struct facts *facts);
/* Flat projection: stable keys to `stable`, what moves by itself to `moving`. Both are JSON objects. */
void facts_environment(const struct facts *facts, js *stable, js *moving);

/* Facts, topology and (from a capture) GPUs together. Live, `gpus` are added by the caller (gpu/ reads them).
 */
bool node_read(const struct source *source, struct node *out, struct error *err);

#endif
