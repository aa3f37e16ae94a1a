/* SPDX-License-Identifier: Apache-2.0 */
/* Series keys in short, for people. */
#include "run/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool names_gpus(const char *name) {
    static const char *const known[] = {"gpu", "from", "to", "gpus"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return false;
}

void key_gpus(const char *key, struct strings *uuids) {
    struct key_parts parts;
    struct strings members = {0};
    if (!key_parse(key, &parts))
        return;
    strings_split(&members, parts.where, ',');
    for (size_t i = 0; i < members.count; i++) {
        char *equals = strchr(members.items[i], '=');
        if (equals == NULL)
            continue;
        *equals = '\0';
        if (names_gpus(members.items[i]))
            strings_split(uuids, equals + 1, '+');
    }
    strings_free(&members);
    key_parts_free(&parts);
}

/* "GPU 0", or the beginning of the UUID where the index is not known. */
static void add_gpu(struct text *t, const char *uuid, const js *gpus) {
    for (size_t i = 0; i < js_length(gpus); i++) {
        const js *gpu = js_at(gpus, i);
        if (strcmp(js_get_string(gpu, "uuid", ""), uuid) == 0) {
            text_addf(t, " GPU %" PRId64, js_get_int(gpu, "index", (int64_t)i));
            return;
        }
    }
    text_addf(t, " %.12s", uuid);
}

static void add_bytes(struct text *t, const char *value) {
    int64_t n = 0;
    if (!text_to_int(value, &n) || n <= 0)
        text_addf(t, " bytes=%s", value);
    else if (n % (1 << 20) == 0)
        text_addf(t, " %" PRId64 " MiB", n >> 20);
    else if (n % (1 << 10) == 0)
        text_addf(t, " %" PRId64 " KiB", n >> 10);
    else
        text_addf(t, " %" PRId64 " B", n);
}

/* What only fills the line: cold or hot by the case and the size, no idle time where it says "busy". */
static bool goes_without_saying(const char *name, const char *value) {
    return strcmp(name, "cache") == 0 || (strcmp(name, "idle_us") == 0 && strcmp(value, "0") == 0);
}

static void add_member(struct text *t, const char *name, const char *value, const js *gpus) {
    int64_t number;
    if (goes_without_saying(name, value))
        return;
    if (strcmp(name, "bytes") == 0) {
        add_bytes(t, value);
    } else if (names_gpus(name)) {
        struct strings uuids = {0};
        strings_split(&uuids, value, '+');
        for (size_t i = 0; i < uuids.count; i++) {
            text_add(t, strcmp(name, "to") == 0 ? " to" : "");
            add_gpu(t, uuids.items[i], gpus);
        }
        strings_free(&uuids);
    } else if (text_to_int(value, &number)) {
        text_addf(t, " %s=%s", name, value);
    } else if (strcmp(value, "none") != 0) { /* no control, no load */
        text_addf(t, " %s", value);
    }
}

static void add_members(struct text *t, const char *list, const js *gpus) {
    struct strings members = {0};
    strings_split(&members, list, ',');
    for (size_t i = 0; i < members.count; i++) {
        char *equals = strchr(members.items[i], '=');
        if (equals == NULL)
            continue;
        *equals = '\0';
        char *value = key_unescape(equals + 1);
        add_member(t, members.items[i], value, gpus);
        free(value);
    }
    strings_free(&members);
}

char *series_label(const char *key, const js *gpus) {
    struct key_parts parts;
    if (!key_parse(key, &parts))
        return text_printable(key);
    struct text t = {0};
    text_addf(&t, "%s %s", parts.bench, parts.metric);
    add_members(&t, parts.where, gpus);
    add_members(&t, parts.params, gpus);
    if (strcmp(parts.target, "host") != 0)
        text_addf(&t, " in %s", parts.target);
    char *label = text_printable(text_string(&t));
    text_free(&t);
    key_parts_free(&parts);
    return label;
}
