/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of pairs of GPUs, from any JSON, and how it reads in the environment. */
#include "unit/unit.h"

#include "system/gpus.h"
#include "system/node.h"

#include <string.h>

static js *parse(const char *text) {
    struct error err = {0};
    js *value = js_parse(text, strlen(text), &err);
    assert_non_null(value);
    return value;
}

static struct gpu_list list_of(int n, const char *p2p, const char *nvlink) {
    js *gpus = js_new_array();
    for (int i = 0; i < n; i++) {
        char uuid[16];
        js *gpu = js_new_object();
        snprintf(uuid, sizeof uuid, "GPU-%d", i);
        js_set_int(gpu, "index", i);
        js_set_string(gpu, "uuid", uuid);
        js_append(gpus, gpu);
    }
    struct gpu_list list;
    js *a = p2p == NULL ? NULL : parse(p2p), *b = nvlink == NULL ? NULL : parse(nvlink);
    gpu_list_from_json(gpus, &list);
    gpu_list_set_pairs(&list, a, b);
    js_free(gpus);
    js_free(a);
    js_free(b);
    return list;
}

static void read_by_index(void **state) {
    (void)state;
    struct gpu_list list =
        list_of(3, "[[\"X\",\"OK\",\"CNS\"],[\"OK\",\"X\",\"U\"],[\"TNS\",\"OK\",\"X\"]]",
                "[{\"from\":0,\"to\":1,\"links\":4},{\"from\":1,\"to\":2,\"links\":null}]");
    assert_string_equal(gpu_list_p2p(&list, 0, 1), "OK");
    assert_string_equal(gpu_list_p2p(&list, 0, 2), "CNS");
    assert_string_equal(gpu_list_p2p(&list, 2, 0), "TNS");
    assert_string_equal(gpu_list_p2p(&list, 1, 2), "");
    assert_int_equal(gpu_list_nvlinks(&list, 0, 1), 4);
    assert_int_equal(gpu_list_nvlinks(&list, 1, 0), 0);
    assert_int_equal(gpu_list_nvlinks(&list, 1, 2), -1);
    gpu_list_free(&list);
}

static void nonsense_is_unknown(void **state) {
    (void)state;
    static const char *const wrong[] = {"{}",        "[]",    "3", "[[1,2],[3,4]]", "[[\"X\",\"YES\"]]",
                                        "[[{}],[]]", "[null]"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct gpu_list list =
            list_of(2, wrong[i], "[{\"from\":0,\"to\":1,\"links\":5000},7,null,{\"from\":\"a\"}]");
        assert_string_equal(gpu_list_p2p(&list, 0, 1), "");
        assert_string_equal(gpu_list_p2p(&list, -1, 1), "");
        assert_int_equal(gpu_list_nvlinks(&list, 0, 1), -1);
        js *stable = js_new_object(), *moving = js_new_object();
        gpu_list_environment(&list, stable, moving);
        js_free(stable);
        js_free(moving);
        gpu_list_free(&list);
    }
}

static void the_environment_counts_what_differs(void **state) {
    (void)state;
    struct gpu_list list = list_of(3, "[[\"X\",\"OK\",\"CNS\"],[\"OK\",\"X\",\"OK\"],[\"TNS\",\"OK\",\"X\"]]",
                                   "[{\"from\":0,\"to\":1,\"links\":4},{\"from\":0,\"to\":2,\"links\":4}]");
    js *stable = js_new_object(), *moving = js_new_object();
    gpu_list_environment(&list, stable, moving);
    assert_string_equal(js_get_string(stable, "p2p.GPU-0", ""), "OK:1,CNS:1");
    assert_string_equal(js_get_string(stable, "p2p.GPU-1", ""), "OK");
    assert_string_equal(js_get_string(stable, "nvlinks.GPU-0", ""), "4");
    assert_string_equal(js_get_string(stable, "nvlinks.GPU-1", ""), "0");
    js_free(stable);
    js_free(moving);
    gpu_list_free(&list);
    list = list_of(2, NULL, NULL);
    stable = js_new_object();
    moving = js_new_object();
    gpu_list_environment(&list, stable, moving);
    assert_null(js_get(stable, "p2p.GPU-0")); /* nobody said anything */
    assert_null(js_get(stable, "nvlinks.GPU-0"));
    js_free(stable);
    js_free(moving);
    gpu_list_free(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_by_index),
        cmocka_unit_test(nonsense_is_unknown),
        cmocka_unit_test(the_environment_counts_what_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
