/* SPDX-License-Identifier: Apache-2.0 */
/* Every subcommand: cmd_NAME.c each defines one of these. */
#ifndef GPUVET_CLI_COMMANDS_H
#define GPUVET_CLI_COMMANDS_H

#include "base/options.h"

/* --results of every command that has it. */
#define OPTION_RESULTS(at)                                                                                   \
    {                                                                                                        \
        .name = "results", .type = OPTION_STRING, .metavar = "DIR", .offset = (at),                          \
        .help = "where runs/ and baselines/ are", .fallback = "GPUVET_RESULTS, ./results, the state folder"  \
    }

extern const struct command command_run;
extern const struct command command_list;
extern const struct command command_compare;
extern const struct command command_baseline;
extern const struct command command_doctor;
extern const struct command command_env;
extern const struct command command_topo;
extern const struct command command_report;
extern const struct command command_version;
/* Hidden: gpuvet starts these itself. */
extern const struct command command_worker;
extern const struct command command_keeper;
extern const struct command command_enter;
extern const struct command command_undo;

#endif
