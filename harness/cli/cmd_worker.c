/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "run/worker.h"

#define AT(field) offsetof(struct worker_options, field)
static const struct option_row options[] = {
    {.name = "facts", .type = OPTION_FLAG, .offset = AT(facts), .help = "tell what this place is"},
    {.name = "unlink", .type = OPTION_FLAG, .offset = AT(unlink), .help = "remove the file brought in"},
    {.name = "limits-of-init",
     .type = OPTION_FLAG,
     .offset = AT(limits_of_init),
     .help = "take over the limits of process 1"},
    {.name = "parked", .type = OPTION_FLAG, .offset = AT(parked), .help = "wait for a word to begin"},
    {0},
};

static int run(void *values, const struct strings *arguments) {
    (void)arguments;
    return worker_main(values);
}

const struct command command_worker = {
    .name = "worker",
    .summary = "measures for a coordinator over stdin and stdout",
    .options = options,
    .values_size = sizeof(struct worker_options),
    .run = run,
    .hidden = true,
};
