/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the kernel what may never be answered (a dead file system, a sick driver): in a child that is given
 * up on, so that the rest is asked all the same. */
#ifndef GPUVET_BASE_BOUNDED_H
#define GPUVET_BASE_BOUNDED_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BOUNDED_MOST = 8 << 20 }; /* bytes: more than any honest answer */

enum bounded_how { BOUNDED_DONE, BOUNDED_LATE, BOUNDED_TOO_MUCH, BOUNDED_DIED, BOUNDED_NO_CHILD };

struct bounded_end {
    enum bounded_how how;
    int signal; /* that killed it, where it died */
    int status; /* with which it ended, where it is done; errno, where there was no child */
    bool stuck; /* it cannot be killed: left behind, in the kernel */
};

/* Runs `body(argument, fd)` in a child of its own; what it writes to `fd` is added to `said`, and is there
 * even when the child did not come to its end. Over: it returned, it said nothing for `silence_ns`,
 * `total_ns` are gone, or it said more than `most` bytes. One that cannot be killed is left behind: it holds
 * nothing of ours. What it prints goes to /dev/null. */
struct bounded_end bounded_ask(void (*body)(void *argument, int fd), void *argument, int64_t silence_ns,
                               int64_t total_ns, size_t most, struct text *said);

struct bounded_answer {
    char *text;           /* owned; NULL: none */
    bool tried;           /* false: the time was over before its turn */
    enum bounded_how how; /* why there is none, where tried */
};

/* Asks `count` questions in order, the rest in a fresh child after each that hangs or kills its child. `one`
 * adds its answer, without a newline, to the text. Release with bounded_answers_free. */
struct bounded_answer *bounded_each(void (*one)(void *argument, size_t index, struct text *answer),
                                    void *argument, size_t count, int64_t item_ns, int64_t total_ns);
void bounded_answers_free(struct bounded_answer *answers, size_t count);

#endif
