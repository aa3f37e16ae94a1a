/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prepare.h"

#include "system/facts.h"

#include <stdlib.h>

/* Where nothing was measured: a worker without facts starts in a few milliseconds; CUDA takes about half a
 * second for the first GPU and a fifth for each further one (H200, driver 580). */
static const double typical_worker_s = 0.03;
static const double typical_cuda_first_s = 0.5;
static const double typical_cuda_next_s = 0.2;

static bool read_capture(const char *dir, struct node *node, struct error *err) {
    struct source source = {0};
    bool good = source_capture(dir, &source, err) && node_read(&source, node, err);
    source_free(&source);
    return good;
}

bool prepare(const struct prepare_options *options, struct interrupt *interrupt, struct prepared *out,
             struct error *err) {
    *out = (struct prepared){.worker_seconds = typical_worker_s};
    bool good = target_parse(options->in, &out->target, err);
    if (good && options->from != NULL)
        good = read_capture(options->from, &out->node, err);
    else if (good)
        good = coordinator_probe(&out->target, interrupt, &out->node, &out->cuda, err);
    if (good && out->node.gpus.raw != NULL)
        out->all_gpus = js_copy(out->node.gpus.raw);
    const char *visible = options->from != NULL ? NULL : getenv("CUDA_VISIBLE_DEVICES");
    good = good && plan_choose_gpus(&out->node, options->gpus, visible, err);
    if (good && options->from != NULL && out->node.gpus.count > 0)
        out->cuda.seconds = typical_cuda_first_s + typical_cuda_next_s * (double)(out->node.gpus.count - 1);
    if (good)
        good = plan_make(&out->node, &options->plan, &out->plan, err);
    if (!good)
        prepared_free(out);
    return good || RELAY(err);
}

void prepared_free(struct prepared *p) {
    plan_free(&p->plan);
    node_free(&p->node);
    js_free(p->all_gpus);
    target_free(&p->target);
    *p = (struct prepared){0};
}

double prepared_seconds(const struct prepared *p) {
    double total = 0;
    for (int round = 0; round < p->plan.rounds; round++)
        total += plan_round_seconds(&p->plan, round, p->worker_seconds, p->cuda.seconds);
    return total;
}
