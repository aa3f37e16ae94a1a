/* SPDX-License-Identifier: Apache-2.0 */
/* PCI config space of a GPU: any bytes, in a tree that is otherwise sound. */
#define FUZZ_CORPUS "pci"
#include "fuzz/fuzz.h"
#include "system/facts_read.h"

#define GPU "sys/bus/pci/devices/0000:41:00.0/"

static void make_tree(void) {
    fuzz_put(GPU "vendor", "0x10de\n", 7);
    fuzz_put(GPU "class", "0x030200\n", 9);
    fuzz_put(GPU "device", "0x2bb5\n", 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (fuzz_folder[0] == '\0')
        make_tree();
    struct source source = {.root = fuzz_folder};
    struct facts *facts = mem_zeroed(1, sizeof *facts);
    if (!fuzz_put(GPU "config", (const char *)data, size))
        return 0;
    read_pci(&source, facts);
    if (facts->n_pci != 1)
        abort();
    const struct pci_facts *d = &facts->pci[0];
    bool good = (!d->mps.known || (d->mps.value >= 128 && d->mps.value <= 16384)) &&
                (!d->mrrs.known || (d->mrrs.value >= 128 && d->mrrs.value <= 16384)) &&
                (!d->link_width.known || (d->link_width.value > 0 && d->link_width.value <= 32)) &&
                (!d->link_gen_max.known || (d->link_gen_max.value > 0 && d->link_gen_max.value < 16));
    if (!good)
        abort();
    facts_free(facts);
    return 0;
}
