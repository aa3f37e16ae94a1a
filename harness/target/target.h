/* SPDX-License-Identifier: Apache-2.0 */
/* Where a worker runs: an argv prefix that is put before the program, and a way to bring the program in. The
 * host has neither. Nothing goes through a shell on our side; what runs a remote one (ssh) gets words that no
 * shell changes. */
#ifndef GPUVET_TARGET_TARGET_H
#define GPUVET_TARGET_TARGET_H

#include "base/error.h"
#include "base/text.h"
#include "target/undo.h"

#include <stdbool.h>
#include <sys/types.h>

enum target_kind {
    TARGET_HOST,
    TARGET_LXC,
    TARGET_PCT,
    TARGET_DOCKER,
    TARGET_PODMAN,
    TARGET_SSH,
    TARGET_SLURM,
    TARGET_COMMAND,
    TARGET_LIKE,
};

struct target {
    char *name; /* "host", or TYPE:NAME as given to --in; owned */
    enum target_kind kind;
    char *id;                   /* NAME: of the container, the machine, the file, the process */
    struct strings extra;       /* words after NAME: for srun, or for starting an image */
    struct strings prefix;      /* argv before the program's own */
    struct strings environment; /* "NAME=value": all that the prefix's process gets; the host's has our own */
    pid_t init;                 /* the container's first process as seen from here; 0: not known */
    struct undo *undo; /* what a sudden end leaves to be done; borrowed, NULL: nothing may be needed */
    int interrupt_fd;  /* readable when the user wants an end; -1: none */
    int way;           /* of bringing the program in, that led there last time; the first one at first */
};

/* From what was given to --in. False with `err` for a kind that is not known or a name that cannot be one. */
bool target_parse(const char *text, struct target *out, struct error *err);
void target_free(struct target *target);

/* Sees that the place is there and running. A stopped container, or an image, is started only with
 * `may_start`, and `target->undo` then stops it at the end, also when we are killed. */
bool target_ready(struct target *target, bool may_start, struct error *err);

/* One way of starting the program there. */
struct target_start {
    struct strings argv;
    char *file;   /* brought in, and removed by the worker as it starts; NULL: none was needed */
    long undo_id; /* of the file's removal; 0: none */
    char *script; /* its stdin gets this first, our own executable behind it; NULL: nothing */
};
void target_start_free(struct target_start *start);

/* Ways to bring the program in, tried in this order: 0 … target_ways() - 1. */
int target_ways(const struct target *target);

/* Brings this very program in by one of the ways and says how to start `worker` there with `options` (NULL:
 * none). False with `err`: this way does not work here. */
bool target_bring(const struct target *target, int way, const struct strings *options,
                  struct target_start *out, struct error *err);

/* Takes away at once what a way that failed (`why`) has left there: in /dev/shm it would take room from NCCL
 * for as long as the run goes on. */
void target_withdraw(const struct target *target, struct target_start *start, const struct error *why);

#endif
