/* SPDX-License-Identifier: Apache-2.0 */
/* One running worker as the coordinator sees it: started, greeted, given items one at a time, ended. */
#ifndef GPUVET_RUN_SESSION_H
#define GPUVET_RUN_SESSION_H

#include "base/error.h"
#include "base/json.h"
#include "run/channel.h"
#include "run/spawn.h"
#include "target/target.h"

#include <stdbool.h>

struct session {
    bool open;
    bool parked; /* it waits for the next round, and says nothing meanwhile */
    bool lost;   /* it no longer answers; session_after_hang ends it */
    struct spawned process;
    struct channel channel;
    struct text errors; /* what the worker wrote to stderr, the beginning of it */
    js *facts;          /* of the hello, owned; NULL: not asked */
};

/* What one item came to. `record` is what the worker sent for it (owned, NULL: none). */
struct item_answer {
    js *record;
    char outcome[16];  /* of the done message, or "hang" or "error" when the session itself failed */
    char reason[1024]; /* "": none */
    char *output;      /* what the measuring process printed, owned; NULL: nothing */
    int64_t quota_us;  /* how long the CPU quota there held the item back; 0: not, or not known */
    char quota[200];   /* which one, as seen there; "": not known */
    js *node;          /* the check after a hang, owned; NULL: none */
    bool unkillable;   /* its process stays, whatever is sent to it; of a hang: see session_after_hang */
    double verdict_ms; /* of a hang: how long after the deadline the verdict was there */
};
void item_answer_free(struct item_answer *answer);

/* Brings the program in and starts it, first by the way that led in last time (target->way), or wakes the
 * parked one as a fresh process. False with `err`: it did
 * not start, did not greet in time, is another build, or an interrupt came. */
bool session_open(struct session *s, struct target *target, bool facts, struct interrupt *interrupt,
                  struct error *err);

/* Sends `item` and waits for its end. True when the session can go on (whatever became of the item); false
 * when it is of no more use, and `answer` says what that means for the item: it was ended, but for one that
 * no longer answers (outcome "hang"), whose end takes longer than its verdict may. An interrupt gives outcome
 * "error", reason "interrupted". */
bool session_run(struct session *s, js *item, struct interrupt *interrupt, struct item_answer *answer);

/* To be called after a hang: ends the session where nobody answers, and else waits for what the worker finds
 * after its verdict (is the process gone, do the GPUs answer). A worker that never says is ended, and the
 * node's `reason` says so.
 */
void session_after_hang(struct session *s, const js *item, struct interrupt *interrupt,
                        struct item_answer *answer);

/* The round is over: what ran in it ends, and a fresh process waits there for session_open. */
void session_park(struct session *s, struct interrupt *interrupt);

/* gpuvet.doctor/1 as the rules see the place from inside, owned; NULL with `err`. */
js *session_doctor(struct session *s, struct interrupt *interrupt, struct error *err);

/* Says bye and waits; kills what does not end. */
void session_close(struct session *s);

#endif
