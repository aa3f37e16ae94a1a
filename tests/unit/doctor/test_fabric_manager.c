/* SPDX-License-Identifier: Apache-2.0 */
/* Which fabric manager is installed: dpkg's list, else the program; neither is run. */
#include "doctor/fabric_manager.h"

#include "unit/tree.h"
#include "unit/unit.h"

static void expect(const char *version, const char *from) {
    struct device_nodes nodes = {0};
    assert_null(fabric_manager_installed(&nodes, tree_folder)); /* a machine without NVSwitches has no say */
    device_nodes_add(&nodes, "/dev/nvidia-nvswitch0");
    js *found = fabric_manager_installed(&nodes, tree_folder);
    if (version == NULL) {
        assert_null(found);
    } else {
        assert_string_equal(js_get_string(found, "version", ""), version);
        assert_string_equal(js_get_string(found, "from", ""), from);
    }
    js_free(found);
    device_nodes_free(&nodes);
}

static void put(const char *path, const char *bytes, size_t length) {
    char full[160];
    snprintf(full, sizeof full, "%s%s", tree_folder, path);
    tree_put_bytes(full, bytes, length);
}

static const char status[] = "/var/lib/dpkg/status", program[] = "/usr/bin/nv-fabricmanager";
#define OK "\nStatus: install ok installed\n"

static void packages(void **state) {
    static const struct {
        const char *text, *version;
    } rows[] = {
        {"Package: a" OK "Version: 1\n\nPackage: nvidia-fabricmanager-580" OK "Version: 580.95.05-1\n",
         "580.95.05"},
        {"Package: nvidia-fabricmanager" OK "Architecture: amd64\nVersion: 1:580.95.05-1ubuntu1\n\n",
         "580.95.05"},
        {"Package: nvidia-fabricmanager-580\nStatus: deinstall ok config-files\nVersion: 580.95.05-1\n",
         NULL},
        {"Package: nvidia-fabricmanager-dev-580" OK "Version: 580.95.05-1\n", NULL},
        {"Package: nvidia-fabricmanager-580" OK "\nPackage: b" OK "Version: 580.95.05-1\n", NULL},
        {"Package: nvidia-fabricmanager-580" OK "Version: 12\n", NULL},
        {"Package: nvidia-fabricmanager-580" OK "Version: ", NULL},
        {"Package: nvidia-fabricmanager", NULL},
        {"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put(status, rows[i].text, strlen(rows[i].text));
        expect(rows[i].version, status);
    }
}

static void programs(void **state) {
    static const char one[] = "\177ELF\0\1\2"
                              "550.90.12\0"
                              "12.4\0x550.90.13\0"
                              "550.90.12\0tail";
    static const char two[] = "\177ELF\0"
                              "550.90.12\0"
                              "530.30.02\0";
    static const char cut[] = {'\0', '5', '5', '0', '.', '9', '0'};
    (void)state;
    put(status, "", 0);
    put(program, one, sizeof one);
    expect("550.90.12", program);
    put(program, two, sizeof two);
    expect(NULL, NULL); /* which of them is not known */
    put(program, cut, sizeof cut);
    expect(NULL, NULL);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packages, tree_enter, tree_leave),
        cmocka_unit_test_setup_teardown(programs, tree_enter, tree_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
