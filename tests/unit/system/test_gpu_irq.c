/* SPDX-License-Identifier: Apache-2.0 */
/* Which CPUs serve a GPU's interrupts, on trees made for it. */
#include "system/facts.h"

#include "base/files.h"
#include "base/text.h"

#include "unit/tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GPU "sys/bus/pci/devices/0000:01:00.0/"

/* A file of the made machine. */
static void put(const char *path, const char *text) {
    struct text full = {0};
    text_addf(&full, "tree/root/%s", path);
    tree_put(text_string(&full), text);
    text_free(&full);
}

static void begin(void) {
    struct error err = {0};
    assert_int_equal(system("rm -rf tree"), 0);
    put(GPU "vendor", "0x10de\n");
    put(GPU "class", "0x030200\n");
    put(GPU "msi_irqs/100", "msix\n");
    put(GPU "msi_irqs/98", "msix\n");
    put(GPU "msi_irqs/99", "msix\n");
    put("proc/irq/98/effective_affinity_list", "1\n");
    put("proc/irq/99/effective_affinity_list", "2\n");
    put("proc/irq/100/effective_affinity_list", "3\n");
    static const char manifest[] = "{\"schema\":\"gpuvet.capture/1\",\"where\":\"host\"}";
    assert_true(file_replace("tree/manifest.json", manifest, strlen(manifest), &err));
}

static void affinity_is(const char *expected) {
    struct source source = {0};
    struct error err = {0};
    if (!source_capture("tree", &source, &err))
        fail_msg("%s", err.text);
    struct facts *facts = facts_read(&source, &err);
    assert_non_null(facts);
    if (expected == NULL)
        assert_null(facts->gpu_irq_affinity.value);
    else
        assert_string_equal(facts->gpu_irq_affinity.value, expected);
    facts_free(facts);
    source_free(&source);
}

static void the_busiest(void **state) {
    (void)state;
    begin();
    put("proc/interrupts", "            CPU0       CPU1\n"
                           "  98:          5          0   PCI-MSIX 0-edge      nvidia\n"
                           "  99:       1000    2000000   PCI-MSIX 1-edge      nvidia\n"
                           " 100:          7          0   PCI-MSIX 2-edge      nvidia\n"
                           " 999:    9000000    9000000   PCI-MSIX 2-edge      eth0\n"
                           " NMI:    9000000    9000000   Non-maskable interrupts\n");
    affinity_is("0000:01:00.0=2");
    put("proc/interrupts", "100: 1 1 9 more words with 77777777 numbers\n98: 5 5 IR-PCI 5\n");
    affinity_is("0000:01:00.0=3");
}

static void without_counts(void **state) {
    (void)state;
    begin();
    affinity_is("0000:01:00.0=3"); /* the first by name */
    put("proc/interrupts", "");
    affinity_is("0000:01:00.0=3");
    put("proc/interrupts", "98\n98:\n99: x 5\n:::\n100\n 1 2 3\n98 : 7");
    affinity_is("0000:01:00.0=3");
    assert_int_equal(system("rm -rf tree/root/proc/irq"), 0);
    affinity_is(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_busiest),
        cmocka_unit_test(without_counts),
    };
    return cmocka_run_group_tests(tests, tree_enter, tree_leave);
}
