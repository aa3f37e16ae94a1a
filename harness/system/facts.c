/* SPDX-License-Identifier: Apache-2.0 */
/* The whole of struct facts: made by the readers, released here. */
#include "system/facts.h"

#include "base/mem.h"
#include "base/text.h"
#include "system/facts_read.h"

#include <stdlib.h>
#include <string.h>

struct fact fact_text(const char *value) {
    struct fact fact = {0};
    if (value != NULL) {
        char *cut = mem_copy_bytes(value, strnlen(value, MAX_VALUE));
        fact.value = text_printable(cut);
        free(cut);
    }
    return fact;
}

void settings_add(struct settings *settings, const char *key, struct fact value) {
    if (settings->count >= MAX_SETTINGS || (value.value == NULL && value.why == NULL)) {
        free(value.value);
        return;
    }
    settings->items =
        mem_grow(settings->items, settings->count, &settings->capacity, sizeof *settings->items);
    char *cut = mem_copy_bytes(key, strnlen(key, MAX_KEY));
    settings->items[settings->count++] = (struct setting){text_printable(cut), value};
    free(cut);
}

struct fact *settings_find(struct settings *settings, const char *key) {
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->items[i].key, key) == 0)
            return &settings->items[i].value;
    return NULL;
}

void settings_free(struct settings *settings) {
    for (size_t i = 0; i < settings->count; i++) {
        free(settings->items[i].key);
        free(settings->items[i].value.value);
    }
    free(settings->items);
    *settings = (struct settings){0};
}

struct facts *facts_read(const struct source *source, struct error *err) {
    (void)err;
    struct facts *facts = mem_zeroed(1, sizeof *facts);
    read_cpu(source, &facts->cpu);
    read_idle(source, &facts->idle);
    read_kernel(source, &facts->kernel);
    read_cmdline(source, &facts->kernel.cmdline);
    read_surroundings(source, &facts->cpu, &facts->kernel);
    read_memory(source, &facts->memory);
    read_modules(source, facts);
    read_chrdevs(source, facts);
    read_pci(source, facts);
    read_gpu_irq(source, facts);
    read_iommu(source, facts);
    read_libraries(source, facts->libraries);
    read_cgroup(source, &facts->cgroup);
    read_limits(source, &facts->limits);
    read_variables(source, &facts->variables);
    return facts;
}

static void free_facts(struct fact *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(list[i]->value);
}

static void free_cpu(struct cpu_facts *cpu) {
    struct fact *const all[] = {&cpu->model,
                                &cpu->microcode,
                                &cpu->smt,
                                &cpu->mitigations,
                                &cpu->scaling_driver,
                                &cpu->amd_pstate_status,
                                &cpu->governor,
                                &cpu->epp,
                                &cpu->boost,
                                &cpu->online,
                                &cpu->allowed};
    free_facts(all, sizeof all / sizeof *all);
}

static void free_idle(struct idle_facts *idle) {
    free(idle->driver.value);
    free(idle->governor.value);
    free(idle->pm_qos_holders.value);
    for (size_t i = 0; i < idle->n_states; i++) {
        free(idle->states[i].name);
        free(idle->states[i].disabled.value);
    }
    free(idle->states);
}

static void free_kernel(struct kernel_facts *k) {
    struct fact *const all[] = {
        &k->release,    &k->version,    &k->preempt,    &k->preempt_mode, &k->clocksource, &k->thp,
        &k->thp_defrag, &k->hugepages,  &k->iommu_mode, &k->bios_version, &k->bios_date,   &k->board,
        &k->boot_id,    &k->machine_id, &k->hypervisor, &k->container,    &k->load};
    free_facts(all, sizeof all / sizeof *all);
    settings_free(&k->cmdline);
    settings_free(&k->sysctl);
}

static void free_devices(struct facts *facts) {
    for (size_t i = 0; i < facts->n_pci; i++) {
        free(facts->pci[i].driver.value);
        free(facts->pci[i].acs.value);
        free(facts->pci[i].aspm.value);
    }
    free(facts->pci);
    for (size_t i = 0; i < facts->n_chrdevs; i++)
        free(facts->chrdevs[i].name);
    free(facts->chrdevs);
    for (size_t i = 0; i < facts->n_modules; i++) {
        free(facts->modules[i].name);
        free(facts->modules[i].version.value);
        settings_free(&facts->modules[i].parameters);
    }
    free(facts->modules);
}

void facts_free(struct facts *facts) {
    if (facts == NULL)
        return;
    free_cpu(&facts->cpu);
    free_idle(&facts->idle);
    free_kernel(&facts->kernel);
    free_devices(facts);
    for (size_t i = 0; i < facts->memory.n_nodes; i++)
        free(facts->memory.nodes[i].cpus.value);
    free(facts->memory.nodes);
    for (size_t i = 0; i < N_LIBRARIES; i++) {
        struct fact *const all[] = {&facts->libraries[i].path, &facts->libraries[i].version,
                                    &facts->libraries[i].sha256};
        free_facts(all, 3);
    }
    struct fact *const rest[] = {&facts->gpu_irq_affinity, &facts->cgroup.cpuset,
                                 &facts->cgroup.cpu_max,   &facts->limits.nofile,
                                 &facts->limits.memlock,   &facts->limits.address_space};
    free_facts(rest, sizeof rest / sizeof *rest);
    settings_free(&facts->variables);
    free(facts);
}
