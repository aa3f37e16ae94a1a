/* SPDX-License-Identifier: Apache-2.0 */
/* What Docker keeps of a container. The same value written anew, as it was parsed, says the same. */
#define FUZZ_CORPUS "docker"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "system/containers.h"

enum { MOST = 1024 };

static void check(const struct container *c) {
    if (c->problem != NULL && (c->problem[0] == '\0' || c->n_devices + c->n_rules > 0 || c->by_hook))
        abort(); /* a refusal says why, and gives nothing */
    if (!c->denies_first || c->n_devices > MOST || c->n_rules > MOST + 1)
        abort();
    for (size_t i = 0; i < c->n_devices; i++)
        if (!text_starts(c->devices[i].host_path, "/dev/nvidia") || c->devices[i].text == NULL ||
            container_device(c, c->devices[i].host_path) != &c->devices[i])
            abort(); /* each node once */
    for (size_t i = 0; i < c->n_rules; i++) {
        const struct device_rule *rule = &c->rules[i];
        if (rule->key == NULL || rule->text == NULL || rule->major_text == NULL || !rule->allow ||
            strchr("acb/?", rule->type) == NULL || rule->major < -2 || rule->minor < -2)
            abort();
    }
}

static struct container_list parse(const char *text, size_t size) {
    static const char file[] = "/var/lib/docker/containers/0123456789ab/hostconfig.json";
    struct container_list list = {mem_zeroed(1, sizeof(struct container)), 1, 1};
    list.items[0].kind = CONTAINER_DOCKER;
    container_parse_docker(file, text, size, &list.items[0]);
    check(&list.items[0]);
    return list;
}

static void check_same(const struct container *a, const struct container *b) {
    if (a->n_devices != b->n_devices || a->n_rules != b->n_rules || a->by_hook != b->by_hook)
        abort();
    for (size_t i = 0; i < a->n_devices; i++)
        if (strcmp(a->devices[i].host_path, b->devices[i].host_path) != 0 ||
            a->devices[i].denies_write != b->devices[i].denies_write ||
            a->devices[i].by_manager != b->devices[i].by_manager)
            abort();
    for (int major = 195; major <= 511; major += 316)
        if (container_allows(a, 0, major, 0) != container_allows(b, 0, major, 0))
            abort();
    if (container_allows_path(a, 0, "/dev/nvidia0") != container_allows_path(b, 0, "/dev/nvidia0"))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = mem_copy_bytes((const char *)data, size);
    struct error err = {0};
    js *value = js_parse(text, size, &err);
    struct container_list list = parse(text, size);
    if ((value == NULL) != (list.items[0].problem != NULL))
        abort();
    if (value != NULL) {
        char *again = js_text(value);
        struct container_list second = parse(again, strlen(again));
        check_same(&list.items[0], &second.items[0]);
        containers_free(&second);
        free(again);
        js_free(value);
    }
    containers_free(&list);
    free(text);
    return 0;
}
