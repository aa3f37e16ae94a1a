/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "gpu/keeper.h"

static int run(void *values, const struct strings *arguments) {
    (void)values;
    (void)arguments;
    return keeper_main();
}

const struct command command_keeper = {
    .name = "keeper",
    .summary = "holds every GPU open until its stdin ends",
    .values_size = 1,
    .run = run,
    .hidden = true,
};
