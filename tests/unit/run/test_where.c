/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "run/case.h"
#include "run/where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void gpus_are(const char *where, const char *expected) {
    struct error err = {0};
    struct strings list = {0};
    struct text joined = {0};
    js *value = js_parse(where, strlen(where), &err);
    if (value == NULL)
        fail_msg("%s", err.text);
    where_gpus(value, &list);
    for (size_t i = 0; i < list.count; i++)
        text_addf(&joined, "%s%s", i > 0 ? " " : "", list.items[i]);
    assert_string_equal(text_string(&joined), expected);
    text_free(&joined);
    strings_free(&list);
    js_free(value);
}

static void every_way_of_naming_gpus(void **state) {
    (void)state;
    gpus_are("{}", "");
    gpus_are("{\"cpu_node\":0,\"core\":\"local\"}", "");
    gpus_are("{\"gpu\":\"GPU-a\",\"role\":\"local\"}", "GPU-a");
    /* The source first, whatever the order of the keys: its stream is the initiator of a write. */
    gpus_are("{\"to\":\"GPU-a\",\"from\":\"GPU-b\"}", "GPU-b GPU-a");
    gpus_are("{\"gpus\":\"GPU-a+GPU-b+GPU-c\"}", "GPU-a GPU-b GPU-c");
}

static void each_gpu_once(void **state) {
    (void)state;
    gpus_are("{\"gpu\":\"GPU-b\",\"gpus\":\"GPU-a+GPU-b\"}", "GPU-b GPU-a");
    gpus_are("{\"from\":\"GPU-a\",\"to\":\"GPU-a\"}", "GPU-a");
}

static void hostile_values(void **state) {
    (void)state;
    gpus_are("[]", "");
    gpus_are("{\"gpu\":5,\"from\":null,\"to\":[\"GPU-a\"],\"gpus\":{}}", "");
    gpus_are("{\"gpu\":\"\",\"gpus\":\"++\"}", "");
    where_gpus(NULL, &(struct strings){0});
    struct text many = {0};
    for (int i = 0; i < 1000; i++)
        text_addf(&many, "GPU-%d+", i);
    js *where = js_new_object();
    struct strings list = {0};
    js_set_string(where, "gpus", text_string(&many));
    where_gpus(where, &list);
    assert_int_equal(list.count, WHERE_MAX_GPUS);
    strings_free(&list);
    js_free(where);
    text_free(&many);
}

static void a_shelf_keeps_things(void **state) {
    (void)state;
    int thing = 0, other = 0;
    struct shelf *shelf = shelf_make();
    assert_null(shelf_find(shelf, "thing"));
    shelf_put(shelf, "thing", &thing);
    assert_ptr_equal(shelf_find(shelf, "thing"), &thing);
    assert_null(shelf_find(shelf, "thin"));
    int *kept = shelf_keep(shelf, "kept", sizeof *kept);
    assert_int_equal(*kept, 0);
    *kept = 7;
    assert_ptr_equal(shelf_keep(shelf, "kept", sizeof *kept), kept);
    assert_int_equal(*kept, 7);
    for (int i = 0; i < 100; i++)
        shelf_put(shelf, "more", &other); /* a full shelf takes no more, and keeps what it has */
    assert_ptr_equal(shelf_find(shelf, "thing"), &thing);
    assert_null(shelf_keep(shelf, "late", sizeof *kept));
    assert_ptr_equal(shelf_keep(shelf, "kept", sizeof *kept), kept);
    free(kept);
    assert_null(shelf_find(NULL, "thing"));
    assert_null(shelf_keep(NULL, "thing", sizeof thing));
    shelf_put(NULL, "thing", &thing);
    free(shelf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_of_naming_gpus),
        cmocka_unit_test(each_gpu_once),
        cmocka_unit_test(hostile_values),
        cmocka_unit_test(a_shelf_keeps_things),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
