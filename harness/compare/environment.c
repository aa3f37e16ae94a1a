/* SPDX-License-Identifier: Apache-2.0 */
/* Facts beside the figures: what changed for the worse (no statistics needed), and what merely differs. */
#include "base/mem.h"
#include "compare/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORSE = 1000, MAX_NOTES = 200 };

enum direction {
    WORSE_LOWER,   /* a number fell */
    WORSE_HIGHER,  /* a counter rose */
    WORSE_CHANGED, /* any other value */
    WORSE_NOT_TSC, /* it was tsc */
    WORSE_NOT_OK,  /* it was OK */
    WORSE_LOST,    /* a place, now -1 */
};

struct rule {
    const char *pattern;
    enum direction direction;
    bool moving; /* look among the volatile keys too: counters are there */
    const char *text;
};

static const struct rule rules[] = {
    {"pci.*.link_gen", WORSE_LOWER, false, "link slower"},
    {"pci.*.link_gen_max", WORSE_LOWER, false, "link slower at most"},
    {"pci.*.link_width", WORSE_LOWER, false, "link narrower"},
    {"pci.*.link_width_max", WORSE_LOWER, false, "link narrower at most"},
    {"pci.*.numa_node", WORSE_LOST, false, "the firmware no longer tells the NUMA node"},
    {"*.aer*", WORSE_HIGHER, true, "new PCIe errors (AER)"},
    {"*replay*", WORSE_HIGHER, true, "new PCIe replays"},
    {"p2p.*", WORSE_NOT_OK, false, "P2P no longer OK"},
    {"gpu.*.ecc", WORSE_CHANGED, false, "ECC mode changed"},
    {"gpu.*.power_limit_w", WORSE_LOWER, false, "power limit lower"},
    {"kernel.clocksource", WORSE_NOT_TSC, false, "clocksource is no longer tsc"},
};

/* The same for members of a GPU's entry in the header. */
struct gpu_rule {
    const char *group, *name;
    enum direction direction;
    const char *text;
};

static const struct gpu_rule gpu_rules[] = {
    {"pcie", "gen_max", WORSE_LOWER, "link slower at most"},
    {"pcie", "width", WORSE_LOWER, "link narrower"},
    {"pcie", "width_max", WORSE_LOWER, "link narrower at most"},
    {"ecc", "aggregate_uncorrected", WORSE_HIGHER, "new uncorrected memory errors"},
    {"remapped_rows", "uncorrectable", WORSE_HIGHER, "new remapped rows after uncorrectable errors"},
    {"remapped_rows", "failure", WORSE_HIGHER, "row remapping failed"},
};

const struct run *side_newest(const struct side *side) {
    const struct run *newest = &side->runs[0];
    for (size_t i = 1; i < side->n; i++)
        if (strcmp(js_get_string(side->runs[i].header, "started", ""),
                   js_get_string(newest->header, "started", "")) >= 0)
            newest = &side->runs[i];
    return newest;
}

/* A reason stands where a value could not be read. */
static bool is_hidden(const char *value) {
    return strcmp(value, "needs root") == 0 || strcmp(value, "unknown") == 0 || strcmp(value, "null") == 0;
}

/* A value as text, owned; NULL for an absent one. */
static char *value_text(const js *value) {
    if (value == NULL)
        return NULL;
    const char *string = js_string(value, NULL);
    return string != NULL ? mem_copy_string(string) : js_text(value);
}

static double value_number(const char *text) {
    double number = NAN;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return text[0] == 't';
    return text_to_double(text, &number) ? number : NAN;
}

static bool is_worse(enum direction direction, const char *before, const char *after) {
    double x = value_number(before);
    double y = value_number(after);
    switch (direction) {
    case WORSE_LOWER:
        return y < x; /* false where one is no number */
    case WORSE_HIGHER:
        return y > x;
    case WORSE_CHANGED:
        return strcmp(before, after) != 0;
    case WORSE_NOT_TSC:
        return strcmp(before, "tsc") == 0 && strcmp(after, "tsc") != 0;
    case WORSE_NOT_OK:
        return strcmp(before, "OK") == 0 && strcmp(after, "OK") != 0;
    case WORSE_LOST:
        return x >= 0 && y < 0;
    }
    return false;
}

static void add_worse(struct comparison *out, const char *key, const char *before, const char *after,
                      const char *text) {
    for (size_t i = 0; i < out->n_worse; i++)
        if (strcmp(out->worse[i].key, key) == 0)
            return;
    if (out->n_worse >= MAX_WORSE)
        return;
    out->worse = mem_resize(out->worse, out->n_worse + 1, sizeof *out->worse);
    out->worse[out->n_worse++] = (struct compare_change){mem_copy_string(key), mem_copy_string(before),
                                                         mem_copy_string(after), mem_copy_string(text)};
}

static void check_rules(const char *key, const char *before, const char *after, bool moving,
                        struct comparison *out) {
    if (is_hidden(before) || is_hidden(after))
        return;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if ((!moving || rules[i].moving) && text_matches(rules[i].pattern, key) &&
            is_worse(rules[i].direction, before, after)) {
            add_worse(out, key, before, after, rules[i].text);
            return;
        }
}

static void check_facts(const struct run *before, const struct run *after, const char *part, bool moving,
                        struct comparison *out) {
    const js *old = js_get(before->header, part);
    const js *new = js_get(after->header, part);
    for (struct js_member m = js_first(new); m.key != NULL; m = js_next(new, m)) {
        char *x = value_text(js_get(old, m.key));
        char *y = value_text(m.value);
        if (x != NULL && y != NULL)
            check_rules(m.key, x, y, moving, out);
        free(x);
        free(y);
    }
}

static const js *find_gpu(const struct run *run, const char *uuid) {
    const js *gpus = js_get(run->header, "gpus");
    for (size_t i = 0; i < js_length(gpus); i++)
        if (strcmp(js_get_string(js_at(gpus, i), "uuid", ""), uuid) == 0)
            return js_at(gpus, i);
    return NULL;
}

static void check_gpu(const char *uuid, const js *old, const js *new, struct comparison *out) {
    for (size_t i = 0; i < sizeof gpu_rules / sizeof *gpu_rules; i++) {
        const struct gpu_rule *rule = &gpu_rules[i];
        char *x = value_text(js_get(js_get(old, rule->group), rule->name));
        char *y = value_text(js_get(js_get(new, rule->group), rule->name));
        if (x != NULL && y != NULL && is_worse(rule->direction, x, y)) {
            struct text key = {0};
            text_addf(&key, "gpu.%s.%s.%s", uuid, rule->group, rule->name);
            add_worse(out, text_string(&key), x, y, rule->text);
            text_free(&key);
        }
        free(x);
        free(y);
    }
}

static void check_gpus(const struct run *before, const struct run *after, struct comparison *out) {
    const js *gpus = js_get(before->header, "gpus");
    for (size_t i = 0; i < js_length(gpus); i++) {
        const js *old = js_at(gpus, i);
        const char *uuid = js_get_string(old, "uuid", NULL);
        if (uuid == NULL)
            continue;
        const js *new = find_gpu(after, uuid);
        struct text key = {0};
        text_addf(&key, "gpu.%s", uuid);
        if (new == NULL)
            add_worse(out, text_string(&key), js_get_string(old, "bdf", "there"), "missing", "GPU missing");
        else
            check_gpu(uuid, old, new, out);
        text_free(&key);
    }
}

/* ---- differences ---- */

struct side_value {
    struct text text; /* all different values, " | " between them */
    bool present, hidden;
};

static void gather(const struct side *side, const char *key, struct side_value *out) {
    struct strings seen = {0};
    *out = (struct side_value){0};
    for (size_t i = 0; i < side->n; i++) {
        char *value = value_text(js_get(js_get(side->runs[i].header, "environment"), key));
        if (value == NULL)
            continue;
        out->present = true;
        out->hidden = out->hidden || is_hidden(value);
        if (!strings_contain(&seen, value)) {
            text_add(&out->text, seen.count > 0 ? " | " : "");
            text_add(&out->text, value);
            strings_add(&seen, value);
        }
        free(value);
    }
    strings_free(&seen);
}

static void add_difference(struct comparison *out, const char *key, const struct side_value *before,
                           const struct side_value *after) {
    enum difference_kind kind = !before->present  ? DIFFERENCE_ADDED
                                : !after->present ? DIFFERENCE_REMOVED
                                                  : DIFFERENCE_CHANGED;
    size_t n = out->n_differences;
    if ((n & (n - 1)) == 0) /* doubling at powers of two */
        out->differences = mem_resize(out->differences, n == 0 ? 1 : 2 * n, sizeof *out->differences);
    out->differences[out->n_differences++] =
        (struct compare_difference){kind, mem_copy_string(key), mem_copy_string(text_string(&before->text)),
                                    mem_copy_string(text_string(&after->text))};
}

/* Taken only where an item needs the library: one that stands on one side alone says nothing. */
static bool is_hash(const char *key) {
    size_t n = strlen(key), end = strlen(".sha256");
    return n > end && strcmp(key + n - end, ".sha256") == 0;
}

static void compare_key(const struct side *before, const struct side *after, const char *key,
                        struct comparison *out) {
    struct side_value x;
    struct side_value y;
    gather(before, key, &x);
    gather(after, key, &y);
    bool one_sided = x.present != y.present;
    bool differ = one_sided ? !is_hash(key) : strcmp(text_string(&x.text), text_string(&y.text)) != 0;
    if (differ && (x.hidden || y.hidden)) {
        if (x.present && y.present)
            strings_add(&out->not_visible, key);
    } else if (differ) {
        add_difference(out, key, &x, &y);
    }
    text_free(&x.text);
    text_free(&y.text);
}

static void add_keys(const struct side *side, struct strings *keys) {
    for (size_t i = 0; i < side->n; i++) {
        const js *environment = js_get(side->runs[i].header, "environment");
        for (struct js_member m = js_first(environment); m.key != NULL; m = js_next(environment, m))
            if (strcmp(m.key, "boot_id") != 0 && strcmp(m.key, "machine_id") != 0)
                strings_add(keys, m.key);
    }
}

/* Another number of NUMA nodes is neither better nor worse (it is a firmware setting that people change on
 * purpose), but the names of places stay the same and mean others. */
static void note_nodes(const struct run *before, const struct run *after, struct comparison *out) {
    static const char key[] = "numa.nodes";
    double x = js_get_number(js_get(before->header, "environment"), key, NAN);
    double y = js_get_number(js_get(after->header, "environment"), key, NAN);
    if (x != y && isfinite(x) && isfinite(y))
        strings_addf(&out->notes, "NUMA nodes changed from %.0f to %.0f: local and remoteN mean other places",
                     x, y);
}

void compare_environment(const struct side *before, const struct side *after, struct comparison *out) {
    const struct run *old = side_newest(before);
    const struct run *new = side_newest(after);
    const char *machine = js_get_string(old->header, "machine_id", "");
    bool same_machine = strcmp(machine, js_get_string(new->header, "machine_id", "")) == 0;
    if (same_machine) { /* another machine's links and GPUs are no change of this one's */
        check_gpus(old, new, out);
        check_facts(old, new, "environment", false, out);
        check_facts(old, new, "environment_volatile", true, out);
        note_nodes(old, new, out);
    } else {
        strings_addf(&out->notes, "BEFORE and AFTER are of different machines: facts are not judged");
    }
    if (same_machine &&
        strcmp(js_get_string(old->header, "boot_id", ""), js_get_string(new->header, "boot_id", "")) != 0)
        strings_addf(&out->notes, "the machine was rebooted between BEFORE and AFTER");
    struct strings keys = {0};
    add_keys(before, &keys);
    add_keys(after, &keys);
    strings_sort(&keys);
    for (size_t i = 0; i < keys.count; i++)
        if (i == 0 || strcmp(keys.items[i], keys.items[i - 1]) != 0)
            compare_key(before, after, keys.items[i], out);
    strings_free(&keys);
}

/* Longer paths have larger numbers; -1 for a class that is not known. More NVLinks are nearer. */
static double path_length(const char *path_class) {
    static const char *const classes[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
    int64_t links;
    if (text_starts(path_class, "NV") && text_to_int(path_class + 2, &links) && links > 0)
        return 1 / (double)links;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(path_class, classes[i]) == 0)
            return (double)(i + 2);
    return -1;
}

void compare_path_class(const char *key, const char *before, const char *after, struct comparison *out) {
    struct strings uuids = {0};
    if (strcmp(before, after) == 0 || before[0] == '\0' || after[0] == '\0')
        return;
    struct text name = {0};
    struct text note = {0};
    double x = path_length(before);
    double y = path_length(after);
    key_gpus(key, &uuids); /* many series share a path: it is named by its ends */
    text_add(&name, "path");
    for (size_t i = 0; i < uuids.count; i++)
        text_addf(&name, ".%s", uuids.items[i]);
    text_addf(&note, "%s changed from %s to %s", text_string(&name), before, after);
    if (x >= 0 && y > x)
        add_worse(out, text_string(&name), before, after, "longer path");
    else if (out->notes.count < MAX_NOTES && !strings_contain(&out->notes, text_string(&note)))
        strings_add(&out->notes, text_string(&note));
    text_free(&name);
    text_free(&note);
    strings_free(&uuids);
}
