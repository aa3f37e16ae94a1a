/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel: release, settings, firmware, identity of this boot and machine. */
#include "base/hash.h"
#include "base/mem.h"
#include "system/facts_read.h"
#include "system/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- command line and sysctls ---- */

/* Cuts the next parameter off `*at`; quotes keep spaces together and are dropped. False at the end. */
static bool next_parameter(const char **at, struct text *out) {
    const char *c = *at + strspn(*at, " \t\n");
    bool quoted = false;
    text_clear(out);
    for (; *c != '\0' && (quoted || strchr(" \t\n", *c) == NULL); c++) {
        if (*c == '"')
            quoted = !quoted;
        else
            text_add_bytes(out, c, 1);
    }
    *at = c;
    return out->length > 0;
}

/* A key that comes several times ("console=") keeps all its values. */
static void add_parameter(struct settings *settings, const char *key, const char *value) {
    struct fact *known = settings_find(settings, key);
    if (known == NULL || known->value == NULL) {
        settings_add(settings, key, fact_text(value));
        return;
    }
    struct text joined = {0};
    text_addf(&joined, "%s,%s", known->value, value);
    free(known->value);
    *known = fact_text(joined.data);
    text_free(&joined);
}

void read_cmdline(const struct source *source, struct settings *out) {
    struct text line = {0}, word = {0};
    if (look_bytes(source, "/proc/cmdline", 16384, &line)) {
        const char *at = text_string(&line);
        /* What follows "--" is for init and no business of the kernel. */
        while (next_parameter(&at, &word) && strcmp(word.data, "--") != 0) {
            char *equals = strchr(word.data, '=');
            if (equals != NULL)
                *equals = '\0';
            add_parameter(out, word.data, equals != NULL ? equals + 1 : "");
        }
    }
    text_free(&line);
    text_free(&word);
}

static void read_sysctls(const struct source *source, struct settings *out) {
    static const char *const keys[] = {
        "kernel.numa_balancing",
        "kernel.timer_migration",
        "kernel.nmi_watchdog",
        "kernel.perf_event_paranoid",
        "kernel.sched_autogroup_enabled",
        "kernel.sched_rt_runtime_us",
        "kernel.yama.ptrace_scope",
        "kernel.randomize_va_space",
        "vm.swappiness",
        "vm.zone_reclaim_mode",
        "vm.overcommit_memory",
        "vm.compaction_proactiveness",
        "vm.max_map_count",
        "vm.nr_hugepages",
        "vm.stat_interval",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char path[96];
        snprintf(path, sizeof path, "/proc/sys/%s", keys[i]);
        for (char *dot = strchr(path, '.'); dot != NULL; dot = strchr(dot, '.'))
            *dot = '/';
        settings_add(out, keys[i], look_fact(source, "%s", path));
    }
}

/* ---- how the kernel was built ---- */

/* The word with PREEMPT in "#1 SMP PREEMPT_DYNAMIC Mon …"; a kernel that has none was built without. */
static struct fact preempt_of(const char *version) {
    if (version == NULL)
        return (struct fact){0};
    const char *at = strstr(version, "PREEMPT");
    if (at == NULL)
        return fact_text("none or voluntary");
    char *word = mem_copy_bytes(at, strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"));
    struct fact out = fact_text(word);
    free(word);
    return out;
}

/* The chosen word of a file that offers several: "always [madvise] never". */
static struct fact chosen(const struct source *source, const char *path) {
    struct fact out = look_fact(source, "%s", path);
    if (out.value != NULL) {
        struct fact word = fact_text(look_choice(out.value));
        free(out.value);
        out = word;
    }
    return out;
}

/* "none voluntary (full)": the scheduler marks its choice by parentheses. */
static struct fact preempt_mode(const struct source *source) {
    struct fact out = look_fact(source, "/sys/kernel/debug/sched/preempt");
    char *open = out.value != NULL ? strchr(out.value, '(') : NULL;
    char *end = open != NULL ? strchr(open, ')') : NULL;
    if (end != NULL) {
        *end = '\0';
        struct fact word = fact_text(open + 1);
        free(out.value);
        return word;
    }
    return out;
}

static void read_hz(const struct source *source, struct kernel_facts *out) {
    static const char *const places[] = {"/boot/config-%s", "/lib/modules/%s/config"};
    for (size_t i = 0; out->release.value != NULL && i < 2 && !out->hz.known; i++) {
        struct text path = {0}, config = {0};
        text_addf(&path, i == 0 ? places[0] : places[1], out->release.value);
        bool good = strchr(out->release.value, '/') == NULL &&
                    look_bytes(source, text_string(&path), 1 << 20, &config);
        const char *line = good ? strstr(text_string(&config), "\nCONFIG_HZ=") : NULL;
        if (line != NULL) {
            char *value = mem_copy_bytes(line + 11, strspn(line + 11, "0123456789"));
            out->hz.known = text_to_int(value, &out->hz.value);
            free(value);
        }
        text_free(&path);
        text_free(&config);
    }
}

/* "2048kB:512"; "none". */
static struct fact hugepages(const struct source *source) {
    struct strings sizes = {0};
    struct text all = {0};
    bool known = look_list(source, "/sys/kernel/mm/hugepages", &sizes);
    for (size_t i = 0; i < sizes.count && i < 16; i++) {
        struct fact_number count =
            look_number(source, "/sys/kernel/mm/hugepages/%.64s/nr_hugepages", sizes.items[i]);
        if (text_starts(sizes.items[i], "hugepages-") && count.known && count.value > 0)
            text_addf(&all, "%s%.32s:%lld", all.length > 0 ? "," : "", sizes.items[i] + 10,
                      (long long)count.value);
    }
    struct fact out = {0};
    if (known)
        out = fact_text(all.length > 0 ? all.data : "none");
    strings_free(&sizes);
    text_free(&all);
    return out;
}

/* ---- identity ---- */

/* Tells machines apart without giving the id away, which others use as a secret. */
static struct fact machine_id(const struct source *source) {
    static const char *const places[] = {"/etc/machine-id", "/var/lib/dbus/machine-id",
                                         "/sys/class/dmi/id/product_uuid"};
    /* A capture that gpuvet wrote has the hash and not the id. */
    struct fact out = fact_text(js_get_string(source->probes, "machine_id", NULL));
    for (size_t i = 0; i < sizeof places / sizeof *places && out.value == NULL; i++) {
        char *id = look_text(source, places[i]);
        struct text salted = {0};
        char hex[65];
        if (id != NULL && strcmp(id, "uninitialized") != 0) {
            text_addf(&salted, "gpuvet%s", id);
            sha256_hex(salted.data, salted.length, hex);
            hex[16] = '\0';
            out = fact_text(hex);
        }
        text_free(&salted);
        free(id);
    }
    return out;
}

static struct fact first_word(struct fact fact) {
    if (fact.value != NULL)
        fact.value[strcspn(fact.value, " ")] = '\0';
    return fact;
}

void read_kernel(const struct source *source, struct kernel_facts *out) {
    out->release = look_fact(source, "/proc/sys/kernel/osrelease");
    if (out->release.value == NULL)
        out->release = fact_text(js_get_string(js_get(source->probes, "uname"), "release", NULL));
    out->version = look_fact(source, "/proc/sys/kernel/version");
    if (out->version.value == NULL)
        out->version = look_fact(source, "/proc/version");
    out->preempt = preempt_of(out->version.value);
    out->preempt_mode = preempt_mode(source);
    out->clocksource = look_fact(source, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    read_hz(source, out);
    read_sysctls(source, &out->sysctl);
    out->thp = chosen(source, "/sys/kernel/mm/transparent_hugepage/enabled");
    out->thp_defrag = chosen(source, "/sys/kernel/mm/transparent_hugepage/defrag");
    out->hugepages = hugepages(source);
    out->bios_version = look_fact(source, "/sys/class/dmi/id/bios_version");
    out->bios_date = look_fact(source, "/sys/class/dmi/id/bios_date");
    out->board = look_fact(source, "/sys/class/dmi/id/board_name");
    out->boot_id = look_fact(source, "/proc/sys/kernel/random/boot_id");
    out->machine_id = machine_id(source);
    out->load = first_word(look_fact(source, "/proc/loadavg"));
}

/* ---- where we are ---- */

static const char *guest_by_vendor(const char *vendor, const char *product) {
    static const struct {
        const char *word, *name;
    } known[] = {
        {"QEMU", "kvm"},           {"KVM", "kvm"},
        {"VMware", "vmware"},      {"Xen", "xen"},
        {"innotek", "virtualbox"}, {"Microsoft", "hyperv"},
        {"Amazon EC2", "amazon"},  {"Google", "google"},
        {"OpenStack", "kvm"},      {"Parallels", "parallels"},
        {"Bochs", "bochs"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(vendor, known[i].word) != NULL || strstr(product, known[i].word) != NULL)
            return known[i].name;
    return NULL;
}

/* The flag says whether; names come from where there is one. Without the flag the firmware's vendor proves
 * nothing: Google and Microsoft make bare machines too. */
static struct fact find_hypervisor(const struct source *source, const struct cpu_facts *cpu) {
    if (!cpu->hypervisor_flag_known)
        return (struct fact){.why = FACT_UNKNOWN};
    if (!cpu->hypervisor_flag)
        return fact_text("none");
    char *xen = look_text(source, "/sys/hypervisor/type");
    char *vendor = look_text(source, "/sys/class/dmi/id/sys_vendor");
    char *product = look_text(source, "/sys/class/dmi/id/product_name");
    char *clocks = look_text(source, "/sys/devices/system/clocksource/clocksource0/available_clocksource");
    const char *name = xen;
    if (name == NULL)
        name = guest_by_vendor(vendor != NULL ? vendor : "", product != NULL ? product : "");
    if (name == NULL && clocks != NULL && strstr(clocks, "kvm-clock") != NULL)
        name = "kvm";
    struct fact out = fact_text(name != NULL ? name : "present");
    free(xen);
    free(vendor);
    free(product);
    free(clocks);
    return out;
}

void read_surroundings(const struct source *source, const struct cpu_facts *cpu, struct kernel_facts *out) {
    out->hypervisor = find_hypervisor(source, cpu);
    out->container = read_container(source);
}
