/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "run/worker.h"

struct worker_values {
    bool facts;
};

static const struct option_row options[] = {
    {.name = "facts",
     .type = OPTION_FLAG,
     .offset = offsetof(struct worker_values, facts),
     .help = "tell what this place is"},
    {0},
};

static int run(void *values, const struct strings *arguments) {
    (void)arguments;
    const struct worker_values *v = values;
    return worker_main(v->facts);
}

const struct command command_worker = {
    .name = "worker",
    .summary = "measures for a coordinator over stdin and stdout",
    .options = options,
    .values_size = sizeof(struct worker_values),
    .run = run,
    .hidden = true,
};
