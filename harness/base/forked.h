/* SPDX-License-Identifier: Apache-2.0 */
/* Asking something that may crash or hang (a driver): in a forked child, bounded in time. */
#ifndef GPUVET_BASE_FORKED_H
#define GPUVET_BASE_FORKED_H

#include "base/error.h"
#include "base/json.h"

#include <stdint.h>

/* Runs `body(argument)` in a child and returns the JSON it made (owned). NULL with `err` when the child
 * crashed
 * ("killed by signal 11 …"), did not answer within `limit_ns`, or answered with more than 4 MiB or no JSON. A
 * child that cannot be killed is left behind, and the error says so. What it prints goes to /dev/null. */
js *forked_json(js *(*body)(void *argument), void *argument, int64_t limit_ns, struct error *err);

#endif
