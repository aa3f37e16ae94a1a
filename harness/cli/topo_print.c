/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "cli/topo_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "Gen5 x16", "Gen1 x16 (can Gen5 x16)"; "" where nothing is known. */
static void link_text(const js *link, struct text *out) {
    int64_t gen = js_get_int(link, "gen", -1);
    int64_t width = js_get_int(link, "width", -1);
    int64_t gen_max = js_get_int(link, "gen_max", -1);
    int64_t width_max = js_get_int(link, "width_max", -1);
    if (gen > 0 && width > 0)
        text_addf(out, "Gen%lld x%lld", (long long)gen, (long long)width);
    if (gen_max > 0 && width_max > 0 && (gen != gen_max || width != width_max))
        text_addf(out, "%scan Gen%lld x%lld%s", out->length > 0 ? " (" : "", (long long)gen_max,
                  (long long)width_max, out->length > 0 ? ")" : "");
}

static const char *device_of(const js *gpu, size_t from_top) {
    const js *path = js_get(gpu, "path");
    size_t n = js_length(path);
    return from_top < n ? js_get_string(js_at(path, n - 1 - from_top), "bdf", "") : "";
}

static size_t depth_of(const js *gpu) {
    return js_length(js_get(gpu, "path"));
}

/* How many devices of its path, from the top, a GPU shares with the one before it in the list. */
static size_t shared_with(const js *gpu, const js *before) {
    size_t n = 0;
    if (before == NULL)
        return 0;
    while (n + 1 < depth_of(gpu) && n + 1 < depth_of(before) &&
           strcmp(device_of(gpu, n), device_of(before, n)) == 0)
        n++;
    return n;
}

static void print_gpu(const js *gpu, const js *before, FILE *out) {
    const js *path = js_get(gpu, "path");
    size_t n = depth_of(gpu);
    for (size_t i = shared_with(gpu, before); i < n; i++) {
        const js *device = js_at(path, n - 1 - i);
        bool last = i + 1 == n;
        struct text link = {0};
        link_text(device, &link);
        fprintf(out, "%*s", (int)(4 + 2 * i), "");
        if (last) {
            char *name = text_printable(js_get_string(gpu, "name", ""));
            fprintf(out, "GPU %lld  %s  %s", (long long)js_get_int(gpu, "index", -1),
                    js_get_string(gpu, "bdf", ""), name);
            free(name);
        } else {
            fprintf(out, "%s %s", i == 0 ? "root port" : "switch port", js_get_string(device, "bdf", ""));
        }
        if (link.length > 0)
            fprintf(out, "  %s", text_string(&link));
        double limit = js_get_number(gpu, "limit", NAN);
        if (last && isfinite(limit))
            fprintf(out, "  at most %.1f GB/s to its CPU", limit);
        fputc('\n', out);
        text_free(&link);
    }
}

/* GPUs of a NUMA node, or (index -1) those whose node nobody tells. */
static void print_gpus(const js *topo, int64_t node, FILE *out) {
    const js *gpus = js_get(topo, "gpus");
    const js *before = NULL;
    for (size_t i = 0; i < js_length(gpus); i++) {
        const js *gpu = js_at(gpus, i);
        if (js_get_int(gpu, "numa_node", -1) != node)
            continue;
        print_gpu(gpu, before, out);
        before = gpu;
    }
}

static void print_tree(const js *topo, FILE *out) {
    const js *nodes = js_get(topo, "numa_nodes");
    int64_t socket = -1;
    for (size_t i = 0; i < js_length(nodes); i++) {
        const js *node = js_at(nodes, i);
        if (js_get_int(node, "socket", 0) != socket) {
            socket = js_get_int(node, "socket", 0);
            fprintf(out, "socket %lld\n", (long long)socket);
        }
        fprintf(out, "  NUMA node %lld", (long long)js_get_int(node, "index", -1));
        if (js_get_string(node, "cpus", NULL) != NULL)
            fprintf(out, "  CPUs %s", js_get_string(node, "cpus", ""));
        fputc('\n', out);
        print_gpus(topo, (int64_t)i, out);
    }
    const js *gpus = js_get(topo, "gpus");
    for (size_t i = 0; i < js_length(gpus); i++)
        if (js_get_int(js_at(gpus, i), "numa_node", -1) < 0) {
            fputs("NUMA node not told (firmware or a guest)\n", out);
            print_gpus(topo, -1, out);
            return;
        }
}

static const js *find_pair(const js *topo, int64_t from, int64_t to) {
    const js *pairs = js_get(topo, "pairs");
    for (size_t i = 0; i < js_length(pairs); i++)
        if (js_get_int(js_at(pairs, i), "from", -1) == from && js_get_int(js_at(pairs, i), "to", -1) == to)
            return js_at(pairs, i);
    return NULL;
}

static void pair_cell(const js *pair, const char *key, struct text *out) {
    double number = js_get_number(pair, key, NAN);
    if (strcmp(key, "limit") != 0)
        text_add(out, js_get_string(pair, key, "?"));
    else if (isfinite(number))
        text_addf(out, "%.1f", number);
    else
        text_add(out, "?");
}

/* Row = source. */
static void print_matrix(const js *topo, const char *key, const char *title, FILE *out) {
    const js *gpus = js_get(topo, "gpus");
    size_t n = js_length(gpus);
    fprintf(out, "\n%s\n%8s", title, "");
    for (size_t j = 0; j < n; j++)
        fprintf(out, "%7s%lld", "GPU ", (long long)js_get_int(js_at(gpus, j), "index", -1));
    fputc('\n', out);
    for (size_t i = 0; i < n; i++) {
        int64_t from = js_get_int(js_at(gpus, i), "index", -1);
        fprintf(out, "GPU %-4lld", (long long)from);
        for (size_t j = 0; j < n; j++) {
            struct text cell = {0};
            if (i == j)
                text_add(&cell, "X");
            else
                pair_cell(find_pair(topo, from, js_get_int(js_at(gpus, j), "index", -1)), key, &cell);
            fprintf(out, "%8s", text_string(&cell));
            text_free(&cell);
        }
        fputc('\n', out);
    }
}

void topo_print(const js *topo, FILE *out) {
    char *name = text_printable(js_get_string(topo, "name", "?"));
    const char *hypervisor = js_get_string(topo, "hypervisor", "none");
    fprintf(out, "%s: %lld socket%s, %zu NUMA node%s, %lld cores, %zu GPU%s%s%s\n", name,
            (long long)js_get_int(topo, "sockets", 0), js_get_int(topo, "sockets", 0) == 1 ? "" : "s",
            js_length(js_get(topo, "numa_nodes")), js_length(js_get(topo, "numa_nodes")) == 1 ? "" : "s",
            (long long)js_get_int(topo, "cores", 0), js_length(js_get(topo, "gpus")),
            js_length(js_get(topo, "gpus")) == 1 ? "" : "s",
            strcmp(hypervisor, "none") == 0 ? "" : "; a guest, whose bridges are not the machine's: ",
            strcmp(hypervisor, "none") == 0 ? "" : hypervisor);
    free(name);
    print_tree(topo, out);
    if (js_length(js_get(topo, "gpus")) == 0)
        fprintf(out, "no GPU: %s\n", js_get_string(topo, "reason", ""));
    if (js_length(js_get(topo, "gpus")) < 2)
        return;
    print_matrix(topo, "class",
                 "Path between GPUs (row: source): NVn n NVLinks, PIX one switch, PXB several, PHB the "
                 "CPU's root complex, NODE within a NUMA node, SYS across",
                 out);
    print_matrix(topo, "limit", "At most, GB/s one way (row: source); ? where it cannot be told", out);
}
