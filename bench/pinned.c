/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/pinned.h"

#include "base/files.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WORTH_KEEPING = 64 << 20, MAX_KEPT = 64 };
static const char shelf_name[] = "pinned host memory";

struct entry {
    struct host_buffer buffer;
    bool busy;
};

struct pool {
    struct entry entries[MAX_KEPT];
};

static struct pool *pool_of(struct shelf *shelf) {
    struct pool *pool = shelf_find(shelf, shelf_name);
    if (pool == NULL && shelf != NULL) {
        pool = mem_zeroed(1, sizeof *pool);
        shelf_put(shelf, shelf_name, pool);
    }
    return pool;
}

/* The smallest that is large enough. */
static struct entry *find_free(struct pool *pool, size_t bytes, int os_node) {
    struct entry *best = NULL;
    for (int i = 0; pool != NULL && i < MAX_KEPT; i++) {
        struct entry *e = &pool->entries[i];
        if (e->buffer.data != NULL && !e->busy && e->buffer.os_node == os_node && e->buffer.bytes >= bytes &&
            (best == NULL || e->buffer.bytes < best->buffer.bytes))
            best = e;
    }
    return best;
}

static struct entry *find_empty(struct pool *pool) {
    for (int i = 0; pool != NULL && i < MAX_KEPT; i++)
        if (pool->entries[i].buffer.data == NULL)
            return &pool->entries[i];
    return NULL;
}

static int64_t available_kib(void) {
    struct text text = {0};
    struct error ignored = {0};
    int64_t kib = -1;
    if (file_read("/proc/meminfo", 65536, &text, &ignored)) {
        const char *line = strstr(text_string(&text), "\nMemAvailable:");
        if (line != NULL)
            kib = strtoll(line + strlen("\nMemAvailable:"), NULL, 10);
    }
    text_free(&text);
    return kib;
}

bool host_memory_suffices(size_t bytes, struct error *err) {
    int64_t kib = available_kib();
    /* A tenth stays with the system. */
    if (kib < 0 || (int64_t)(bytes >> 10) <= kib / 10 * 9)
        return true;
    return FAIL(err, ERROR_SYSTEM, "needs %zu MiB of host memory, %" PRId64 " MiB are available", bytes >> 20,
                kib >> 10);
}

static bool make(size_t bytes, int os_node, struct host_buffer *out, struct error *err) {
    if (!host_memory_suffices(bytes, err) || !host_buffer_make(bytes, os_node, out, err))
        return RELAY(err);
    if (gpu_register(out->data, bytes, err))
        return true;
    host_buffer_free(out);
    return RELAY(err);
}

/* Memory is registered for all GPUs, also for those whose context is made later. Should a driver see that
 * otherwise, a copy of it would wait by itself, behind a gate for ever: so it is asked. */
static bool make_reachable(struct host_buffer *buffer, struct error *err) {
    struct error ignored = {0};
    void *address = NULL;
    if (gpu_device_address(buffer->data, &address, &ignored))
        return true;
    gpu_unregister(buffer->data);
    if (gpu_register(buffer->data, buffer->bytes, err))
        return true;
    host_buffer_free(buffer);
    return RELAY(err);
}

bool pinned_take(struct shelf *shelf, size_t bytes, int os_node, const struct host_buffer **out,
                 struct error *err) {
    struct pool *pool = bytes >= WORTH_KEEPING ? pool_of(shelf) : NULL;
    struct entry *entry = find_free(pool, bytes, os_node);
    *out = NULL;
    if (entry == NULL) {
        struct entry *place = find_empty(pool);
        struct entry *own =
            place == NULL ? mem_zeroed(1, sizeof *own) : NULL; /* pinned_give tells it by that */
        entry = place != NULL ? place : own;
        if (!make(bytes, os_node, &entry->buffer, err)) {
            free(own);
            return RELAY(err);
        }
    } else if (!make_reachable(&entry->buffer, err)) {
        return RELAY(err);
    }
    entry->busy = true;
    *out = &entry->buffer;
    return true;
}

void pinned_give(struct shelf *shelf, const struct host_buffer *buffer) {
    struct pool *pool = shelf_find(shelf, shelf_name);
    if (buffer == NULL)
        return;
    for (int i = 0; pool != NULL && i < MAX_KEPT; i++)
        if (&pool->entries[i].buffer == buffer) {
            pool->entries[i].busy = false;
            return;
        }
    struct entry *own = (struct entry *)(uintptr_t)buffer; /* `buffer` is its first member */
    gpu_unregister(own->buffer.data);
    host_buffer_free(&own->buffer);
    free(own);
}
