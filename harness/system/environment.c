/* SPDX-License-Identifier: Apache-2.0 */
/* The flat projection of struct facts: one dotted key a fact. What is not there has no key; what could not be
 * seen says why in the value's place. */
#include "base/text.h"
#include "system/facts_read.h"

#include <stdio.h>

static void put(js *to, const char *key, const struct fact *fact) {
    const char *value = fact->value != NULL ? fact->value : fact->why;
    if (value != NULL)
        js_set_string(to, key, value);
}

static void put_number(js *to, const char *key, const struct fact_number *fact) {
    if (fact->known)
        js_set_int(to, key, fact->value);
    else if (fact->why != NULL)
        js_set_string(to, key, fact->why);
}

static void put_settings(js *to, const char *prefix, const struct settings *settings) {
    for (size_t i = 0; i < settings->count; i++) {
        char key[256];
        snprintf(key, sizeof key, "%s.%s", prefix, settings->items[i].key);
        put(to, key, &settings->items[i].value);
    }
}

static void project_cpu(const struct facts *f, js *stable, js *moving) {
    put(stable, "cpu.model", &f->cpu.model);
    put(stable, "cpu.microcode", &f->cpu.microcode);
    put(stable, "cpu.smt", &f->cpu.smt);
    put(stable, "cpu.mitigations", &f->cpu.mitigations);
    put(stable, "cpu.scaling_driver", &f->cpu.scaling_driver);
    put(stable, "cpu.amd_pstate.status", &f->cpu.amd_pstate_status);
    put(stable, "cpu.governor", &f->cpu.governor);
    put(stable, "cpu.epp", &f->cpu.epp);
    put(stable, "cpu.boost", &f->cpu.boost);
    put(stable, "cpu.online", &f->cpu.online);
    put(stable, "cpu.allowed", &f->cpu.allowed);
    put_number(stable, "cpu.max_mhz", &f->cpu.max_mhz);
    put_number(moving, "cpu.frequency_mhz", &f->cpu.frequency_mhz);
    put(stable, "idle.driver", &f->idle.driver);
    put(stable, "idle.governor", &f->idle.governor);
    for (size_t i = 0; i < f->idle.n_states; i++) {
        const struct idle_state *s = &f->idle.states[i];
        char key[160];
        snprintf(key, sizeof key, "idle.state.%s.latency_us", s->name);
        put_number(stable, key, &s->latency_us);
        snprintf(key, sizeof key, "idle.state.%s.disabled", s->name);
        put(stable, key, &s->disabled);
    }
    put_number(stable, "pm_qos.cpu_latency_us", &f->idle.pm_qos_latency_us);
    put(moving, "pm_qos.holders", &f->idle.pm_qos_holders); /* PIDs are others after each start */
}

static void project_kernel(const struct facts *f, js *stable, js *moving) {
    const struct kernel_facts *k = &f->kernel;
    put(stable, "kernel.release", &k->release);
    put(stable, "kernel.version", &k->version);
    put(stable, "kernel.preempt", &k->preempt);
    put(stable, "kernel.preempt_mode", &k->preempt_mode);
    put_number(stable, "kernel.hz", &k->hz);
    put(stable, "kernel.clocksource", &k->clocksource);
    put_settings(stable, "cmdline", &k->cmdline);
    put_settings(stable, "sysctl", &k->sysctl);
    put(stable, "thp", &k->thp);
    put(stable, "thp.defrag", &k->thp_defrag);
    put(stable, "hugepages", &k->hugepages);
    put(stable, "iommu.mode", &k->iommu_mode);
    put(stable, "bios.version", &k->bios_version);
    put(stable, "bios.date", &k->bios_date);
    put(stable, "board", &k->board);
    put(stable, "hypervisor", &k->hypervisor);
    put(stable, "container", &k->container);
    put(stable, "machine_id", &k->machine_id);
    put(moving, "load", &k->load);
    put(stable, "boot_id", &k->boot_id);
}

static void project_memory(const struct facts *f, js *stable, js *moving) {
    const struct memory_facts *m = &f->memory;
    js_set_int(stable, "numa.nodes", (int64_t)m->n_nodes);
    for (size_t i = 0; i < m->n_nodes; i++) {
        char key[64];
        snprintf(key, sizeof key, "numa.node%d.cpus", m->nodes[i].os_index);
        put(stable, key, &m->nodes[i].cpus);
    }
    /* Memory can grow in a guest while it is used. */
    put_number(moving, "memory.total_mib", &m->total_mib);
    put_number(moving, "memory.available_mib", &m->available_mib);
    put_number(stable, "memory.shm_mib", &m->shm_mib);
}

static void project_pci_device(const struct pci_facts *d, js *stable, js *moving) {
    const struct {
        const char *name;
        const struct fact_number *value;
        js *to;
    } numbers[] = {
        {"link_gen", &d->link_gen, moving}, /* falls while a GPU idles, and its bridges' with it */
        {"link_width", &d->link_width, stable},
        {"link_gen_max", &d->link_gen_max, stable},
        {"link_width_max", &d->link_width_max, stable},
        {"mps", &d->mps, stable},
        {"mrrs", &d->mrrs, stable},
        {"numa_node", &d->numa_node, stable},
    };
    char key[64];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(key, sizeof key, "pci.%s.%s", d->bdf, numbers[i].name);
        put_number(numbers[i].to, key, numbers[i].value);
    }
    snprintf(key, sizeof key, "pci.%s.acs", d->bdf);
    put(stable, key, &d->acs);
    snprintf(key, sizeof key, "pci.%s.aspm", d->bdf);
    put(stable, key, &d->aspm);
    snprintf(key, sizeof key, "pci.%s.driver", d->bdf);
    put(stable, key, &d->driver);
    snprintf(key, sizeof key, "pci.%s.parent", d->bdf);
    if (d->parent[0] != '\0')
        js_set_string(stable, key, d->parent);
}

static void project_software(const struct facts *f, js *stable) {
    char key[160];
    for (size_t i = 0; i < f->n_modules; i++) {
        snprintf(key, sizeof key, "module.%s.version", f->modules[i].name);
        put(stable, key, &f->modules[i].version);
        snprintf(key, sizeof key, "module.%s", f->modules[i].name);
        put_settings(stable, key, &f->modules[i].parameters);
    }
    for (size_t i = 0; i < f->n_chrdevs; i++) {
        if (!text_starts(f->chrdevs[i].name, "nvidia"))
            continue;
        snprintf(key, sizeof key, "chrdev.%s", f->chrdevs[i].name);
        js_set_int(stable, key, f->chrdevs[i].major);
    }
    for (size_t i = 0; i < N_LIBRARIES; i++) {
        const struct library_facts *l = &f->libraries[i];
        snprintf(key, sizeof key, "lib.%s.path", l->name);
        put(stable, key, &l->path);
        snprintf(key, sizeof key, "lib.%s.version", l->name);
        put(stable, key, &l->version);
        snprintf(key, sizeof key, "lib.%s.sha256", l->name);
        put(stable, key, &l->sha256);
    }
}

void facts_environment(const struct facts *facts, js *stable, js *moving) {
    project_cpu(facts, stable, moving);
    project_kernel(facts, stable, moving);
    project_memory(facts, stable, moving);
    for (size_t i = 0; i < facts->n_pci; i++)
        project_pci_device(&facts->pci[i], stable, moving);
    put(moving, "irq.gpu.affinity", &facts->gpu_irq_affinity);
    project_software(facts, stable);
    put(stable, "cgroup.cpuset", &facts->cgroup.cpuset);
    put(stable, "cgroup.cpu_max", &facts->cgroup.cpu_max);
    put(stable, "limit.nofile", &facts->limits.nofile);
    put(stable, "limit.memlock", &facts->limits.memlock);
    put(stable, "limit.address_space", &facts->limits.address_space);
    put_settings(stable, "env", &facts->variables);
}
