/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "gpu/keeper.h"

#include <signal.h>
#include <sys/prctl.h>

static int run(void *values, const struct strings *arguments) {
    (void)values;
    (void)arguments;
    /* The end of stdin tells that the coordinator is gone, but a call that hangs in the driver looks at
     * nothing. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return keeper_main();
}

const struct command command_keeper = {
    .name = "keeper",
    .summary = "holds every GPU open until its stdin ends",
    .values_size = 1,
    .run = run,
    .hidden = true,
};
