/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs a run is about: what the user names, and what CUDA_VISIBLE_DEVICES leaves. */
#include "base/mem.h"
#include "run/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool gpu_is_named(const struct gpu_info *gpu, const char *name) {
    int64_t index = 0;
    if (text_to_int(name, &index))
        return gpu->index == index;
    size_t n = strlen(name);
    bool uuid = n >= 8 && strncasecmp(name, gpu->uuid, n) == 0;
    bool short_bdf = n == 7 && strcasecmp(name, gpu->bdf + (strlen(gpu->bdf) > 5 ? 5 : 0)) == 0;
    /* nvidia-smi writes the PCI domain with eight digits. */
    bool long_bdf = n > strlen(gpu->bdf) && strcasecmp(name + n - strlen(gpu->bdf), gpu->bdf) == 0;
    return uuid || short_bdf || long_bdf || strcasecmp(name, gpu->bdf) == 0;
}

/* How many GPUs the name fits; the last one is at `at`. */
static size_t find_named(const struct node *node, const char *name, size_t *at) {
    size_t found = 0;
    for (size_t i = 0; i < node->gpus.count; i++)
        if (gpu_is_named(&node->gpus.items[i], name)) {
            *at = i;
            found++;
        }
    return found;
}

static bool mark_named(const struct node *node, const struct strings *names, bool *keep, struct error *err) {
    for (size_t n = 0; n < names->count; n++) {
        size_t at = 0;
        size_t found = find_named(node, names->items[n], &at);
        if (found == 1) {
            keep[at] = true;
            continue;
        }
        struct text there = {0};
        for (size_t i = 0; i < node->gpus.count; i++)
            text_addf(&there, "%s%d (%s, %s)", i > 0 ? ", " : "", node->gpus.items[i].index,
                      node->gpus.items[i].bdf, node->gpus.items[i].uuid);
        FAIL(err, ERROR_USAGE, "%s '%s'; %s%s",
             found > 1 ? "more than one GPU is called" : "no GPU is called", names->items[n],
             there.length > 0 ? "there are: " : "",
             there.length > 0 ? text_string(&there) : node->gpus.reason);
        text_free(&there);
        return false;
    }
    return true;
}

/* CUDA_VISIBLE_DEVICES as CUDA reads it: up to the first entry that names no device, or several. */
static void mark_visible(const struct node *node, const char *visible, bool *keep) {
    struct strings names = {0};
    strings_split(&names, visible, ',');
    for (size_t n = 0; n < names.count; n++) {
        size_t at = 0;
        if (find_named(node, text_trim(names.items[n]), &at) != 1)
            break;
        keep[at] = true;
    }
    strings_free(&names);
}

static void keep_only(struct node *node, const bool *keep, const char *why) {
    size_t kept = 0;
    for (size_t i = 0; i < node->gpus.count; i++)
        if (keep[i])
            node->gpus.items[kept++] = node->gpus.items[i];
    if (kept == 0 && node->gpus.count > 0)
        snprintf(node->gpus.reason, sizeof node->gpus.reason, "%s", why);
    node->gpus.count = kept;
}

bool plan_choose_gpus(struct node *node, const struct strings *choices, const char *visible,
                      struct error *err) {
    bool *keep = mem_zeroed(node->gpus.count, sizeof *keep);
    bool good = true;
    if (visible != NULL) {
        mark_visible(node, visible, keep);
        keep_only(node, keep, "CUDA_VISIBLE_DEVICES leaves no GPU visible");
        memset(keep, 0, node->gpus.count * sizeof *keep);
    }
    if (choices != NULL && choices->count > 0) {
        struct strings names = {0};
        for (size_t i = 0; i < choices->count; i++)
            strings_split(&names, choices->items[i], ',');
        good = mark_named(node, &names, keep, err);
        if (good)
            keep_only(node, keep, "no GPU was chosen");
        strings_free(&names);
    }
    free(keep);
    return good;
}
