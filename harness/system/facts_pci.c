/* SPDX-License-Identifier: Apache-2.0 */
/* PCI devices on the way to each GPU: sysfs first, config space for what sysfs does not tell. */
#include "base/mem.h"
#include "system/facts_read.h"
#include "system/look.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_SIZE = 4096, MAX_DEVICES = 1024, VENDOR_NVIDIA = 0x10de, MAX_DEPTH = 16 };

/* Config space as far as it could be read: 64 bytes without root, 256 or 4096 with. */
struct config {
    unsigned char bytes[CONFIG_SIZE];
    size_t length;
};

static unsigned word(const struct config *c, size_t at) {
    return at + 2 <= c->length ? (unsigned)c->bytes[at] | (unsigned)c->bytes[at + 1] << 8 : 0;
}

static unsigned long dword(const struct config *c, size_t at) {
    return word(c, at) | (unsigned long)word(c, at + 2) << 16;
}

/* Offset of a capability (PCI Local Bus 3.0, 6.7), 0: none. Chains may loop: 48 steps are all there is room
 * for. */
static size_t capability(const struct config *c, unsigned id) {
    size_t at = c->length > 0x34 && (word(c, 6) & 0x10) != 0 ? c->bytes[0x34] & 0xfcU : 0;
    for (int i = 0; i < 48 && at >= 0x40 && at + 2 <= c->length; i++) {
        if (c->bytes[at] == id)
            return at;
        at = c->bytes[at + 1] & 0xfcU;
    }
    return 0;
}

/* Offset of an extended capability (PCI Express Base 7.9), 0: none. */
static size_t extended_capability(const struct config *c, unsigned id) {
    size_t at = 0x100;
    for (int i = 0; i < 960 && at >= 0x100 && at + 4 <= c->length; i++) {
        unsigned long head = dword(c, at);
        if ((head & 0xffff) == id)
            return at;
        at = head >> 20 & 0xffc;
    }
    return 0;
}

static struct fact_number number(int64_t value) {
    return (struct fact_number){.known = true, .value = value};
}

static struct fact_number unknown(const char *why) {
    return (struct fact_number){.why = why};
}

/* "32.0 GT/s PCIe" → 5 */
static struct fact_number generation(struct fact speed) {
    static const double transfers[] = {2.5, 5, 8, 16, 32, 64, 128};
    double gt = speed.value == NULL ? 0 : strtod(speed.value, NULL);
    struct fact_number out = unknown(speed.why);
    for (size_t i = 0; i < sizeof transfers / sizeof *transfers; i++)
        if (gt > transfers[i] * 0.99 && gt < transfers[i] * 1.01)
            out = number((int64_t)i + 1);
    free(speed.value);
    return out;
}

/* sysfs writes 0 or 255 where it does not know. */
static struct fact_number width(struct fact_number read) {
    return read.known && (read.value <= 0 || read.value > 32) ? unknown(NULL) : read;
}

static void read_link(const struct source *source, struct pci_facts *out) {
    const char *bdf = out->bdf;
    out->link_gen = generation(look_fact(source, "/sys/bus/pci/devices/%s/current_link_speed", bdf));
    out->link_gen_max = generation(look_fact(source, "/sys/bus/pci/devices/%s/max_link_speed", bdf));
    out->link_width = width(look_number(source, "/sys/bus/pci/devices/%s/current_link_width", bdf));
    out->link_width_max = width(look_number(source, "/sys/bus/pci/devices/%s/max_link_width", bdf));
}

static struct fact acs_words(unsigned control) {
    static const char *const bits[] = {"SrcValid",    "TransBlk",   "ReqRedir",   "CmpltRedir",
                                       "UpstreamFwd", "EgressCtrl", "DirectTrans"};
    struct text words = {0};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if ((control >> i & 1) != 0)
            text_addf(&words, "%s%s", words.length > 0 ? "+" : "", bits[i]);
    struct fact fact = fact_text(words.length > 0 ? words.data : "off");
    text_free(&words);
    return fact;
}

static void read_acs(const struct config *c, struct pci_facts *out) {
    if (c->length < CONFIG_SIZE / 16 + 4) { /* no extended space was given */
        out->acs.why = c->length > 0 && c->length <= 64 ? FACT_NEEDS_ROOT : NULL;
        out->acs_control = unknown(out->acs.why);
        return;
    }
    size_t at = extended_capability(c, 0x000d);
    out->acs = at == 0 ? fact_text("none") : acs_words(word(c, at + 6));
    out->acs_control = at == 0 ? unknown(NULL) : number(word(c, at + 6));
}

static void read_config(const struct source *source, struct pci_facts *out) {
    static const char *const aspm[] = {"off", "L0s", "L1", "L0s+L1"};
    struct text path = {0};
    struct text text = {0};
    struct config c = {.length = 0};
    text_addf(&path, "/sys/bus/pci/devices/%s/config", out->bdf);
    if (look_bytes(source, path.data, CONFIG_SIZE, &text)) {
        c.length = text.length < CONFIG_SIZE ? text.length : CONFIG_SIZE;
        memcpy(c.bytes, text_string(&text), c.length);
    }
    text_free(&path);
    text_free(&text);
    const char *why = c.length > 0 && c.length <= 64 ? FACT_NEEDS_ROOT : NULL;
    size_t at = capability(&c, 0x10);
    bool whole = at > 0 && at + 0x14 <= c.length;
    out->mps = whole ? number(INT64_C(128) << (word(&c, at + 8) >> 5 & 7)) : unknown(why);
    out->mrrs = whole ? number(INT64_C(128) << (word(&c, at + 8) >> 12 & 7)) : unknown(why);
    out->aspm_control = whole ? number(word(&c, at + 0x10) & 3) : unknown(why);
    out->aspm = whole ? fact_text(aspm[word(&c, at + 0x10) & 3]) : (struct fact){.why = why};
    if (whole && !out->link_gen_max.known && (dword(&c, at + 0x0c) & 0xf) > 0)
        out->link_gen_max = number((int64_t)(dword(&c, at + 0x0c) & 0xf));
    if (whole && !out->link_width_max.known)
        out->link_width_max = width(number((int64_t)(dword(&c, at + 0x0c) >> 4 & 0x3f)));
    if (whole && !out->link_width.known)
        out->link_width = width(number(word(&c, at + 0x12) >> 4 & 0x3f));
    read_acs(&c, out);
}

static int read_id(const struct source *source, const char *bdf, const char *file) {
    struct fact_number value = look_number(source, "/sys/bus/pci/devices/%s/%s", bdf, file);
    return value.known && value.value >= 0 && value.value <= 0xffffff ? (int)value.value : -1;
}

static bool is_bdf(const char *s) {
    if (strlen(s) != 12 || s[4] != ':' || s[7] != ':' || s[10] != '.')
        return false;
    for (size_t i = 0; i < 12; i++)
        if (i != 4 && i != 7 && i != 10 && !isxdigit((unsigned char)s[i]))
            return false;
    return true;
}

static struct pci_facts *find(struct facts *facts, const char *bdf) {
    for (size_t i = 0; i < facts->n_pci; i++)
        if (strcmp(facts->pci[i].bdf, bdf) == 0)
            return &facts->pci[i];
    return NULL;
}

static void add_device(const struct source *source, struct facts *facts, const char *bdf, const char *parent,
                       bool gpu) {
    if (find(facts, bdf) != NULL || facts->n_pci >= MAX_DEVICES)
        return;
    facts->pci = mem_resize(facts->pci, facts->n_pci + 1, sizeof *facts->pci);
    struct pci_facts *d = &facts->pci[facts->n_pci++];
    *d = (struct pci_facts){.gpu = gpu};
    snprintf(d->bdf, sizeof d->bdf, "%s", bdf);
    snprintf(d->parent, sizeof d->parent, "%s", parent);
    d->vendor = read_id(source, bdf, "vendor");
    d->device = read_id(source, bdf, "device");
    d->class_code = read_id(source, bdf, "class");
    d->numa_node = look_number(source, "/sys/bus/pci/devices/%s/numa_node", bdf);
    struct text path = {0};
    text_addf(&path, "/sys/bus/pci/devices/%s/driver", bdf);
    char *driver = look_link(source, path.data);
    const char *slash = driver == NULL ? NULL : strrchr(driver, '/');
    d->driver = fact_text(slash != NULL ? slash + 1 : driver);
    free(driver);
    text_free(&path);
    read_link(source, d);
    read_config(source, d);
}

/* sysfs links a device to ../../../devices/pci0000:00/0000:00:01.1/0000:01:00.0: its bridges are the names
 * above. */
static void add_path(const struct source *source, struct facts *facts, const char *gpu) {
    struct text path = {0};
    struct strings names = {0};
    text_addf(&path, "/sys/bus/pci/devices/%s", gpu);
    char *link = look_link(source, path.data);
    if (link != NULL)
        strings_split(&names, link, '/');
    const char *parent = "";
    for (size_t i = 0, depth = 0; i < names.count && depth < MAX_DEPTH; i++) {
        if (!is_bdf(names.items[i]))
            continue;
        add_device(source, facts, names.items[i], parent, strcmp(names.items[i], gpu) == 0);
        parent = names.items[i];
        depth++;
    }
    add_device(source, facts, gpu, "", true); /* where the link tells nothing */
    strings_free(&names);
    text_free(&path);
    free(link);
}

void read_pci(const struct source *source, struct facts *out) {
    struct strings devices = {0};
    if (look_list(source, "/sys/bus/pci/devices", &devices))
        for (size_t i = 0; i < devices.count && i < 65536; i++)
            if (is_bdf(devices.items[i]) && read_id(source, devices.items[i], "vendor") == VENDOR_NVIDIA &&
                read_id(source, devices.items[i], "class") >> 16 == 0x03)
                add_path(source, out, devices.items[i]);
    strings_free(&devices);
}

/* Interrupts so far in a line of /proc/interrupts, after its colon: a column a CPU, then words. */
static uint64_t count_of(const char *columns) {
    uint64_t sum = 0;
    for (;;) {
        char *end = NULL;
        uint64_t value = strtoull(columns, &end, 10);
        if (end == columns || (*end != ' ' && *end != '\0'))
            return sum;
        sum += value;
        columns = end;
    }
}

/* A GPU has several vectors, of which one or two carry the load: the one with most interrupts; the first
 * where none is to be seen. `table` is /proc/interrupts, cut into lines. */
static const char *busiest(const struct strings *irqs, const struct strings *table) {
    const char *most = irqs->items[0];
    uint64_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const char *line = table->items[i] + strspn(table->items[i], " ");
        const char *colon = strchr(line, ':');
        for (size_t k = 0; colon != NULL && k < irqs->count; k++) {
            size_t length = strlen(irqs->items[k]);
            if (length != (size_t)(colon - line) || strncmp(line, irqs->items[k], length) != 0)
                continue;
            uint64_t here = count_of(colon + 1);
            most = here > count ? irqs->items[k] : most;
            count = here > count ? here : count;
        }
    }
    return most;
}

/* Which CPUs serve the GPUs' interrupts: "0000:01:00.0=0-7". */
void read_gpu_irq(const struct source *source, struct facts *out) {
    enum { TABLE_SIZE = 16 << 20 }; /* 512 CPUs and 2000 interrupts are 11 MB */
    struct text all = {0}, text = {0};
    struct strings table = {0};
    for (size_t i = 0; i < out->n_pci; i++) {
        if (!out->pci[i].gpu)
            continue;
        struct text folder = {0};
        struct strings irqs = {0};
        text_addf(&folder, "/sys/bus/pci/devices/%s/msi_irqs", out->pci[i].bdf);
        if (look_list(source, folder.data, &irqs) && irqs.count > 0) {
            if (text.length == 0 && look_bytes(source, "/proc/interrupts", TABLE_SIZE, &text))
                strings_split(&table, text_string(&text), '\n');
            struct fact cpus =
                look_fact(source, "/proc/irq/%s/effective_affinity_list", busiest(&irqs, &table));
            if (cpus.value != NULL)
                text_addf(&all, "%s%s=%s", all.length > 0 ? "," : "", out->pci[i].bdf, cpus.value);
            free(cpus.value);
        }
        strings_free(&irqs);
        text_free(&folder);
    }
    out->gpu_irq_affinity = fact_text(all.data);
    strings_free(&table);
    text_free(&text);
    text_free(&all);
}

/* The translation mode of the GPUs' IOMMU groups: "identity", "DMA", "DMA-FQ"; "none" without an IOMMU. */
void read_iommu(const struct source *source, struct facts *out) {
    struct tally tally = {0};
    for (size_t i = 0; i < out->n_pci; i++)
        if (out->pci[i].gpu)
            tally_add(&tally, look_fact(source, "/sys/bus/pci/devices/%s/iommu_group/type", out->pci[i].bdf));
    struct fact mode = tally_take(&tally);
    struct strings iommus = {0};
    bool any = look_list(source, "/sys/class/iommu", &iommus) && iommus.count > 0;
    if (mode.value == NULL && mode.why == NULL && !any && source_is_whole(source))
        mode = fact_text("none");
    strings_free(&iommus);
    free(out->kernel.iommu_mode.value);
    out->kernel.iommu_mode = mode;
}
