/* SPDX-License-Identifier: Apache-2.0 */
/* What must happen even when we are killed with SIGKILL: a process of its own holds a list of commands and
 * runs them, the last one first, when its stdin ends. An orderly end goes the same way. */
#ifndef GPUVET_TARGET_UNDO_H
#define GPUVET_TARGET_UNDO_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <sys/types.h>

struct undo {
    pid_t pid; /* 0: not started */
    int to;    /* its stdin; -1 */
    long last_id;
};

/* Starts the process (`gpuvet undo`). */
bool undo_open(struct undo *undo, struct error *err);

/* Puts a command on the list. `twice`: should it come to it, it is run again a few seconds later, for what it
 * undoes may still be on its way (a mkdir over ssh). Returns its number, 0 with `err` on failure. */
long undo_add(struct undo *undo, const struct strings *argv, const struct strings *environment, bool twice,
              struct error *err);
/* Takes it off again. */
void undo_forget(struct undo *undo, long id);

/* Lets the rest be done and waits for it, bounded. */
void undo_close(struct undo *undo);

/* The process itself: reads from stdin until its end. Returns the exit status. */
int undo_main(void);

#endif
