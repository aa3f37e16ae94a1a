/* SPDX-License-Identifier: Apache-2.0 */
/* What cases call. Apart from case.c, which names every case: so the file of one case can be linked alone. */
#include "run/case.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct instance *instance_add(struct instance_list *list, const struct metric *metric, enum level level) {
    list->items = mem_grow(list->items, list->count, &list->capacity, sizeof *list->items);
    struct instance *instance = &list->items[list->count++];
    *instance = (struct instance){.metric = metric, .level = level, .cpu = -1, .samples = 1, .operations = 1};
    instance->where = js_new_object();
    instance->attributes = js_new_object();
    instance->params = js_new_object();
    instance->limit = NAN;
    instance->limit_raw = NAN;
    return instance;
}

void instance_list_free(struct instance_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        js_free(list->items[i].where);
        js_free(list->items[i].attributes);
        js_free(list->items[i].params);
        js_free(list->items[i].env);
        free(list->items[i].skip);
    }
    free(list->items);
    *list = (struct instance_list){0};
}

void samples_add(struct samples *samples, double value) {
    samples->values = mem_grow(samples->values, samples->count, &samples->capacity, sizeof *samples->values);
    samples->values[samples->count++] = value;
}

const char *case_text(const struct case_context *context, const char *param) {
    return js_get_string(context->params, param, "");
}

int64_t case_number(const struct case_context *context, const char *param) {
    return js_get_int(context->params, param, 0);
}

enum { SHELF_PLACES = 16 };

struct shelf {
    struct {
        const char *name;
        void *thing;
    } places[SHELF_PLACES];
    int used;
};

struct shelf *shelf_make(void) {
    return mem_zeroed(1, sizeof(struct shelf));
}

void *shelf_find(const struct shelf *shelf, const char *name) {
    for (int i = 0; shelf != NULL && i < shelf->used; i++)
        if (strcmp(shelf->places[i].name, name) == 0)
            return shelf->places[i].thing;
    return NULL;
}

void shelf_put(struct shelf *shelf, const char *name, void *thing) {
    if (shelf == NULL || shelf->used == SHELF_PLACES)
        return; /* a case then makes its own thing anew each time */
    shelf->places[shelf->used].name = name;
    shelf->places[shelf->used++].thing = thing;
}

void *shelf_keep(struct shelf *shelf, const char *name, size_t bytes) {
    void *kept = shelf_find(shelf, name);
    if (kept != NULL || shelf == NULL || shelf->used == SHELF_PLACES)
        return kept;
    kept = mem_zeroed(1, bytes);
    shelf_put(shelf, name, kept);
    return kept;
}
