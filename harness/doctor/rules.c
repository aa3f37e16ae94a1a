/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of rules, and their own description. */
#include "doctor/doctor.h"

#include <string.h>

#define FAMILY(name) extern const struct rule_family family_##name;
#include "doctor/rules.def"
#undef FAMILY

const struct rule_family *const rule_families[] = {
#define FAMILY(name) &family_##name,
#include "doctor/rules.def"
#undef FAMILY
};
const size_t rule_families_count = sizeof rule_families / sizeof *rule_families;

enum { MAX_RULES = 512 };

const struct rule *rule_find(const char *id) {
    for (size_t f = 0; f < rule_families_count; f++)
        for (const struct rule *rule = rule_families[f]->rules; rule->id != NULL; rule++)
            if (strcmp(rule->id, id) == 0)
                return rule;
    return NULL;
}

const char *rule_nearest(const char *id) {
    const char *ids[MAX_RULES];
    size_t count = 0;
    for (size_t f = 0; f < rule_families_count; f++)
        for (const struct rule *rule = rule_families[f]->rules; rule->id != NULL && count < MAX_RULES; rule++)
            ids[count++] = rule->id;
    return text_nearest(id, ids, count);
}

const char *area_name(enum area area) {
    static const char *const names[] = {"cuda", "p2p", "nccl", "tuning", "hardware"};
    return names[area];
}

const char *severity_name(enum severity severity) {
    static const char *const names[] = {"info", "warn", "fail"};
    return names[severity];
}

void rules_print_list(FILE *out) {
    for (size_t f = 0; f < rule_families_count; f++)
        for (const struct rule *rule = rule_families[f]->rules; rule->id != NULL; rule++)
            fprintf(out, "%-28s %-4s  %-8s  %s\n", rule->id, severity_name(rule->severity),
                    area_name(rule->area), rule->title);
}

void rule_print(const struct rule *rule, FILE *out) {
    fprintf(out, "%s (%s, at worst %s)\n%s\n\nWhy:    %s\nCure:   %s\nNeeds:  %s\nSource: %s\n", rule->id,
            area_name(rule->area), severity_name(rule->severity), rule->title, rule->cause, rule->remedy,
            rule->needs, rule->source);
}

void rules_print_markdown(FILE *out) {
    fputs(
        "# What doctor knows\n\n"
        "Printed by `gpuvet doctor --list --markdown`; a test compares. A rule whose facts are not known stays\n"
        "silent. *fail*: broken now, or at the next start of a container; *warn*: it costs speed, or breaks\n"
        "under a condition that is named; *info*: nothing to do.\n",
        out);
    for (size_t f = 0; f < rule_families_count; f++) {
        fprintf(out, "\n## %s\n", rule_families[f]->name);
        for (const struct rule *rule = rule_families[f]->rules; rule->id != NULL; rule++)
            fprintf(out,
                    "\n### %s\n\n%s (%s, at worst %s)\n\n- **Why**: %s\n- **Cure**: %s\n- **Needs**: %s\n"
                    "- **Source**: %s\n",
                    rule->id, rule->title, area_name(rule->area), severity_name(rule->severity), rule->cause,
                    rule->remedy, rule->needs, rule->source);
    }
}
