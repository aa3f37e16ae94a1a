/* SPDX-License-Identifier: Apache-2.0 */
/* The link and the error counters of a made /sys. */
#include "system/pci_state.h"

#include "base/files.h"

#include "unit/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUS "r/sys/bus/pci/devices"
#define GPU "0000:02:00.0"

static char root[128];

static int enter(void **state) {
    if (tree_enter(state) != 0)
        return -1;
    snprintf(root, sizeof root, "%s/r", tree_folder);
    return 0;
}

/* A root port, a bridge and a GPU, linked as the kernel does. */
static void make_tree(void) {
    static const char *const places[] = {"pci0000:00/0000:00:01.1", "pci0000:00/0000:00:01.1/0000:01:00.0",
                                         "pci0000:00/0000:00:01.1/0000:01:00.0/" GPU};
    struct error err = {0};
    assert_true(folder_make(BUS, &err));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char target[128], link[128], real[128];
        snprintf(target, sizeof target, "../../../devices/%s", places[i]);
        snprintf(link, sizeof link, BUS "/%s", strrchr(places[i], '/') + 1);
        snprintf(real, sizeof real, "r/sys/devices/%s", places[i]);
        assert_true(folder_make(real, &err));
        assert_int_equal(symlink(target, link), 0);
    }
}

static struct source source(void) {
    return (struct source){.root = root};
}

static void link_of(const char *speed, const char *width, int want_gen, int want_width) {
    const struct source s = source();
    tree_put(BUS "/" GPU "/current_link_speed", speed);
    tree_put(BUS "/" GPU "/current_link_width", width);
    struct pci_link link = pci_link_now(&s, GPU);
    assert_int_equal(link.gen, want_gen);
    assert_int_equal(link.width, want_width);
}

static void links(void **state) {
    (void)state;
    const struct source s = source();
    make_tree();
    assert_int_equal(pci_link_now(&s, GPU).gen, 0);
    link_of("32.0 GT/s PCIe\n", "16\n", 5, 16);
    link_of("2.5 GT/s PCIe\n", "8\n", 1, 8);
    link_of("Unknown\n", "255\n", 0, 0);
    link_of("\n", "0\n", 0, 0);
    assert_int_equal(pci_link_now(&s, "../../etc").gen, 0);
    assert_int_equal(pci_link_now(&s, "").gen, 0);
}

static void errors(void **state) {
    (void)state;
    const struct source s = source();
    make_tree();
    js *none = pci_errors(&s, GPU);
    assert_int_equal(js_length(none), 0);
    js_free(none);
    tree_put(BUS "/" GPU "/aer_dev_correctable",
             "RxErr 0\nBadTLP 4\nBadDLLP 0\nRollover 0\nTimeout 1\nTOTAL_ERR_COR 5\n");
    tree_put(BUS "/" GPU "/aer_dev_nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL 0\n");
    tree_put(BUS "/" GPU "/aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL 2\n");
    tree_put(BUS "/0000:01:00.0/aer_dev_correctable", "garbage\n");
    tree_put(BUS "/0000:00:01.1/aer_dev_correctable", "RxErr 7\nTOTAL_ERR_COR 7\n");
    tree_put(BUS "/0000:00:01.1/aer_dev_fatal", "TOTAL_ERR_FATAL -1\n");
    js *found = pci_errors(&s, GPU);
    assert_int_equal(js_length(found), 2);
    assert_int_equal(js_get_int(js_get(found, GPU), "correctable", -1), 5);
    assert_int_equal(js_get_int(js_get(found, GPU), "nonfatal", -1), 0);
    assert_int_equal(js_get_int(js_get(found, GPU), "fatal", -1), 2);
    assert_int_equal(js_get_int(js_get(found, "0000:00:01.1"), "correctable", -1), 7);
    assert_null(js_get(js_get(found, "0000:00:01.1"), "fatal"));
    js_free(found);
    js *bad = pci_errors(&s, "0000:02:00.0/..");
    assert_int_equal(js_length(bad), 0);
    js_free(bad);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(links, enter, tree_leave),
        cmocka_unit_test_setup_teardown(errors, enter, tree_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
