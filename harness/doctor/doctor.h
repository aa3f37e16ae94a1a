/* SPDX-License-Identifier: Apache-2.0 */
/* Doctor: rules from facts to findings. A rule is a pure function: it reads a scene and adds findings, it
 * opens nothing and asks no driver, so that it judges a live machine, the inside of a container, and a
 * capture alike. A fact that is not known makes a rule silent; it never guesses.
 *
 * A family of faults is one file, doctor/rules_NAME.c, with one `const struct rule_family family_NAME` at its
 * end and one line in doctor/rules.def; docs/doctor.md is printed from the rules (gpuvet doctor --list
 * --markdown). */
#ifndef GPUVET_DOCTOR_DOCTOR_H
#define GPUVET_DOCTOR_DOCTOR_H

#include "base/json.h"
#include "base/text.h"
#include "doctor/scene.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum area { AREA_CUDA, AREA_P2P, AREA_NCCL, AREA_TUNING, AREA_HARDWARE };

/* fail: CUDA, a GPU or a copy is broken or lost now, or will be at the next start of a container. warn: it
 * costs speed, or breaks under a condition that is named. info: worth knowing, nothing to do. */
enum severity { SEVERITY_INFO, SEVERITY_WARN, SEVERITY_FAIL };

struct findings;

struct rule {
    const char *id; /* family.kind, never reused; NULL ends a table */
    enum area area;
    enum severity severity; /* the worst that it can say */
    const char *title;      /* of the kind, without numbers of a case */
    const char *needs;      /* what must be known, in the capture's words: "dev.tsv, /proc/devices" */
    const char *cause;      /* why this breaks what it breaks; the text of --explain and docs/doctor.md */
    const char *remedy;     /* in general; a finding has the lines for this machine */
    const char *source;     /* where the knowledge is from: a measurement, a public thread, a document */
    /* Adds zero or more findings. A rule may ask what earlier families found (findings_has): causes are in
     * earlier families than their consequences. NULL: an earlier row's check makes this one's findings too.
     */
    void (*check)(const struct scene *scene, struct findings *out);
};

struct rule_family {
    const char *name;
    const struct rule *rules;
};
/* In the order of rules.def: the deeper cause first. */
extern const struct rule_family *const rule_families[];
extern const size_t rule_families_count;
const struct rule *rule_find(const char *id);
/* The rule whose id is nearest to a mistyped one; NULL: none is near. */
const char *rule_nearest(const char *id);

struct evidence {
    char *path; /* a file with its line, a device node, a call: "/etc/pve/lxc/129.conf:14", "cuInit" */
    char *value;
};

struct finding {
    const struct rule *rule;
    enum severity severity;
    char *title; /* with this machine's numbers */
    struct evidence *evidence;
    size_t n_evidence, evidence_capacity;
    char *cause;           /* NULL: the rule's */
    struct strings remedy; /* commands or lines, in the order to do them */
    char *consequence_of;  /* id of the finding that explains this one; NULL: it stands by itself */
};

struct findings {
    struct finding *items;
    size_t count, capacity;
};

/* Adds a finding and returns it, valid until the next is added. `id` must be a row of the rules. */
struct finding *finding_add(struct findings *out, const char *id, enum severity severity, const char *title,
                            ...) __attribute__((format(printf, 4, 5)));
void finding_evidence(struct finding *finding, const char *path, const char *value, ...)
    __attribute__((format(printf, 3, 4)));
void finding_cause(struct finding *finding, const char *cause, ...) __attribute__((format(printf, 2, 3)));
void finding_remedy(struct finding *finding, const char *line, ...) __attribute__((format(printf, 2, 3)));
void finding_follows(struct finding *finding, const char *id);

/* Whether anything so far has an id that matches the glob and is at least this severe. */
bool findings_has(const struct findings *findings, const char *pattern, enum severity least);
/* The first finding of AREA_CUDA at fail that is no consequence of another: what explains a failing cuInit.
 * NULL: none. */
const struct finding *findings_cuda_cause(const struct findings *findings);

/* Runs every family over the scene and sorts: fails first, a cause before its consequences, else the order of
 * the families. */
void doctor_judge(const struct scene *scene, struct findings *out);
void findings_free(struct findings *findings);

enum severity findings_worst(const struct findings *findings); /* SEVERITY_INFO when empty */

/* gpuvet.doctor/1: {"schema","verdict":"ok|warn|fail","where","findings":[{"id","area","severity","title",
 * "evidence":[{"path","value"}],"cause","remedy":[…],"consequence_of"}]}. Owned. */
js *findings_to_json(const struct findings *findings, const struct scene *scene);

/* For people; `colour`: with terminal colours; `verbose`: the info findings too. */
void findings_print(const struct findings *findings, const struct scene *scene, bool colour, bool verbose,
                    FILE *out);
/* One line a rule; or all of it as Markdown. */
void rules_print_list(FILE *out);
void rules_print_markdown(FILE *out);
void rule_print(const struct rule *rule, FILE *out);

const char *area_name(enum area area);
const char *severity_name(enum severity severity);

#endif
