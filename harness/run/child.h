/* SPDX-License-Identifier: Apache-2.0 */
/* The process that touches CUDA: forked by the supervisor, measures items one by one, may crash or hang at
 * the cost of one item. */
#ifndef GPUVET_RUN_CHILD_H
#define GPUVET_RUN_CHILD_H

#include "base/json.h"
#include "base/text.h"
#include "run/channel.h"
#include "run/stage.h"

#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid; /* 0: none */
    struct channel channel;
    int output;          /* what libraries and the case write to stdout and stderr; -1 */
    js *env;             /* the item environment it was made with, owned */
    struct stage *stage; /* what it says it is at, owned; NULL: nothing */
};

/* Adds what can be seen of a child that does not end: its state in the kernel where that explains something
 * (stopped, uninterruptible), and what it said it was at. Call it before the child is ended. */
void child_explain(const struct child *child, struct text *out);

/* Forks a child with `env` (an object of strings, borrowed) set on top of the supervisor's environment. */
bool child_start(struct child *child, const js *env, struct error *err);

/* Only sends the signal, if it lives: child_end still has to be called. */
void child_kill(const struct child *child);

/* Kills it if it lives and waits for it at most `limit_ns`. True when it is gone: `status` then holds what
 * waitpid said (-1: there was none). False: it cannot be killed (a driver holds it in the kernel). */
bool child_end(struct child *child, int64_t limit_ns, int *status);

/* Waits for a child that is ending by itself; as child_end, without the kill at first. */
bool child_collect(struct child *child, int64_t limit_ns, int *status);

/* "was killed by signal 11 (Segmentation fault)", "ended with status 3" */
void child_fate(int status, char *out, size_t size);

#endif
