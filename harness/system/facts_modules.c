/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel modules that matter here, their parameters, and the majors of their character devices. */
#include "base/mem.h"
#include "system/facts_read.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_MODULES = 48, MAX_CHRDEVS = 1024 };

/* Modules of the GPU by name, and those whose parameters a tuning sets. */
static bool matters(const char *name) {
    static const char *const others[] = {
        "gdrdrv",       "intel_idle", "processor", "pcie_aspm",        "haltpoll",     "amd_pstate",
        "acpi_cpufreq", "acpi_idle",  "nouveau",   "cpuidle_haltpoll", "intel_pstate", "vfio_pci",
        "iommufd",      "irdma",      "mlx5_core", "workqueue"};
    if (text_starts(name, "nvidia"))
        return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0)
            return true;
    return false;
}

static void read_parameters(const struct source *source, struct module_facts *module) {
    struct strings names = {0};
    struct text folder = {0};
    text_addf(&folder, "/sys/module/%s/parameters", module->name);
    look_list(source, text_string(&folder), &names);
    for (size_t i = 0; i < names.count; i++) {
        struct fact value = look_fact(source, "%s/%s", text_string(&folder), names.items[i]);
        if (value.value != NULL && strchr(value.value, '[') != NULL) {
            struct fact word = fact_text(look_choice(value.value));
            free(value.value);
            value = word;
        }
        settings_add(&module->parameters, names.items[i], value);
    }
    text_free(&folder);
    strings_free(&names);
}

/* The driver hides its options from sysfs and lists them here: "EnableMSI: 1". */
static void read_nvidia_params(const struct source *source, struct module_facts *module) {
    struct text text = {0};
    struct strings lines = {0};
    if (look_bytes(source, "/proc/driver/nvidia/params", 65536, &text))
        strings_split(&lines, text_string(&text), '\n');
    for (size_t i = 0; i < lines.count; i++) {
        char *colon = strchr(lines.items[i], ':');
        if (colon == NULL)
            continue;
        *colon = '\0';
        char *value = text_trim(colon + 1);
        size_t length = strlen(value);
        if (length >= 2 && value[0] == '"' && value[length - 1] == '"') {
            value[length - 1] = '\0';
            value++;
        }
        settings_add(&module->parameters, text_trim(lines.items[i]), fact_text(value));
    }
    strings_free(&lines);
    text_free(&text);
}

/* A module of the running kernel without a version in sysfs may name it here: "NVRM version: … 580.159.04 …".
 */
static struct fact nvidia_version(const struct source *source) {
    char *text = look_text(source, "/proc/driver/nvidia/version");
    struct fact out = {0};
    if (text != NULL) {
        struct strings words = {0};
        text[strcspn(text, "\n")] = '\0';
        strings_split(&words, text, ' ');
        for (size_t i = 0; i < words.count && out.value == NULL; i++) {
            const char *word = words.items[i];
            if (strchr(word, '.') != NULL && word[strspn(word, "0123456789.")] == '\0')
                out = fact_text(word);
        }
        strings_free(&words);
    }
    free(text);
    return out;
}

void read_modules(const struct source *source, struct facts *out) {
    struct strings names = {0};
    look_list(source, "/sys/module", &names);
    out->modules = mem_zeroed(MAX_MODULES, sizeof *out->modules);
    for (size_t i = 0; i < names.count && out->n_modules < MAX_MODULES; i++) {
        if (!matters(names.items[i]))
            continue;
        struct module_facts *module = &out->modules[out->n_modules++];
        module->name = text_printable(names.items[i]);
        module->version = look_fact(source, "/sys/module/%s/version", names.items[i]);
        read_parameters(source, module);
        if (strcmp(module->name, "nvidia") != 0)
            continue;
        read_nvidia_params(source, module);
        if (module->version.value == NULL)
            module->version = nvidia_version(source);
    }
    strings_free(&names);
}

void read_chrdevs(const struct source *source, struct facts *out) {
    struct text text = {0};
    struct strings lines = {0};
    if (look_bytes(source, "/proc/devices", 65536, &text)) {
        char *blocks = strstr(text_string(&text), "Block devices:");
        if (blocks != NULL)
            *blocks = '\0';
        strings_split(&lines, text_string(&text), '\n');
    }
    out->chrdevs = mem_zeroed(MAX_CHRDEVS, sizeof *out->chrdevs);
    for (size_t i = 0; i < lines.count && out->n_chrdevs < MAX_CHRDEVS; i++) {
        char *line = text_trim(lines.items[i]);
        char *space = strchr(line, ' ');
        int64_t major;
        if (space == NULL)
            continue;
        *space = '\0';
        const char *name = text_trim(space + 1);
        if (!text_to_int(line, &major) || major < 0 || major > 4095)
            continue;
        out->chrdevs[out->n_chrdevs++] = (struct chrdev){text_printable(name), (int)major};
    }
    strings_free(&lines);
    text_free(&text);
}
