/* SPDX-License-Identifier: Apache-2.0 */
/* The machines of tests/fixtures/captures, and the instances that a case has on them. */
#ifndef GPUVET_UNIT_BENCH_CAPTURED_H
#define GPUVET_UNIT_BENCH_CAPTURED_H

#include "unit/unit.h"

#include "base/text.h"
#include "run/case.h"
#include "run/record.h"
#include "system/facts.h"

#include <stdlib.h>

static inline struct node captured_node(const char *name) {
    struct source source = {0};
    struct node node = {0};
    struct error err = {0};
    struct text path = {0};
    text_addf(&path, GPUVET_SOURCE_DIR "/tests/fixtures/captures/%s", name);
    if (!source_capture(text_string(&path), &source, &err) || !node_read(&source, &node, &err))
        fail_msg("%s", err.text);
    source_free(&source);
    text_free(&path);
    return node;
}

static inline struct instance_list instances_of(const char *bench, const struct node *node) {
    struct instance_list list = {0};
    const struct bench_case *found = bench_find(bench);
    assert_non_null(found);
    found->instances(node, &list);
    return list;
}

/* How many instances that are not skipped have a key that matches `pattern`, at that level. The key has
 * version 1 whatever the case's is, so that patterns need not follow it. */
static inline int count(const char *bench, const struct instance_list *list, enum level level,
                        const char *pattern) {
    int n = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct instance *one = &list->items[i];
        char *key = series_key(bench, 1, one->metric->name, "", one->where, one->params, "host");
        n += one->level == level && one->skip == NULL && text_matches(pattern, key) ? 1 : 0;
        free(key);
    }
    return n;
}

#endif
