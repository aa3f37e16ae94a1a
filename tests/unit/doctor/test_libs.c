/* SPDX-License-Identifier: Apache-2.0 */
/* The family libs: which libcuda a program gets. */
#include "unit/doctor/made_driver.h"

static void stubs(void **state) {
    (void)state;
    static const struct {
        const char *path, *search;
        int code;
        const char *says; /* NULL: quiet */
    } rows[] = {
        {"/usr/local/cuda-13.0/targets/x86_64-linux/lib/stubs/libcuda.so", "/usr/local/cuda/lib64/stubs:/x",
         34, "LD_LIBRARY_PATH"},
        {"/opt/a/stubs/libcuda.so.1", NULL, 34, "ld.so.conf.d"},
        {"/usr/lib/libcuda.so.1", NULL, 34, "34"},
        {"/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04", "/usr/local/stubs-of-mine/lib", 0, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        made_with_driver(&m, "host", "none", &made_healthy);
        made_library(&m, "libcuda.so.1", rows[i].path);
        if (rows[i].search != NULL)
            made_variable(&m, "LD_LIBRARY_PATH", rows[i].search);
        made_code(&m, "cuInit", rows[i].code);
        made_judge(&m);
        if (rows[i].says == NULL)
            made_quiet(&m);
        else
            EXPECT(&m, "libs.stub", SEVERITY_FAIL, rows[i].path);
        if (rows[i].says != NULL && strcmp(rows[i].says, "34") != 0)
            EXPECT(&m, "libs.stub", SEVERITY_FAIL, rows[i].says);
        made_end(&m);
    }
}

static void missing(void **state) {
    (void)state;
    static const struct {
        const char *where, *manager, *says, *never;
    } rows[] = {{"container", "docker", "NVIDIA_DRIVER_CAPABILITIES", "Fedora"},
                {"container", "kubernetes", "NVIDIA_DRIVER_CAPABILITIES", "Fedora"},
                {"container", "lxc", "exactly 580.159.04", "CAPABILITIES"},
                {"host", "none", "exactly 580.159.04", "CAPABILITIES"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        struct made_driver d = made_healthy;
        d.cuda = NULL;
        made_with_driver(&m, rows[i].where, rows[i].manager, &d);
        js_remove(m.probes, "cuInit");
        made_judge(&m);
        EXPECT(&m, "libs.missing", SEVERITY_FAIL, "libcuda.so.1", rows[i].says);
        assert_false(made_says(made_find(&m, "libs.missing"), rows[i].never));
        made_end(&m);
    }
}

/* Nobody looked for libraries: their absence is not known. */
static void not_looked_for(void **state) {
    (void)state;
    struct made m;
    made_with_driver(&m, "container", "docker", &made_healthy);
    js_remove(m.probes, "libs");
    js_remove(m.probes, "cuInit");
    made_judge(&m);
    made_quiet(&m);
    made_end(&m);
}

static void compat(void **state) {
    (void)state;
    static const int codes[] = {804, 803, 0, -1};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct made m;
        made_with_driver(&m, "container", "docker", &made_healthy);
        made_library(&m, "libcuda.so.1", "/usr/local/cuda-13.1/compat/libcuda.so.590.44.01");
        if (codes[i] >= 0)
            made_code(&m, "cuInit", codes[i]);
        else
            js_remove(m.probes, "cuInit");
        made_judge(&m);
        if (codes[i] > 0)
            EXPECT(&m, "libs.compat", SEVERITY_FAIL, "590.44.01", "580.159.04", "LD_LIBRARY_PATH");
        else
            made_quiet(&m);
        made_lacks(&m, "driver.mismatch");
        made_end(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stubs),
        cmocka_unit_test(missing),
        cmocka_unit_test(not_looked_for),
        cmocka_unit_test(compat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
