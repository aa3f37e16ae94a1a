/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs: model, frequency scaling, idle states. */
#include "base/mem.h"
#include "system/facts_read.h"
#include "system/look.h"
#include "system/qos_holders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_IDLE_STATES = 16 };

#define CPU_ROOT "/sys/devices/system/cpu"

/* ---- /proc/cpuinfo ---- */

static bool has_word(const char *text, const char *word) {
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static struct fact field_fact(const char *text, const char *name) {
    char *value = look_field(text, name);
    struct fact out = fact_text(value);
    free(value);
    return out;
}

/* The first processor's block; on a big machine the file is a megabyte, all alike. */
static void read_cpuinfo(const struct source *source, struct cpu_facts *out) {
    struct text text = {0};
    if (look_bytes(source, "/proc/cpuinfo", 16384, &text)) {
        char *end = strstr(text_string(&text), "\n\n");
        if (end != NULL)
            *end = '\0';
        out->model = field_fact(text_string(&text), "model name");
        out->microcode = field_fact(text_string(&text), "microcode");
        char *flags = look_field(text_string(&text), "flags");
        out->hypervisor_flag_known = flags != NULL;
        out->hypervisor_flag = flags != NULL && has_word(flags, "hypervisor");
        free(flags);
    }
    text_free(&text);
}

/* "mitigated: meltdown spectre_v1; vulnerable: mds"; what the CPU is not affected by is left out. */
static void read_mitigations(const struct source *source, struct cpu_facts *out) {
    struct strings names = {0};
    struct text mitigated = {0}, vulnerable = {0};
    bool known = look_list(source, CPU_ROOT "/vulnerabilities", &names);
    for (size_t i = 0; i < names.count && i < 64; i++) {
        struct fact state = look_fact(source, CPU_ROOT "/vulnerabilities/%.64s", names.items[i]);
        if (state.value != NULL && text_starts(state.value, "Vulnerable"))
            text_addf(&vulnerable, " %.64s", names.items[i]);
        else if (state.value != NULL && !text_starts(state.value, "Not affected"))
            text_addf(&mitigated, " %.64s", names.items[i]);
        free(state.value);
    }
    struct text all = {0};
    if (mitigated.length > 0)
        text_addf(&all, "mitigated:%s", mitigated.data);
    if (vulnerable.length > 0)
        text_addf(&all, "%svulnerable:%s", all.length > 0 ? "; " : "", vulnerable.data);
    if (known && names.count > 0)
        out->mitigations = fact_text(all.length > 0 ? all.data : "not affected");
    text_free(&all);
    text_free(&mitigated);
    text_free(&vulnerable);
    strings_free(&names);
}

/* ---- frequency ---- */

static bool is_numbered(const char *name, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 && name[length] != '\0' &&
           name[length + strspn(name + length, "0123456789")] == '\0' && strlen(name) < length + 8;
}

static void read_policies(const struct source *source, struct cpu_facts *out) {
    struct tally driver = {0}, governor = {0}, epp = {0}, boost = {0};
    struct strings policies = {0};
    look_list(source, CPU_ROOT "/cpufreq", &policies);
    for (size_t i = 0; i < policies.count; i++) {
        const char *name = policies.items[i];
        if (!is_numbered(name, "policy"))
            continue;
        tally_add(&driver, look_fact(source, CPU_ROOT "/cpufreq/%s/scaling_driver", name));
        tally_add(&governor, look_fact(source, CPU_ROOT "/cpufreq/%s/scaling_governor", name));
        tally_add(&epp, look_fact(source, CPU_ROOT "/cpufreq/%s/energy_performance_preference", name));
        tally_add(&boost, look_fact(source, CPU_ROOT "/cpufreq/%s/boost", name));
    }
    strings_free(&policies);
    out->scaling_driver = tally_take(&driver);
    out->governor = tally_take(&governor);
    out->epp = tally_take(&epp);
    out->boost = tally_take(&boost);
}

/* One switch for all CPUs comes before the policies' own; intel_pstate has it the other way round. */
static void read_boost(const struct source *source, struct cpu_facts *out) {
    struct fact global = look_fact(source, CPU_ROOT "/cpufreq/boost");
    struct fact_number no_turbo = look_number(source, CPU_ROOT "/intel_pstate/no_turbo");
    if (global.value == NULL && no_turbo.known)
        global = fact_text(no_turbo.value == 0 ? "1" : "0");
    bool off = global.value != NULL && strcmp(global.value, "0") == 0;
    if (global.value != NULL && (off || out->boost.value == NULL)) {
        free(out->boost.value);
        out->boost = global;
    } else {
        free(global.value);
    }
}

static struct fact_number khz_to_mhz(struct fact_number khz) {
    khz.value /= 1000;
    return khz;
}

static struct fact allowed_cpus(const struct source *source) {
    struct text text = {0};
    struct fact out = {0};
    if (look_bytes(source, "/proc/self/status", 16384, &text))
        out = field_fact(text_string(&text), "Cpus_allowed_list");
    text_free(&text);
    return out;
}

void read_cpu(const struct source *source, struct cpu_facts *out) {
    read_cpuinfo(source, out);
    read_mitigations(source, out);
    read_policies(source, out);
    read_boost(source, out);
    out->amd_pstate_status = look_fact(source, CPU_ROOT "/amd_pstate/status");
    out->smt = look_fact(source, CPU_ROOT "/smt/control");
    out->online = look_fact(source, CPU_ROOT "/online");
    out->allowed = allowed_cpus(source);
    out->max_mhz = khz_to_mhz(look_number(source, CPU_ROOT "/cpufreq/policy0/cpuinfo_max_freq"));
    out->frequency_mhz = khz_to_mhz(look_number(source, CPU_ROOT "/cpufreq/policy0/scaling_cur_freq"));
}

/* ---- idle ---- */

static const int64_t no_bound_us = 2000000000; /* the kernel's own default */

static void read_recorded_pm_qos(const struct source *source, struct idle_facts *out) {
    const js *bound = js_get(source->probes, "pm_qos_cpu_latency_us");
    const char *holders = js_get_string(source->probes, "pm_qos_holders", NULL);
    if (js_is_number(bound))
        out->pm_qos_latency_us = (struct fact_number){.known = true, .value = js_int(bound, 0)};
    else if (strcmp(js_string(bound, ""), FACT_NEEDS_ROOT) == 0)
        out->pm_qos_latency_us.why = FACT_NEEDS_ROOT;
    if (holders != NULL && strcmp(holders, FACT_NEEDS_ROOT) == 0)
        out->pm_qos_holders.why = FACT_NEEDS_ROOT;
    else
        out->pm_qos_holders = fact_text(holders);
}

/* Reading the effective bound disturbs nothing; only writing to the device does. */
static void read_bound(struct fact_number *out) {
    int fd = open("/dev/cpu_dma_latency", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    int32_t value = 0;
    if (fd < 0 && (errno == EACCES || errno == EPERM))
        out->why = FACT_NEEDS_ROOT;
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && read(fd, &value, sizeof value) == sizeof value)
        *out = (struct fact_number){.known = true, .value = value};
    close(fd);
}

/* Where no bound is in force nobody holds one that counts, and all the descriptors need no look. */
static void read_holders(struct idle_facts *out) {
    if (!out->pm_qos_latency_us.known) {
        out->pm_qos_holders.why = out->pm_qos_latency_us.why;
        return;
    }
    if (out->pm_qos_latency_us.value >= no_bound_us) {
        out->pm_qos_holders = fact_text("none");
        return;
    }
    struct qos_holders found;
    qos_holders_find("", &found);
    char *text = qos_holders_text(&found);
    out->pm_qos_holders = fact_text(text);
    if (text == NULL)
        out->pm_qos_holders.why = FACT_NEEDS_ROOT;
    free(text);
}

static void read_pm_qos(const struct source *source, struct idle_facts *out) {
    if (!source->live) {
        read_recorded_pm_qos(source, out);
        return;
    }
    read_bound(&out->pm_qos_latency_us);
    read_holders(out);
}

static void read_states(const struct source *source, const char *cpu, struct idle_facts *out) {
    out->states = mem_zeroed(MAX_IDLE_STATES, sizeof *out->states);
    for (int i = 0; i < MAX_IDLE_STATES; i++) {
        struct idle_state *state = &out->states[i];
        state->name = look_fact(source, CPU_ROOT "/%s/cpuidle/state%d/name", cpu, i).value;
        if (state->name == NULL)
            return;
        state->latency_us = look_number(source, CPU_ROOT "/%s/cpuidle/state%d/latency", cpu, i);
        state->residency_us = look_number(source, CPU_ROOT "/%s/cpuidle/state%d/residency", cpu, i);
        out->n_states++;
    }
}

void read_idle(const struct source *source, struct idle_facts *out) {
    out->driver = look_fact(source, CPU_ROOT "/cpuidle/current_driver");
    out->governor = look_fact(source, CPU_ROOT "/cpuidle/current_governor");
    if (out->governor.value == NULL)
        out->governor = look_fact(source, CPU_ROOT "/cpuidle/current_governor_ro");
    read_pm_qos(source, out);
    struct strings names = {0};
    struct tally disabled[MAX_IDLE_STATES] = {0};
    look_list(source, CPU_ROOT, &names);
    for (size_t i = 0; i < names.count; i++) {
        if (!is_numbered(names.items[i], "cpu"))
            continue;
        if (out->n_states == 0 && out->states == NULL)
            read_states(source, names.items[i], out);
        for (size_t s = 0; s < out->n_states; s++)
            tally_add(&disabled[s],
                      look_fact(source, CPU_ROOT "/%s/cpuidle/state%zu/disable", names.items[i], s));
    }
    for (size_t s = 0; s < MAX_IDLE_STATES; s++)
        if (s < out->n_states)
            out->states[s].disabled = tally_take(&disabled[s]);
    strings_free(&names);
}
