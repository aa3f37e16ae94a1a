/* SPDX-License-Identifier: Apache-2.0 */
#include "run/plan.h"

#include "base/mem.h"
#include "run/record.h"
#include "run/where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const profile_names[] = {"quick", "standard", "thorough", NULL};

static const struct profile profiles[] = {
    {.name = "quick",
     .rounds = 5,
     .max_primary = 40,
     .meaning = "5 rounds: correctness, and changes of 10 % and more"},
    {.name = "standard",
     .rounds = 12,
     .descriptive_rounds = 1,
     .meaning = "12 rounds: changes of a few per cent"},
    {.name = "thorough",
     .rounds = 20,
     .descriptive_rounds = -1,
     .thorough = true,
     .meaning = "20 rounds, descriptive series too"},
};

/* NULL for an unknown name. */
static const struct profile *profile_find(const char *name) {
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (strcmp(profiles[i].name, name) == 0)
            return &profiles[i];
    return NULL;
}

/* ---- which instances ---- */

/* "idle_us=50" against the parameters of an instance. Cuts `condition` at its '='. */
static bool condition_holds(char *condition, const js *params) {
    char *equals = strchr(condition, '=');
    if (equals == NULL)
        return false;
    *equals = '\0';
    const js *value = js_get(params, condition);
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)js_int(value, INT64_MIN));
    return strcmp(js_string(value, number), equals + 1) == 0;
}

/* "idle_us=50|idle_us=1000&source=timer": one of the alternatives, all conditions of it. */
static bool only_applies(const char *only, const js *params) {
    if (only == NULL)
        return true;
    struct strings alternatives = {0};
    strings_split(&alternatives, only, '|');
    bool applies = false;
    for (size_t i = 0; i < alternatives.count && !applies; i++) {
        struct strings all = {0};
        strings_split(&all, alternatives.items[i], '&');
        applies = all.count > 0;
        for (size_t k = 0; k < all.count; k++)
            applies = condition_holds(all.items[k], params) && applies;
        strings_free(&all);
    }
    strings_free(&alternatives);
    return applies;
}

static bool row_fits(const struct series_row *row, const struct instance *instance) {
    return strcmp(row->metric, instance->metric->name) == 0 && only_applies(row->only, instance->params);
}

/* A hidden instance (its parameter "corrupt" spoils data on purpose) runs only when a pattern says so, never
 * by way of a wildcard that was meant for its visible sisters. */
static bool asks_for_hidden(const char *pattern) {
    return strstr(pattern, "corrupt=") != NULL;
}

static bool pattern_selects(const char *pattern, const struct plan_item *item) {
    if (!series_selected(pattern, item->key))
        return false;
    if (item->bench->hidden)
        return strncmp(pattern, item->bench->name, strlen(item->bench->name)) == 0;
    return item->instance.level != LEVEL_HIDDEN || asks_for_hidden(pattern);
}

static bool is_selected(const struct plan_options *options, const struct plan_item *item) {
    if (options->cases == NULL || options->cases->count == 0)
        return !item->bench->hidden && item->instance.level != LEVEL_HIDDEN;
    for (size_t i = 0; i < options->cases->count; i++)
        if (pattern_selects(options->cases->items[i], item))
            return true;
    return false;
}

/* Whole-key patterns are explicit wishes: what they name runs in every round of any profile. */
static bool is_wished(const struct plan_options *options, const struct plan_item *item) {
    for (size_t i = 0; options->cases != NULL && i < options->cases->count; i++)
        if (strpbrk(options->cases->items[i], "@/") != NULL &&
            pattern_selects(options->cases->items[i], item))
            return true;
    return false;
}

static void set_round(struct plan_item *item, int round) {
    item->rounds_mask[(round / 64) % 4] |= UINT64_C(1) << (round % 64);
}

/* False: the profile leaves this item out. */
static bool set_rounds(const struct plan *plan, struct plan_item *item, bool wished) {
    enum level level = item->instance.level;
    int some = plan->profile->descriptive_rounds;
    item->every_round = wished || level == LEVEL_PRIMARY || level == LEVEL_HIDDEN || some < 0;
    if (level == LEVEL_THOROUGH && !plan->profile->thorough && !wished)
        return false;
    return item->every_round || some > 0; /* in which ones: spread_rounds() */
}

static int by_length(const void *a, const void *b) {
    const struct plan_item *x = *(struct plan_item *const *)a;
    const struct plan_item *y = *(struct plan_item *const *)b;
    double difference = y->instance.seconds - x->instance.seconds;
    return difference > 0 ? 1 : difference < 0 ? -1 : x->id - y->id;
}

/* Items that do not run in every round go where least is, the longest first, so that no round carries them
 * all; one that runs several times has its own part of the run for each. */
static void spread_rounds(struct plan *plan) {
    struct plan_item **rare = mem_zeroed(plan->n_items, sizeof *rare);
    double *load = mem_zeroed((size_t)plan->rounds, sizeof *load);
    int some =
        plan->profile->descriptive_rounds < plan->rounds ? plan->profile->descriptive_rounds : plan->rounds;
    size_t n = 0;
    for (size_t i = 0; i < plan->n_items; i++)
        if (!plan->items[i].every_round && plan->items[i].instance.skip == NULL)
            rare[n++] = &plan->items[i];
    qsort(rare, n, sizeof(struct plan_item *), by_length);
    for (size_t i = 0; i < n; i++)
        for (int part = 0; part < some; part++) {
            int first = part * plan->rounds / some;
            int best = first;
            for (int round = first; round < (part + 1) * plan->rounds / some; round++)
                if (load[round] < load[best])
                    best = round;
            set_round(rare[i], best);
            load[best] += rare[i]->instance.seconds;
        }
    free(load);
    free(rare);
}

/* ---- GPUs ---- */

static const struct gpu_info *gpu_of(const struct node *node, const char *uuid) {
    for (size_t i = 0; i < node->gpus.count; i++)
        if (strcmp(node->gpus.items[i].uuid, uuid) == 0)
            return &node->gpus.items[i];
    return NULL;
}

static void skip_unusable(const struct node *node, const struct bench_case *bench,
                          struct instance *instance) {
    struct strings uuids = {0};
    where_gpus(instance->where, &uuids);
    for (size_t i = 0; i < uuids.count && instance->skip == NULL; i++) {
        const struct gpu_info *gpu = gpu_of(node, uuids.items[i]);
        struct text why = {0};
        if (gpu != NULL && gpu->mig)
            text_addf(&why, "GPU %d is in MIG mode, which is not measured", gpu->index);
        else if (gpu != NULL && gpu->unusable[0] != '\0')
            text_addf(&why, "GPU %d: %s", gpu->index, gpu->unusable);
        else if (gpu != NULL && gpu->cc_major >= 0 && gpu->cc_major < bench->needs.cc_major)
            text_addf(&why, "GPU %d has compute capability %d.%d, %d.0 is needed", gpu->index, gpu->cc_major,
                      gpu->cc_minor, bench->needs.cc_major);
        if (why.length > 0)
            instance->skip = text_take(&why);
    }
    strings_free(&uuids);
}

/* The node (logical) whose cores an unpinned item wanted; -1 where it does not depend on one: device time of
 * a copy within a GPU is the same from anywhere. */
static int missed_node(const struct node *node, const struct instance *instance) {
    int64_t cpu_node = js_get_int(instance->where, "cpu_node", -1);
    if (instance->cpu >= 0 || node->topology == NULL)
        return -1;
    if (cpu_node >= 0)
        return cpu_node < topology_node_count(node->topology) ? (int)cpu_node : -1;
    struct strings uuids = {0};
    where_gpus(instance->where, &uuids);
    const struct gpu_info *gpu = uuids.count > 0 ? gpu_of(node, uuids.items[0]) : NULL;
    strings_free(&uuids);
    bool depends = instance->metric->timing == TIMING_HOST || js_get(instance->attributes, "os_node") != NULL;
    return gpu != NULL && depends ? topology_device_node(node->topology, gpu->bdf) : -1;
}

/* The node (logical) whose memory an item needs; -1: no particular one. */
static int memory_node(const struct node *node, const struct instance *instance) {
    int64_t os_node = js_get_int(instance->attributes, "os_node", -1);
    int64_t mem_node = js_get_int(instance->where, "mem_node", -1);
    if (node->topology == NULL)
        return -1;
    if (os_node >= 0 && os_node < 65536)
        return topology_node_logical(node->topology, (int)os_node);
    return mem_node >= 0 && mem_node < topology_node_count(node->topology) ? (int)mem_node : -1;
}

/* A container may own cores or memory of some nodes only: what needs the others is no error of the run. */
static void skip_outside_cpuset(const struct node *node, struct instance *instance) {
    struct text why = {0};
    int cores = instance->skip == NULL ? missed_node(node, instance) : -1;
    int memory = instance->skip == NULL ? memory_node(node, instance) : -1;
    const char *allowed = node_text(node, "cpu.allowed");
    if (cores >= 0 && topology_pin_cpu(node->topology, cores) < 0)
        text_addf(&why, "no core of NUMA node %d is in this cpuset%s%s",
                  topology_node_os_index(node->topology, cores), allowed != NULL ? ", which has CPUs " : "",
                  allowed != NULL ? allowed : "");
    else if (memory >= 0 && !topology_node_memory_allowed(node->topology, memory))
        text_addf(&why, "memory of NUMA node %d is not in this cpuset (cpuset.mems)",
                  topology_node_os_index(node->topology, memory));
    if (why.length > 0)
        instance->skip = text_take(&why);
}

/* ---- series ---- */

/* Whether a row is judged in this plan, where the instance is. */
static bool row_judges(const struct plan *plan, const struct series_row *row) {
    return !row->descriptive && !(plan->tails_shown && strcmp(row->statistic, "p99") == 0);
}

static void declare_series(struct plan *plan, const struct plan_options *options, size_t at) {
    struct plan_item *item = &plan->items[at];
    const struct instance *instance = &item->instance;
    /* An item in its place's own placement only explains its pinned twin. */
    bool primary_here =
        (instance->level == LEVEL_PRIMARY || instance->level == LEVEL_HIDDEN) && item->twin_of < 0;
    size_t room = plan->n_series;
    for (const struct series_row *row = item->bench->series; row->metric != NULL; row++) {
        if (!row_fits(row, instance))
            continue;
        char suffix[8] = "";
        if (row->statistic[0] != '\0')
            snprintf(suffix, sizeof suffix, ".%s", row->statistic);
        struct plan_series s = {.item = at, .row = row, .primary = primary_here && row_judges(plan, row)};
        s.key = series_key(item->bench->name, item->bench->version, instance->metric->name, suffix,
                           instance->where, instance->params, options->target);
        plan->series = mem_grow(plan->series, plan->n_series, &room, sizeof *plan->series);
        plan->series[plan->n_series++] = s;
        plan->n_primary += s.primary ? 1 : 0;
        item->judged = item->judged || s.primary;
    }
}

js *plan_series_json(const struct plan *plan) {
    js *out = js_new_array();
    for (size_t i = 0; i < plan->n_series; i++) {
        const struct plan_series *series = &plan->series[i];
        const struct instance *instance = &plan->items[series->item].instance;
        js *s = js_new_object();
        js_set_string(s, "key", series->key);
        js_set_string(s, "unit", quantity_unit(instance->metric->quantity));
        js_set_string(s, "better",
                      quantity_higher_is_better(instance->metric->quantity) ? "higher" : "lower");
        js_set_string(s, "statistic", series->row->statistic);
        js_set_int(s, "n", instance->samples);
        js_set_number(s, "delta_rel", series->row->delta_rel);
        js_set_number(s, "delta_abs", series->row->delta_abs);
        js_set_number(s, "between_rel", series->row->between_rel);
        js_set_string(s, "class", series->primary ? "primary" : "descriptive");
        js_append(out, s);
    }
    return out;
}

static int primary_series_of(const struct plan *plan, const struct plan_item *item) {
    int n = 0;
    for (const struct series_row *row = item->bench->series; row->metric != NULL; row++)
        n += item->instance.level == LEVEL_PRIMARY && row_judges(plan, row) && row_fits(row, &item->instance)
                 ? 1
                 : 0;
    return n;
}

static void drop_item(struct plan *plan, size_t at) {
    struct instance_list one = {.items = mem_zeroed(1, sizeof(struct instance)), .count = 1, .capacity = 1};
    one.items[0] = plan->items[at].instance;
    instance_list_free(&one);
    free(plan->items[at].key);
    memmove(&plan->items[at], &plan->items[at + 1], (plan->n_items - at - 1) * sizeof *plan->items);
    plan->n_items--;
}

static int items_of(const struct plan *plan, const struct bench_case *bench) {
    int n = 0;
    for (size_t i = 0; i < plan->n_items; i++)
        n += plan->items[i].bench == bench && plan->items[i].instance.skip == NULL ? 1 : 0;
    return n;
}

static int primary_series_in(const struct plan *plan) {
    int n = 0;
    for (size_t i = 0; i < plan->n_items; i++)
        n += primary_series_of(plan, &plan->items[i]);
    return n;
}

/* Over the profile's limit, tails are shown and not judged: a p99 shows no change below half of itself (its
 * default spread between runs is 15 %), far above what such a profile is for, and is measured beside its
 * median all the same. Still over it, the case with the most instances gives up its last one, again and
 * again, so that every case stays and the first GPUs stay whole. */
static void keep_limit(struct plan *plan) {
    int most = plan->profile->max_primary;
    plan->tails_shown = most > 0 && primary_series_in(plan) > most;
    int total = primary_series_in(plan);
    while (most > 0 && total > most) {
        size_t victim = plan->n_items;
        for (size_t i = 0; i < plan->n_items; i++)
            if (primary_series_of(plan, &plan->items[i]) > 0 &&
                (victim == plan->n_items ||
                 items_of(plan, plan->items[i].bench) >= items_of(plan, plan->items[victim].bench)))
                victim = i;
        if (victim == plan->n_items)
            return;
        int n = primary_series_of(plan, &plan->items[victim]);
        total -= n;
        plan->left_out += n;
        drop_item(plan, victim);
    }
}

/* ---- making ---- */

static void add_absence(struct plan *plan, const struct bench_case *bench, char *reason) {
    plan->absences = mem_resize(plan->absences, plan->n_absences + 1, sizeof *plan->absences);
    plan->absences[plan->n_absences++] = (struct plan_absence){bench, reason};
}

/* Why a case cannot run on this node at all; NULL: it can. */
static char *unmet_need(const struct node *node, const struct bench_case *bench) {
    struct text why = {0};
    size_t wanted = (size_t)bench->needs.gpus;
    if (wanted > node->gpus.count && node->gpus.count == 0)
        text_addf(&why, "%s", node->gpus.reason[0] != '\0' ? node->gpus.reason : "no GPU");
    else if (wanted > node->gpus.count)
        text_addf(&why, "needs %zu GPUs, %zu %s chosen", wanted, node->gpus.count,
                  node->gpus.count == 1 ? "is" : "are");
    return why.length > 0 ? text_take(&why) : NULL;
}

static bool case_is_chosen(const struct plan_options *options, const struct bench_case *bench) {
    if (options->cases == NULL || options->cases->count == 0)
        return !bench->hidden;
    for (size_t i = 0; i < options->cases->count; i++) {
        const char *pattern = options->cases->items[i];
        struct text name = {0};
        text_addf(&name, "%.*s", (int)strcspn(pattern, "@/"), pattern);
        const char *s = text_string(&name);
        bool chosen = text_matches(s, bench->name) && (!bench->hidden || strcmp(s, bench->name) == 0);
        text_free(&name);
        if (chosen)
            return true;
    }
    return false;
}

static void add_items(struct plan *plan, const struct node *node, const struct plan_options *options,
                      const struct bench_case *bench) {
    struct instance_list list = {0};
    bench->instances(node, &list);
    size_t room = plan->n_items;
    for (size_t i = 0; i < list.count; i++) {
        struct plan_item item = {
            .id = (int)plan->n_items, .twin_of = -1, .bench = bench, .instance = list.items[i]};
        list.items[i] = (struct instance){0};
        item.key = series_key(bench->name, bench->version, item.instance.metric->name, "",
                              item.instance.where, item.instance.params, options->target);
        skip_unusable(node, bench, &item.instance);
        skip_outside_cpuset(node, &item.instance);
        plan->items = mem_grow(plan->items, plan->n_items, &room, sizeof *plan->items);
        plan->items[plan->n_items++] = item;
        bool wished = is_wished(options, &item);
        if (!is_selected(options, &item) || !set_rounds(plan, &plan->items[plan->n_items - 1], wished))
            drop_item(plan, plan->n_items - 1);
    }
    free(list.items);
}

static bool check_patterns(const struct plan *plan, const struct plan_options *options, struct error *err) {
    const char *names[64];
    size_t n_names = 0;
    for (size_t i = 0; i < bench_cases_count && n_names < 64; i++)
        if (!bench_cases[i]->hidden)
            names[n_names++] = bench_cases[i]->name;
    for (size_t p = 0; options->cases != NULL && p < options->cases->count; p++) {
        const char *pattern = options->cases->items[p];
        bool any = false;
        for (size_t i = 0; i < plan->n_items && !any; i++)
            any = pattern_selects(pattern, &plan->items[i]);
        struct strings one = {.items = (char *[]){options->cases->items[p]}, .count = 1};
        struct plan_options alone = *options;
        alone.cases = &one;
        for (size_t i = 0; i < plan->n_absences && !any; i++)
            any = case_is_chosen(&alone, plan->absences[i].bench);
        for (size_t i = 0; i < bench_cases_count && !any; i++)
            any = strpbrk(pattern, "@/*?[") == NULL && strcmp(pattern, bench_cases[i]->name) == 0;
        if (any)
            continue;
        const char *nearest = text_nearest(pattern, names, n_names);
        if (nearest != NULL)
            return FAIL(err, ERROR_USAGE,
                        "no case matches '%s'; did you mean %s? 'gpuvet list' shows them all", pattern,
                        nearest);
        return FAIL(err, ERROR_USAGE, "no case matches '%s' here; 'gpuvet list' shows what can run", pattern);
    }
    return true;
}

/* What the target lacks although the view that the plan is made from has it. */
static void skip_absent(const struct plan_options *options, struct plan_item *item) {
    struct text why = {0};
    struct strings uuids = {0};
    where_gpus(item->instance.where, &uuids);
    if (item->instance.skip == NULL && item->bench->needs.gpus > 0 && options->broken != NULL)
        text_addf(&why, "%s: %s", options->target, options->broken);
    for (size_t i = 0; options->there != NULL && i < uuids.count && why.length == 0; i++) {
        const struct gpu_info *gpu = gpu_of(options->there, uuids.items[i]);
        if (gpu == NULL)
            text_addf(&why, "%s does not see GPU %s", options->target, uuids.items[i]);
        else if (gpu->unusable[0] != '\0')
            text_addf(&why, "%s: GPU %s: %s", options->target, uuids.items[i], gpu->unusable);
    }
    if (why.length > 0 && item->instance.skip == NULL)
        item->instance.skip = text_take(&why);
    text_free(&why);
    strings_free(&uuids);
}

/* The same item once more, where the target's own cpuset and memory policy put it. */
static void add_twin(struct plan *plan, const struct plan_options *options, size_t at, size_t *room) {
    const struct plan_item *pinned = &plan->items[at];
    struct plan_item twin = *pinned;
    twin.id = (int)plan->n_items;
    twin.twin_of = (int)at;
    twin.instance.where = js_copy(pinned->instance.where);
    twin.instance.attributes = js_copy(pinned->instance.attributes);
    twin.instance.params = js_copy(pinned->instance.params);
    twin.instance.env = pinned->instance.env == NULL ? NULL : js_copy(pinned->instance.env);
    twin.instance.cpu = -1;
    js_remove(twin.instance.attributes, "os_node");
    js_remove(twin.instance.attributes, "os_nodes");
    js_set_string(twin.instance.params, PLAN_PLACEMENT, PLAN_PLACEMENT_OWN);
    twin.key = series_key(twin.bench->name, twin.bench->version, twin.instance.metric->name, "",
                          twin.instance.where, twin.instance.params, options->target);
    plan->items = mem_grow(plan->items, plan->n_items, room, sizeof *plan->items);
    plan->items[plan->n_items++] = twin;
}

static void add_twins(struct plan *plan, const struct plan_options *options) {
    size_t n = plan->n_items;
    size_t room = n;
    for (size_t i = 0; i < n; i++) {
        const struct plan_item *item = &plan->items[i];
        if (item->instance.skip == NULL && item->instance.level == LEVEL_PRIMARY && item->instance.cpu >= 0 &&
            item->bench->needs.gpus > 0 && primary_series_of(plan, item) > 0)
            add_twin(plan, options, i, &room);
    }
}

bool plan_make(const struct node *node, const struct plan_options *options, struct plan *out,
               struct error *err) {
    const struct profile *profile = profile_find(options->profile);
    if (profile == NULL)
        return FAIL(err, ERROR_USAGE, "unknown profile '%s': quick, standard or thorough", options->profile);
    *out = (struct plan){.profile = profile, .seed = options->seed};
    out->rounds = options->rounds > 0 ? options->rounds : profile->rounds;
    for (size_t i = 0; i < bench_cases_count; i++) {
        const struct bench_case *bench = bench_cases[i];
        if (!case_is_chosen(options, bench))
            continue;
        char *reason = unmet_need(node, bench);
        if (reason != NULL)
            add_absence(out, bench, reason);
        else
            add_items(out, node, options, bench);
    }
    keep_limit(out); /* before anything that differs by target: all targets have the same items */
    for (size_t i = 0; i < out->n_items; i++)
        skip_absent(options, &out->items[i]);
    if (options->own_placement)
        add_twins(out, options);
    for (size_t i = 0; i < out->n_items; i++) {
        out->items[i].id = (int)i;
        if (out->items[i].instance.skip == NULL)
            declare_series(out, options, i);
        out->uses_gpu = out->uses_gpu || out->items[i].bench->needs.gpus > 0;
    }
    spread_rounds(out);
    if (check_patterns(out, options, err))
        return true;
    plan_free(out);
    return false;
}

void plan_free(struct plan *plan) {
    while (plan->n_items > 0)
        drop_item(plan, plan->n_items - 1);
    free(plan->items);
    for (size_t i = 0; i < plan->n_absences; i++)
        free(plan->absences[i].reason);
    free(plan->absences);
    for (size_t i = 0; i < plan->n_series; i++)
        free(plan->series[i].key);
    free(plan->series);
    *plan = (struct plan){0};
}
