/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_options.h"

#include "cli/commands.h"
#include "run/plan.h"

#include <string.h>

enum { MAX_LABEL = 1000 };

void run_defaults(void *values) {
    struct run_values *v = values;
    v->profile = "standard";
    v->seed = -1;
    v->wait_quiet = 60;
}

#define AT(field) offsetof(struct run_values, field)
const struct option_row run_options[] = {
    {.name = "profile",
     .letter = 'p',
     .type = OPTION_CHOICE,
     .choices = profile_names,
     .metavar = "NAME",
     .offset = AT(profile),
     .help = "how much to measure",
     .fallback = "standard"},
    {.name = "case",
     .letter = 'c',
     .type = OPTION_LIST,
     .metavar = "PATTERN",
     .offset = AT(cases),
     .help = "only cases ('copy.*') or series ('host.wake@*idle_us=50*') that match"},
    {.name = "gpu",
     .type = OPTION_LIST,
     .metavar = "GPU",
     .offset = AT(gpus),
     .help = "only these GPUs: index, UUID or PCI address, with commas"},
    {.name = "in",
     .type = OPTION_LIST,
     .metavar = "TARGET",
     .offset = AT(in),
     .help = "where to measure: host, lxc:NAME, pct:ID, docker:NAME, podman:NAME, ssh:HOST, slurm:NODE, "
             "command:ARGV-FILE, like:PID; several are measured in turn",
     .fallback = "host"},
    {.name = "start",
     .type = OPTION_FLAG,
     .offset = AT(start),
     .help = "start a stopped container (or an image), and stop it afterwards"},
    {.name = "no-own-placement",
     .type = OPTION_FLAG,
     .offset = AT(no_own_placement),
     .help = "measure containers only on the CPUs that the host is measured on"},
    {.name = "label",
     .letter = 'l',
     .type = OPTION_STRING,
     .metavar = "TEXT",
     .offset = AT(label),
     .help = "a name for this run, kept in its header"},
    {.name = "baseline",
     .letter = 'b',
     .type = OPTION_STRING,
     .metavar = "NAME",
     .offset = AT(baseline),
     .help = "set against this baseline",
     .fallback = "the newest of this machine"},
    {.name = "no-baseline", .type = OPTION_FLAG, .offset = AT(no_baseline), .help = "set against none"},
    OPTION_RESULTS(AT(results)),
    {.name = "seed",
     .type = OPTION_INT,
     .min = 0,
     .max = 4294967295.0,
     .metavar = "N",
     .offset = AT(seed),
     .help = "of order and data",
     .fallback = "the baseline's, else 1"},
    {.name = "rounds",
     .type = OPTION_INT,
     .min = 1,
     .max = 256,
     .metavar = "N",
     .offset = AT(rounds),
     .help = "instead of the profile's"},
    {.name = "wait-quiet",
     .type = OPTION_NUMBER,
     .min = 0,
     .max = 86400,
     .metavar = "S",
     .offset = AT(wait_quiet),
     .help = "seconds to wait for a quiet node",
     .fallback = "60"},
    {.name = "nccl",
     .type = OPTION_STRING,
     .metavar = "PATH",
     .offset = AT(nccl),
     .help = "the NCCL to measure with: libnccl.so.2 or its folder, as each place sees it",
     .fallback = "GPUVET_NCCL, the loader's, CUDA's, Python's"},
    {.name = "allow-busy",
     .type = OPTION_FLAG,
     .offset = AT(allow_busy),
     .help = "measure on a busy node; samples are flagged"},
    {.name = "dry-run",
     .letter = 'n',
     .type = OPTION_FLAG,
     .offset = AT(dry_run),
     .help = "show what would run, and stop"},
    {.name = "from",
     .type = OPTION_STRING,
     .metavar = "DIR",
     .offset = AT(from),
     .help = "plan for a captured machine (with --dry-run or --simulate)"},
    {.name = "simulate",
     .type = OPTION_FLAG,
     .offset = AT(simulate),
     .help = "make the values up, in no time: to try the tool out"},
    {.name = "effect",
     .type = OPTION_LIST,
     .metavar = "PATTERN=FACTOR",
     .offset = AT(effects),
     .help = "with --simulate: change what matches ('copy.h2d=0.9')"},
    {.name = "strict",
     .type = OPTION_FLAG,
     .offset = AT(strict),
     .help = "exit 3 when something is undecided"},
    {.name = "report",
     .type = OPTION_STRING,
     .metavar = "DIR",
     .offset = AT(report),
     .help = "write gpuvet report's page and files for this run to DIR"},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = AT(json),
     .help = "the summary, or with --dry-run the plan, for machines"},
    {0},
};

/* A container, which alone can be started. */
static bool has_container(const struct strings *in) {
    static const char *const kinds[] = {"lxc:", "pct:", "docker:", "podman:"};
    for (size_t i = 0; i < in->count; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (text_starts(in->items[i], kinds[k]))
                return true;
    return false;
}

/* What would do nothing is a mistake, and silence would hide it. */
bool run_options_check(const struct run_values *v, struct error *err) {
    if (v->dry_run && v->report != NULL)
        return FAIL(err, ERROR_USAGE, "--report does nothing with --dry-run: nothing is measured");
    if (v->start && !has_container(&v->in))
        return FAIL(
            err, ERROR_USAGE,
            "--start starts a container: name it with --in lxc:NAME, pct:ID, docker:NAME or podman:NAME");
    if (v->from != NULL && !v->dry_run && !v->simulate)
        return FAIL(err, ERROR_USAGE,
                    "--from plans for a captured machine: it needs --dry-run or --simulate");
    if (v->effects.count > 0 && !v->simulate)
        return FAIL(err, ERROR_USAGE, "--effect changes made-up values: it needs --simulate");
    if (v->label != NULL && strlen(v->label) > MAX_LABEL)
        return FAIL(err, ERROR_USAGE,
                    "the label is longer than %d bytes: it is a name, shown with every comparison",
                    MAX_LABEL);
    if (v->baseline != NULL && v->no_baseline)
        return FAIL(err, ERROR_USAGE, "--baseline '%s' and --no-baseline contradict each other", v->baseline);
    return true;
}
