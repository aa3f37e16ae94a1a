/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of compare/ say to each other. */
#ifndef GPUVET_COMPARE_PARTS_H
#define GPUVET_COMPARE_PARTS_H

#include "compare/compare.h"

struct side {
    const struct run *runs;
    size_t n;
    const char *name; /* "BEFORE", "AFTER" */
};

/* The run of a side that started last. */
const struct run *side_newest(const struct side *side);

/* Fills worse, differences, not_visible and what else the environment tells. */
void compare_environment(const struct side *before, const struct side *after, struct comparison *out);
/* What the records say of the GPUs: links under load, PCIe errors. */
void compare_counters(const struct side *before, const struct side *after, struct comparison *out);
/* A changed path class of one series: worse when the new path is longer, else a note. */
void compare_path_class(const char *key, const char *before, const char *after, struct comparison *out);

/* JSON that several outputs have; owned. */
js *compare_worse_json(const struct comparison *c);
js *compare_strings_json(const struct strings *list);
/* Verdict, reason and all figures but those of the two sides. */
void compare_add_figures(js *to, const struct decide_result *result);

#endif
