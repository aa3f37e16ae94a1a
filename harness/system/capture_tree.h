/* SPDX-License-Identifier: Apache-2.0 */
/* root/ and files.tsv of a capture that is being written. Copies lie where their paths lead to, every link on
 * the way is a link there too; nothing is written through a link. */
#ifndef GPUVET_SYSTEM_CAPTURE_TREE_H
#define GPUVET_SYSTEM_CAPTURE_TREE_H

#include "base/text.h"
#include "system/recording.h"

#include <stdbool.h>
#include <stddef.h>

struct capture_tree {
    int root;          /* the folder root/ of the capture */
    struct text table; /* files.tsv */
    size_t bytes;      /* copied so far */
    bool cut;          /* something was left out for its size or number */
};

/* One file, folder or link of this machine. */
void capture_tree_add(struct capture_tree *tree, const struct recorded *entry);

#endif
