/* SPDX-License-Identifier: Apache-2.0 */
/* What a made plan says of its rounds: which items, in which order, how long, and what they could show. */
#include "run/plan.h"

#include "base/random.h"
#include "stats/decide.h"
#include "stats/distributions.h"

#include <math.h>
#include <string.h>

static bool runs_in(const struct plan_item *item, int round) {
    if (item->instance.skip != NULL)
        return round == 0;
    return item->every_round || (item->rounds_mask[(round / 64) % 4] >> (round % 64) & 1) != 0;
}

/* Each twin beside its pinned item, by turns after and before it. */
static size_t put_twins(const struct plan *plan, int round, const struct plan_item **out, size_t n) {
    for (size_t i = 0; i < plan->n_items; i++) {
        const struct plan_item *twin = &plan->items[i];
        size_t at = 0;
        if (twin->twin_of < 0 || !runs_in(twin, round))
            continue;
        while (at < n && out[at] != &plan->items[twin->twin_of])
            at++;
        if (at < n && round % 2 == 0)
            at++;
        memmove(out + at + 1, out + at, (n - at) * sizeof(struct plan_item *));
        out[at] = twin;
        n++;
    }
    return n;
}

size_t plan_order(const struct plan *plan, int round, const struct plan_item **out) {
    uint64_t state = plan->seed * 1000003U + (uint64_t)round;
    size_t n = 0;
    for (int block = 0; block < BLOCK_COUNT; block++) {
        size_t first = n;
        for (size_t i = 0; i < plan->n_items; i++)
            if ((int)plan->items[i].bench->block == block && plan->items[i].twin_of < 0 &&
                runs_in(&plan->items[i], round))
                out[n++] = &plan->items[i];
        for (size_t i = n; i > first + 1; i--) { /* Fisher and Yates */
            size_t j = first + (size_t)(random_next(&state) % (i - first));
            const struct plan_item *swap = out[i - 1];
            out[i - 1] = out[j];
            out[j] = swap;
        }
    }
    return put_twins(plan, round, out, n);
}

bool plan_settles(const struct plan_item *before, const struct plan_item *item) {
    /* What has a process of its own waits for that one's start anyway. */
    return before != NULL && item->instance.skip == NULL && item->bench->block != BLOCK_OWN &&
           before->bench->block != item->bench->block;
}

double plan_round_seconds(const struct plan *plan, int round, double worker_seconds, double cuda_seconds) {
    double total = worker_seconds;
    bool gpu = false;
    bool seen[BLOCK_COUNT] = {false};
    int blocks = 0;
    for (size_t i = 0; i < plan->n_items; i++) {
        const struct plan_item *item = &plan->items[i];
        if (!runs_in(item, round) || item->instance.skip != NULL)
            continue;
        total += item->instance.seconds;
        gpu = gpu || item->bench->needs.gpus > 0;
        blocks += seen[item->bench->block] || item->bench->block == BLOCK_OWN ? 0 : 1;
        seen[item->bench->block] = true;
    }
    total += blocks > 1 ? (blocks - 1) * PLAN_SETTLE_MS * 1e-3 : 0;
    return total + (gpu ? cuda_seconds : 0);
}

double plan_smallest_effect(const struct plan *plan, const struct plan_series *series) {
    double between = series->row->between_rel;
    if (!(between > 0))
        return NAN;
    double family = plan->n_primary > 0 ? plan->n_primary : 1;
    double z = dist_t_critical(DECIDE_FAMILY_ALPHA / family, INFINITY);
    double effect = fmax(series->row->delta_rel, 3 * between);
    return fmax(effect, z * between * sqrt(1.0 / DECIDE_MIN_RUNS + 1));
}
