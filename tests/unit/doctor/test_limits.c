/* SPDX-License-Identifier: Apache-2.0 */
/* The family limits: each limit with the code that it gives, with another code, and without any. */
#include "unit/doctor/made_driver.h"

static void with_limit(struct made *m, const char *name, int64_t value) {
    js *limits = js_new_object();
    js_set_int(limits, name, value);
    js_set(m->probes, "rlimits", limits);
}

static void limits_of_the_process(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t value;
        int code;
        const char *id; /* NULL: quiet about limits */
    } rows[] = {
        {"as", 8LL << 30, 2, "limits.address-space"},
        {"as", 8LL << 30, 0, NULL},
        {"as", -1, 2, NULL},
        {"as", 8LL << 30, 999, NULL},
        {"nofile", 8, 304, "limits.open-files"},
        {"nofile", 8, 0, NULL},
        {"nofile", 1024, 304, NULL},
        {"nofile", 8, 2, NULL},
        {"nofile", 6, 999, "limits.open-files"},
        {"nofile", 9, 999, NULL},
        {"nofile", 4, 0, "limits.open-files"}, /* whatever was seen, it was not all */
        {"memlock", 65536, 0, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        made_with_driver(&m, "host", "none", &made_healthy);
        with_limit(&m, rows[i].name, rows[i].value);
        made_code(&m, "cuInit", rows[i].code);
        made_judge(&m);
        if (rows[i].id == NULL)
            made_lacks(&m, "limits.*");
        else
            EXPECT(&m, rows[i].id, SEVERITY_FAIL, "RLIMIT");
        made_end(&m);
    }
}

static void overcommit(void **state) {
    (void)state;
    static const struct {
        const char *mode;
        int free_mib, code, severity; /* -1: nothing */
        const char *klog;
    } rows[] = {
        {"2\n", 1000, 2, SEVERITY_FAIL, NULL},
        {"2\n", 1000, -1, SEVERITY_WARN, NULL},
        {"2\n", 1000, 0, -1, NULL},
        {"2\n", 90000, 0, -1, NULL},
        {"2\n", 90000, -1, -1, NULL},
        {"0\n", 1000, 2, -1, NULL},
        {"2\n", 90000, -1, SEVERITY_FAIL,
         "__vm_enough_memory: pid 1, comm: nvc:[driver], bytes: 8589934592 not enough memory for the allocation\n"},
        {"2\n", 90000, -1, -1,
         "__vm_enough_memory: pid 1, comm: postgres, bytes: 8589934592 not enough memory for the allocation\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        struct text memory = {0};
        made_with_driver(&m, "host", "none", &made_healthy);
        text_addf(&memory, "MemTotal: 200000000 kB\nCommitLimit: 100000000 kB\nCommitted_AS: %d kB\n",
                  100000000 - rows[i].free_mib * 1024);
        made_file(&m, "/proc/sys/vm/overcommit_memory", rows[i].mode);
        made_file(&m, "/proc/meminfo", text_string(&memory));
        if (rows[i].klog != NULL)
            made_top(&m, "klog.txt", rows[i].klog);
        if (rows[i].code >= 0)
            made_code(&m, "cuInit", rows[i].code);
        else
            js_remove(m.probes, "cuInit");
        made_judge(&m);
        if (rows[i].severity < 0)
            made_lacks(&m, "limits.*");
        else
            EXPECT(&m, "limits.overcommit", (enum severity)rows[i].severity, "vm.overcommit_memory=0",
                   "overcommit_ratio");
        text_free(&memory);
        made_end(&m);
    }
}

/* 304 with a /proc is something else. */
static void no_proc(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct made m;
        char command[128];
        made_with_driver(&m, "host", "none", &made_healthy);
        if (i == 0) {
            snprintf(command, sizeof command, "rm -rf %s/root/proc", m.dir);
            assert_int_equal(system(command), 0);
        }
        made_code(&m, "cuInit", 304);
        made_judge(&m);
        if (i == 0)
            EXPECT(&m, "limits.no-proc", SEVERITY_FAIL, "mount");
        else
            made_lacks(&m, "limits.*");
        made_end(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_the_process),
        cmocka_unit_test(overcommit),
        cmocka_unit_test(no_proc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
