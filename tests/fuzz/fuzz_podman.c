/* SPDX-License-Identifier: Apache-2.0 */
/* What Podman keeps: config.json of a container, the list of names, storage.conf; each input is all three. */
#define FUZZ_CORPUS "podman"
#include "fuzz/fuzz.h"
#include "system/capture_clean.h"
#include "system/containers_parts.h"

#include <ctype.h>

static const char file[] = "/x/overlay-containers/0123456789ab/userdata/config.json";

static void parse(const char *text, size_t size, struct container_list *list) {
    *list = (struct container_list){mem_zeroed(1, sizeof(struct container)), 1, 1};
    list->items[0].kind = CONTAINER_PODMAN;
    container_parse_podman(file, text, size, list->items);
}

/* Nothing that may not stand in a text for people. */
static void check_plain(const char *s) {
    for (; *s != '\0'; s++)
        if (*s < ' ' || *s > '~')
            abort();
}

static void check(const struct container *c) {
    if (c->problem != NULL && (c->problem[0] == '\0' || c->n_devices > 0 || c->n_rules > 0))
        abort(); /* a refusal says why, and gives nothing */
    for (size_t i = 0; i < c->n_devices; i++) {
        const struct device_entry *d = &c->devices[i];
        check_plain(d->text);
        if (!text_starts(d->host_path, "/dev/nvidia") || container_device(c, d->host_path) != d)
            abort(); /* a node of the driver's, and each once */
        if ((d->major < 0) != (d->minor < 0) || (d->by_manager && d->major < 0))
            abort();
    }
    for (size_t i = 0; i < c->n_rules; i++) {
        check_plain(c->rules[i].text);
        if (c->rules[i].type == 'a' && c->rules[i].allow)
            abort(); /* --privileged is not kept */
    }
}

/* Whether there is a number that would be written another way. */
static bool has_real(const char *s, size_t size) {
    for (size_t i = 0; i + 1 < size; i++)
        if (isdigit((unsigned char)s[i]) && strchr(".eE", s[i + 1]) != NULL)
            return true;
    return false;
}

/* A capture is judged as the machine was. */
static void check_capture(const char *text, size_t size, const struct container *live) {
    struct text clean = {0};
    struct container_list list;
    if (!capture_clean_file(file, text, size, &clean))
        abort();
    parse(text_string(&clean), clean.length, &list);
    const struct container *kept = list.items;
    if (kept->n_devices != live->n_devices || kept->n_rules != live->n_rules ||
        kept->by_hook != live->by_hook)
        abort();
    for (size_t i = 0; i < kept->n_devices; i++)
        if (strcmp(kept->devices[i].text, live->devices[i].text) != 0 ||
            kept->devices[i].by_manager != live->devices[i].by_manager)
            abort();
    for (size_t i = 0; i < kept->n_rules; i++)
        if (strcmp(kept->rules[i].text, live->rules[i].text) != 0 ||
            strcmp(kept->rules[i].key, live->rules[i].key) != 0 ||
            kept->rules[i].allow != live->rules[i].allow)
            abort();
    containers_free(&list);
    text_free(&clean);
}

static void check_names(const char *text, size_t size) {
    struct error err = {0};
    js *names = js_parse(text, size, &err);
    for (size_t i = 0; i < js_length(names) && i < 16; i++) {
        const char *id = js_get_string(js_at(names, i), "id", "");
        const char *name = container_podman_name(names, id);
        if (name != NULL && (name[0] == '-' || name[0] == '\0' || strpbrk(name, " ;$'\"`\\\n") != NULL))
            abort(); /* it stands in commands */
    }
    js_free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = mem_copy_bytes((const char *)data, size);
    struct container_list list;
    parse(text, size, &list);
    check(list.items);
    if (strlen(text) == size && !has_real(text, size))
        check_capture(text, size, list.items);
    containers_free(&list);
    check_names(text, size);
    char *root = container_podman_graphroot(text);
    if (root != NULL && (root[0] != '/' || strlen(root) >= 400 || strchr(root, '\n') != NULL))
        abort();
    free(root);
    free(text);
    return 0;
}
