/* SPDX-License-Identifier: Apache-2.0 */
/* XML that hwloc dies of is refused before; what it writes itself, and what it refuses by itself, is not. */
#include "system/topology.h"
#include "system/topology_check.h"

#include "base/text.h"
#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define ALL "cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\""

/* As hwloc writes more than 32 CPUs, some words of which are empty, and a set without an end. */
#define MANY                                                                                                 \
    "cpuset=\"0x00000001,,0x0\" complete_cpuset=\"0x00ff0000,,,0x0000000f\" "                                \
    "nodeset=\"0xf...f\" complete_nodeset=\"0xf...f,0x0000ffff\""

static void attributes(void **state) {
    static const struct {
        const char *xml, *why; /* NULL: it is let through */
    } rows[] = {
        {"", NULL},
        {"<", NULL},
        {"<object", NULL},
        {"<object type=\"Machine\" " ALL ">", NULL},
        {"<object type=\"PCIDev\" os_index=\"1\"/>", NULL},
        {"<object\ttype=\"PU\"\n" ALL " os_index=\"0\"/>", NULL},
        {"<object type=\"PU\" cpuset=\"0x1\"/>", "complete_cpuset"},
        {"<object type=\"NUMANode\" cpuset=\"0x1\" complete_cpuset=\"0x1\"\tnodeset=\"0x1\"/>",
         "complete_nodeset"},
        {"<object nodeset=\"0x1\" name=\"complete_nodeset=\"/>", "complete_nodeset"},
        {"<object name=\"> nodeset=\" " ALL "/>", NULL},
        {"<object name=\"x nodeset=\"0x1\"", NULL}, /* never ends: hwloc refuses it */
        {"<info name=\"a\" nodeset=\"0x1\"/>", NULL},
        {"<object nodeset/>", NULL},
        {"<object nodeset=0x1 = == a=b c= \"d\"=>", NULL}, /* no attributes as hwloc writes them */
        {"<object =", NULL},
        {"<object a=", NULL},
        {"<object = nodeset=\"0x1\"/>", "complete_nodeset"},
        {"<object complete_nodeset=\"0x0\" nodeset=\"0x0\"/>", NULL},
        {"<object " MANY "/>", NULL},
        {"<cpukind cpuset=\",0x1\"/>", "never writes"}, /* the assertion of bitmap.c in hwloc 2.9 */
        {"<object complete_nodeset=\"\" nodeset=\"\"/>", "never writes"},
        {"<object allowed_cpuset=\"-1\"/>", "never writes"},
        {"<object type=\"PU\" " ALL "/>", "os_index"},
        {"<object type=\"PU\" os_index=\"\" " ALL "/>", "os_index"},
        {"<object type=\"PU\" os_index=\"-1\" " ALL "/>", "os_index"},
        {"<object type=\"PU\" os_index=\"0\" os_index=\"+1\" " ALL "/>", "os_index"},
        {"<object type=\"pu\" os_index=\"4294967295\" " ALL "/>", "os_index"},
        {"<object os_index=\"1048576\" type=\"NUMANode\" " ALL "/>", "os_index"},
        {"<object type=\"node\" os_index=\"18446744073709551616\" " ALL "/>", "os_index"},
        {"<object type=\"PU\" os_index=\"1048575\" " ALL "/>", NULL},
        {"<object type=\"Package\" os_index=\"4294967295\" " ALL "/>", NULL},
        {"<object type=\"L3Cache\" " ALL "/>", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err = {0};
        bool good = topology_check(rows[i].xml, strlen(rows[i].xml), &err);
        if (good != (rows[i].why == NULL) || (!good && strstr(err.text, rows[i].why) == NULL))
            fail_msg("row %zu: %s", i, err.text);
    }
}

static void depth(void **state) {
    (void)state;
    for (int wide = 0; wide <= 1; wide++)
        for (size_t n = 100; n <= 20000; n += 19900) {
            struct text xml = {0};
            struct error err = {0};
            text_add(&xml, "<?xml version=\"1.0\"?><!DOCTYPE topology><topology>");
            for (size_t i = 0; i < n; i++)
                text_add(&xml, wide ? "<object " ALL "></object><info/>" : "<object " ALL ">");
            assert_int_equal(topology_check(text_string(&xml), xml.length, &err), wide || n == 100);
            text_free(&xml);
        }
}

/* 4 MiB of anything take no time. */
static void long_ones(void **state) {
    static const char *const pieces[] = {"<", "<!", "\"<", "<object a=\"", "<object = ", "<object nodeset",
                                         ">", "<a>"};
    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct text xml = {0};
        struct error err = {0};
        while (xml.length < 4 << 20)
            text_add(&xml, pieces[i]);
        bool deep = strcmp(pieces[i], "<a>") == 0;
        assert_int_equal(topology_check(text_string(&xml), xml.length, &err), !deep);
        text_free(&xml);
    }
}

/* What hwloc writes of this machine is let through and read again; without one attribute it was a crash. */
static void own(void **state) {
    static const char cut[] = " complete_nodeset=\"";
    struct error err = {0};
    (void)state;
    struct topology *live = topology_live(&err);
    if (live == NULL)
        skip();
    char *xml = topology_xml(live, &err);
    topology_free(live);
    assert_non_null(xml);
    struct topology *again = topology_from_xml(xml, strlen(xml), &err);
    assert_non_null(again);
    topology_free(again);
    char *at = strstr(xml, cut);
    assert_non_null(at);
    memcpy(at + 1, "COMPLETE", 8);
    assert_null(topology_from_xml(xml, strlen(xml), &err));
    assert_non_null(strstr(err.text, "complete_nodeset"));
    free(xml);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes),
        cmocka_unit_test(depth),
        cmocka_unit_test(long_ones),
        cmocka_unit_test(own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
