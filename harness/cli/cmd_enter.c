/* SPDX-License-Identifier: Apache-2.0 */
/* Hidden: what coordinators start beside themselves. */
#include "base/log.h"
#include "cli/commands.h"
#include "target/enter.h"
#include "target/undo.h"

#include <stdio.h>

static int run_enter(void *values, const struct strings *arguments) {
    (void)values;
    struct error err = {0};
    int64_t pid = 0;
    if (!text_to_int(arguments->items[0], &pid) || pid < 1 || pid > 1 << 30) {
        FAIL(&err, ERROR_USAGE, "'%s' is no process number", arguments->items[0]);
        log_error(&err);
        return 2;
    }
    struct strings rest = {.items = arguments->items + 1, .count = arguments->count - 1};
    return enter_main((pid_t)pid, &rest);
}

const struct command command_enter = {
    .name = "enter",
    .arguments = "PID ARGUMENT…",
    .summary = "runs gpuvet beside a process, in its cgroups and namespaces",
    .min_arguments = 2,
    .max_arguments = 16,
    .values_size = 1,
    .run = run_enter,
    .hidden = true,
};

static int run_undo(void *values, const struct strings *arguments) {
    (void)values;
    (void)arguments;
    return undo_main();
}

const struct command command_undo = {
    .name = "undo",
    .summary = "tidies up when its stdin ends",
    .values_size = 1,
    .run = run_undo,
    .hidden = true,
};
