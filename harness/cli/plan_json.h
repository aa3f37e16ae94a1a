/* SPDX-License-Identifier: Apache-2.0 */
/* gpuvet.list/1: what a run would do, for machines (list --profile P --json, run --dry-run --json). */
#ifndef GPUVET_CLI_PLAN_JSON_H
#define GPUVET_CLI_PLAN_JSON_H

#include "cli/prepare.h"

/* Of all places, with what each series could show. Owned. */
js *plan_json(const struct prepared *p);

/* {"gpus":2,"peer":true,"nccl":false,"cublaslt":false,"cc_major":9}: what a case needs to run at all. Owned.
 */
js *case_needs_json(const struct bench_case *bench);
/* "2 GPUs, P2P, NCCL"; "-" nothing. */
void case_needs_text(const struct bench_case *bench, char *out, size_t size);
/* And of an item of it: "root". */
void item_needs_text(const struct plan_item *item, char *out, size_t size);

#endif
