/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of struct facts, one file a family, and what they share. Each fills its part of a zeroed
 * struct; none fails: what it cannot read stays unknown. */
#ifndef GPUVET_SYSTEM_FACTS_READ_H
#define GPUVET_SYSTEM_FACTS_READ_H

#include "base/text.h"
#include "system/facts.h"

/* More of a kind than any machine has; what is beyond is left out. */
enum { MAX_SETTINGS = 512, MAX_KEY = 96, MAX_VALUE = 512 };

/* Adds a setting; `value` is taken over. Odd characters in the key become '?'. */
void settings_add(struct settings *settings, const char *key, struct fact value);
struct fact *settings_find(struct settings *settings, const char *key);
void settings_free(struct settings *settings);

struct fact fact_text(const char *value); /* a copy, printable, at most MAX_VALUE bytes; NULL: not there */

void read_cpu(const struct source *source, struct cpu_facts *out);
void read_idle(const struct source *source, struct idle_facts *out);
void read_kernel(const struct source *source, struct kernel_facts *out);
void read_cmdline(const struct source *source, struct settings *out);
/* The kind of guest or container; needs cpu read before. */
void read_surroundings(const struct source *source, const struct cpu_facts *cpu, struct kernel_facts *out);
/* "lxc", "docker", …, "container" where the manager is not known, "none". */
struct fact read_container(const struct source *source);
void read_memory(const struct source *source, struct memory_facts *out);
void read_modules(const struct source *source, struct facts *out);
void read_chrdevs(const struct source *source, struct facts *out);
void read_pci(const struct source *source, struct facts *out);
/* Interrupts and IOMMU groups of the GPUs; needs pci read before. */
void read_gpu_irq(const struct source *source, struct facts *out);
void read_iommu(const struct source *source, struct facts *out);
void read_libraries(const struct source *source, struct library_facts out[N_LIBRARIES]);
/* Where ld.so.cache, which may be anything, says that a library is; borrowed from `file`, NULL: nowhere. */
const char *ld_cache_find(const struct text *file, const char *name);
void read_cgroup(const struct source *source, struct cgroup_facts *out);
void read_limits(const struct source *source, struct limit_facts *out);
void read_variables(const struct source *source, struct settings *out);

#endif
