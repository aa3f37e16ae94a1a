/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/pinned.h"

#include "base/files.h"
#include "base/mem.h"
#include "base/text.h"
#include "bench/host_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WORTH_KEEPING = 64 << 20, MAX_KEPT = 64 };
static const char shelf_name[] = "pinned host memory";

struct entry {
    struct host_buffer buffer; /* the first member: what is given out */
    enum pinned_how how;
    bool busy;
    size_t filled; /* bytes, with the pattern of `seed` */
    uint32_t seed;
};

struct pool {
    struct entry entries[MAX_KEPT];
};

/* What a taker would rather have: the smallest that is large enough, of those one as filled as it wants it.
 */
static bool is_better(const struct entry *e, const struct entry *best, bool filled) {
    if (best == NULL || e->buffer.bytes != best->buffer.bytes)
        return best == NULL || e->buffer.bytes < best->buffer.bytes;
    return filled ? e->filled > best->filled : e->filled < best->filled;
}

static struct entry *find_free(struct pool *pool, enum pinned_how how, size_t bytes, int os_node,
                               bool filled) {
    struct entry *best = NULL;
    for (int i = 0; pool != NULL && i < MAX_KEPT; i++) {
        struct entry *e = &pool->entries[i];
        if (e->buffer.data != NULL && !e->busy && e->how == how && e->buffer.os_node == os_node &&
            e->buffer.bytes >= bytes && is_better(e, best, filled))
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

static bool make_registered(size_t bytes, int os_node, struct host_buffer *out, struct error *err) {
    if (!host_buffer_reserve(bytes, os_node, out, err))
        return RELAY(err);
    if (out->bound)
        host_data_touch(out->data, bytes);
    else
        for (size_t at = 0; at < bytes; at += 4096)
            ((volatile char *)out->data)[at] = 1;
    host_buffer_read_back(out);
    if (gpu_register(out->data, bytes, err))
        return true;
    host_buffer_free(out);
    return RELAY(err);
}

static bool make(struct entry *entry, enum pinned_how how, size_t bytes, int os_node, struct error *err) {
    if (!host_memory_suffices(bytes, err))
        return RELAY(err);
    struct host_buffer *out = &entry->buffer;
    *out = (struct host_buffer){.bytes = bytes, .os_node = os_node, .found_node = -1, .on_node = 1};
    entry->how = how;
    entry->filled = 0;
    return (how == PINNED_HOSTALLOC ? gpu_host_alloc(bytes, &out->data, err)
                                    : make_registered(bytes, os_node, out, err)) ||
           RELAY(err);
}

/* Memory is registered for all GPUs, also for those whose context is made later. Should a driver see that
 * otherwise, a copy of it would wait by itself, behind a gate for ever: so it is asked. */
static bool make_reachable(struct entry *entry, struct error *err) {
    struct host_buffer *buffer = &entry->buffer;
    struct error ignored = {0};
    void *address = NULL;
    if (gpu_device_address(buffer->data, &address, &ignored))
        return true;
    if (entry->how == PINNED_HOSTALLOC) {
        gpu_host_free(buffer->data);
        buffer->data = NULL; /* or the pool would give it out again, should there be no room for another */
        return make(entry, entry->how, buffer->bytes, buffer->os_node, err) || RELAY(err);
    }
    gpu_unregister(buffer->data);
    if (gpu_register(buffer->data, buffer->bytes, err))
        return true;
    host_buffer_free(buffer);
    return RELAY(err);
}

bool pinned_take(struct shelf *shelf, enum pinned_how how, size_t bytes, int os_node, bool filled,
                 const struct host_buffer **out, struct error *err) {
    struct pool *pool = bytes >= WORTH_KEEPING ? shelf_keep(shelf, shelf_name, sizeof(struct pool)) : NULL;
    struct entry *entry = find_free(pool, how, bytes, os_node, filled);
    *out = NULL;
    if (entry == NULL) {
        struct entry *place = find_empty(pool);
        struct entry *own =
            place == NULL ? mem_zeroed(1, sizeof *own) : NULL; /* pinned_give tells it by that */
        entry = place != NULL ? place : own;
        if (!make(entry, how, bytes, os_node, err)) {
            entry->buffer.data = NULL;
            free(own);
            return RELAY(err);
        }
    } else if (!make_reachable(entry, err)) {
        return RELAY(err);
    }
    entry->busy = true;
    *out = &entry->buffer;
    return true;
}

static struct entry *entry_of(const struct host_buffer *buffer) {
    return (struct entry *)(uintptr_t)buffer; /* its first member */
}

void pinned_mark(const struct host_buffer *buffer, size_t bytes, uint32_t seed) {
    entry_of(buffer)->filled = bytes;
    entry_of(buffer)->seed = seed;
}

bool pinned_is_filled(const struct host_buffer *buffer, size_t bytes, uint32_t *seed) {
    if (bytes == 0 || entry_of(buffer)->filled < bytes)
        return false;
    *seed = entry_of(buffer)->seed;
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
    struct entry *own = entry_of(buffer);
    if (own->how == PINNED_HOSTALLOC) {
        gpu_host_free(own->buffer.data);
    } else {
        gpu_unregister(own->buffer.data);
        host_buffer_free(&own->buffer);
    }
    free(own);
}
