/* SPDX-License-Identifier: Apache-2.0 */
/* PCI config space of a GPU below a bridge: any bytes, in a tree that is otherwise sound. With '=' in front
 * the first line is what sysfs says of its link. */
#define FUZZ_CORPUS "pci"
#include "fuzz/fuzz.h"
#include "system/facts_read.h"

#define BRIDGE "sys/devices/pci0000:40/0000:40:01.1/"
#define GPU BRIDGE "0000:41:00.0/"

static void make_tree(void) {
    struct error err = {0};
    fuzz_put(GPU "vendor", "0x10de\n", 7);
    fuzz_put(GPU "class", "0x030200\n", 9);
    fuzz_put(GPU "device", "0x2bb5\n", 7);
    fuzz_put(GPU "msi_irqs/90", "msi\n", 4);
    fuzz_put(GPU "iommu_group/type", "DMA-FQ\n", 7);
    fuzz_put(BRIDGE "vendor", "0x1022\n", 7);
    fuzz_put("proc/irq/90/effective_affinity_list", "0-7\n", 4);
    char *folder = path_join(fuzz_folder, "sys/bus/pci/devices");
    char *gpu = path_join(folder, "0000:41:00.0");
    char *bridge = path_join(folder, "0000:40:01.1");
    if (!folder_make(folder, &err) ||
        symlink("../../../devices/pci0000:40/0000:40:01.1/0000:41:00.0", gpu) != 0 ||
        symlink("../../../devices/pci0000:40/0000:40:01.1", bridge) != 0)
        exit(1);
    free(gpu);
    free(bridge);
    free(folder);
}

static void put_link_state(const char *text, size_t length) {
    static const char *const files[] = {"current_link_speed", "max_link_speed", "current_link_width",
                                        "max_link_width", "numa_node"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = path_join(GPU, files[i]);
        fuzz_put(path, text, length);
        free(path);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (fuzz_folder[0] == '\0') {
        (void)fuzz_tree();
        make_tree();
    }
    struct source source = {.root = fuzz_folder};
    struct facts *facts = mem_zeroed(1, sizeof *facts);
    const uint8_t *newline = size > 0 && data[0] == '=' ? memchr(data, '\n', size) : NULL;
    size_t head = newline == NULL ? 0 : (size_t)(newline + 1 - data);
    put_link_state((const char *)data + (head > 0), head > 0 ? head - 1 : 0);
    fuzz_put(GPU "config", (const char *)data + head, size - head);
    read_pci(&source, facts);
    read_gpu_irq(&source, facts);
    read_iommu(&source, facts);
    if (facts->n_pci != 2 || !facts->pci[1].gpu || strcmp(facts->pci[1].parent, "0000:40:01.1") != 0)
        abort();
    const struct pci_facts *d = &facts->pci[1];
    bool good = (!d->mps.known || (d->mps.value >= 128 && d->mps.value <= 16384)) &&
                (!d->mrrs.known || (d->mrrs.value >= 128 && d->mrrs.value <= 16384)) &&
                (!d->link_width.known || (d->link_width.value > 0 && d->link_width.value <= 32)) &&
                (!d->link_gen_max.known || (d->link_gen_max.value > 0 && d->link_gen_max.value < 16));
    if (!good)
        abort();
    facts_free(facts);
    return 0;
}
