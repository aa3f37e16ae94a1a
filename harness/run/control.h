/* SPDX-License-Identifier: Apache-2.0 */
/* The control item: after a hang the same item runs once more with one thing changed in its environment. When
 * it then ends, that thing is where to look. */
#ifndef GPUVET_RUN_CONTROL_H
#define GPUVET_RUN_CONTROL_H

#include "run/case.h"
#include "run/session.h"

/* `message` is the item that hung; `answer` what the supervisor said of it. The record's "control", owned:
 * {"env":{"NCCL_P2P_DISABLE":"1"},"outcome":"ok|fail|skip|hang|error","reason"}. Skipped with the reason
 * where the GPUs no longer answer or are held by a process that cannot be killed, or where the item ran so
 * already. NULL: the case has none. */
js *control_run(struct session *session, const struct bench_case *bench, const js *message,
                const struct item_answer *answer, struct interrupt *interrupt);

#endif
