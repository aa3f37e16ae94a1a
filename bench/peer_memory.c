/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peer_memory.h"

enum { MAX_KEPT = 512 };
static const char shelf_name[] = "GPU memory for peers";

struct entry {
    void *memory;
    size_t bytes;
    int ordinal;
    bool busy;
};

struct pool {
    struct entry entries[MAX_KEPT];
    int n;
};

/* The smallest that is large enough. */
static struct entry *find_free(struct pool *pool, int ordinal, size_t bytes) {
    struct entry *best = NULL;
    for (int i = 0; i < pool->n; i++) {
        struct entry *e = &pool->entries[i];
        if (e->memory != NULL && !e->busy && e->ordinal == ordinal && e->bytes >= bytes &&
            (best == NULL || e->bytes < best->bytes))
            best = e;
    }
    return best;
}

static struct entry *find_empty(struct pool *pool) {
    for (int i = 0; i < pool->n; i++)
        if (pool->entries[i].memory == NULL)
            return &pool->entries[i];
    return pool->n < MAX_KEPT ? &pool->entries[pool->n++] : NULL;
}

/* What nobody uses on this GPU, which is current. */
static void release_free(struct pool *pool, int ordinal) {
    for (int i = 0; i < pool->n; i++) {
        struct entry *e = &pool->entries[i];
        if (e->memory == NULL || e->busy || e->ordinal != ordinal)
            continue;
        gpu_free(e->memory);
        *e = (struct entry){0};
    }
}

static bool allocate(struct pool *pool, int ordinal, size_t bytes, void **out, struct error *err) {
    struct error ignored = {0};
    if (gpu_alloc(bytes, out, &ignored))
        return true;
    release_free(pool, ordinal);
    return gpu_alloc(bytes, out, err) || RELAY(err);
}

bool peer_memory_take(struct shelf *shelf, const struct gpu_device *gpu, size_t bytes, void **out,
                      struct error *err) {
    struct pool *pool = shelf_keep(shelf, shelf_name, sizeof(struct pool));
    *out = NULL;
    if (pool == NULL)
        return FAIL(err, ERROR_DATA, "no shelf for the memory of GPUs");
    if (!gpu_use(gpu, err))
        return RELAY(err);
    struct entry *entry = find_free(pool, gpu->ordinal, bytes);
    if (entry == NULL) {
        entry = find_empty(pool);
        if (entry == NULL)
            return FAIL(err, ERROR_DATA, "more than %d buffers on GPUs", MAX_KEPT);
        void *memory = NULL;
        if (!allocate(pool, gpu->ordinal, bytes, &memory, err))
            return error_context(err, "%s", gpu->bdf);
        *entry = (struct entry){.memory = memory, .bytes = bytes, .ordinal = gpu->ordinal};
    }
    entry->busy = true;
    *out = entry->memory;
    return true;
}

void peer_memory_give(struct shelf *shelf, void *memory) {
    struct pool *pool = shelf_find(shelf, shelf_name);
    for (int i = 0; memory != NULL && pool != NULL && i < pool->n; i++)
        if (pool->entries[i].memory == memory)
            pool->entries[i].busy = false;
}
