/* SPDX-License-Identifier: Apache-2.0 */
/* The node as a picture: NUMA nodes, the GPUs below them, the link of each, and what lies between two GPUs.
 * Drawn from the header's topology (gpuvet.topo/1), or where a run has none from its GPUs and its
 * environment. */
#include "base/mem.h"
#include "report/escape.h"
#include "report/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GPUS = 32, WIDTH = 460, LINE = 46, NODE_END = 82, ROOT_AT = 98, ROOT_END = 206, GPU_AT = 284 };

struct place {
    const js *gpu; /* of the header's list */
    char uuid[64];
    char root[32];                          /* the port where its path leaves the CPU; "": unknown */
    size_t bridges;                         /* between that port and the GPU */
    int64_t node;                           /* -1: unknown */
    int64_t gen, width, gen_max, width_max; /* 0: unknown */
};

static int64_t environment_number(const js *environment, const char *bdf, const char *what) {
    char key[96];
    snprintf(key, sizeof key, "pci.%.40s.%s", bdf, what);
    return js_get_int(environment, key, -1);
}

static const js *topo_gpu(const js *topology, const char *uuid) {
    const js *list = js_get(topology, "gpus");
    for (size_t i = 0; i < js_length(list); i++)
        if (strcmp(js_get_string(js_at(list, i), "uuid", ""), uuid) == 0)
            return js_at(list, i);
    return NULL;
}

static void find_place(const struct report *r, const js *gpu, struct place *out) {
    const js *header = r->newest->header;
    const js *environment = js_get(header, "environment");
    const char *bdf = js_get_string(gpu, "bdf", "");
    const js *pcie = js_get(gpu, "pcie");
    *out = (struct place){.gpu = gpu};
    snprintf(out->uuid, sizeof out->uuid, "%.63s", js_get_string(gpu, "uuid", ""));
    const js *topo = topo_gpu(js_get(header, "topology"), out->uuid);
    out->node = js_get_int(topo, "numa_node", environment_number(environment, bdf, "numa_node"));
    const js *path = js_get(topo, "path");
    if (js_length(path) > 1) {
        snprintf(out->root, sizeof out->root, "%.31s",
                 js_get_string(js_at(path, js_length(path) - 1), "bdf", ""));
        out->bridges = js_length(path) - 2;
    }
    out->gen_max = js_get_int(pcie, "gen_max", 0);
    out->width_max = js_get_int(pcie, "width_max", 0);
    out->width = js_get_int(pcie, "width", 0);
    /* Under load, where a case looked: an idle link may be down. */
    const struct run_gpu *seen = run_find_gpu(r->newest, out->uuid);
    out->gen = seen != NULL && seen->link_gen > 0 ? seen->link_gen : js_get_int(pcie, "gen", 0);
    out->width = seen != NULL && seen->link_width > 0 ? seen->link_width : out->width;
}

static int by_node(const void *a, const void *b) {
    const struct place *x = a;
    const struct place *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    int root = strcmp(x->root, y->root);
    if (root != 0)
        return root;
    int64_t i = js_get_int(x->gpu, "index", 0);
    int64_t k = js_get_int(y->gpu, "index", 0);
    return (i > k) - (i < k);
}

static void svg_text(struct text *out, double x, double y, const char *class, const char *words,
                     size_t most) {
    char *shown = text_shown(words, most);
    text_addf(out, "<text x=\"%g\" y=\"%g\" class=\"%s\">", x, y, class);
    escape_html(out, shown);
    text_add(out, "</text>");
    free(shown);
}

/* The link of one GPU from `from`, and the GPU. */
static void draw_gpu(struct text *out, const struct place *p, double y, int from) {
    struct text words = {0};
    bool slow = (p->gen > 0 && p->gen < p->gen_max) || (p->width > 0 && p->width < p->width_max);
    double middle = (from + GPU_AT) / 2.0;
    text_addf(out, "<path class=\"wire%s\" d=\"M%d %g H%d\"/>", slow ? " slow" : "", from, y + 18, GPU_AT);
    if (p->gen > 0 && p->width > 0)
        text_addf(&words, "gen %" PRId64 " x%" PRId64, p->gen, p->width);
    else
        text_add(&words, "link unknown");
    svg_text(out, middle, y + 13, "mid", text_string(&words), 24);
    text_clear(&words);
    if (slow) {
        text_addf(&words, "of gen %" PRId64 " x%" PRId64, p->gen_max, p->width_max);
        svg_text(out, middle, y + 31, "mid small", text_string(&words), 24);
        text_clear(&words);
    }
    text_addf(out, "<rect class=gpu x=\"%d\" y=\"%g\" width=\"%d\" height=\"36\" rx=\"6\"/>", GPU_AT, y,
              WIDTH - 12 - GPU_AT);
    text_addf(&words, "GPU %" PRId64 "  ", js_get_int(p->gpu, "index", 0));
    text_add(&words, js_get_string(p->gpu, "name", ""));
    svg_text(out, GPU_AT + 8, y + 15, "", text_string(&words), 26);
    svg_text(out, GPU_AT + 8, y + 29, "small", js_get_string(p->gpu, "bdf", ""), 26);
    text_free(&words);
}

/* GPUs behind one port of the CPU, and the port where it is known. */
static void draw_root(struct text *out, const struct place *first, size_t n, double y) {
    bool known = first->root[0] != '\0';
    if (known) {
        double height = (double)n * LINE - 10;
        text_addf(out, "<path class=wire d=\"M%d %g H%d\"/>", NODE_END, y + 18, ROOT_AT);
        text_addf(out, "<rect x=\"%d\" y=\"%g\" width=\"%d\" height=\"%g\" rx=\"6\"/>", ROOT_AT, y,
                  ROOT_END - ROOT_AT, height);
        svg_text(out, (ROOT_AT + ROOT_END) / 2.0, y + 15, "mid small",
                 first->bridges == 0 ? "root port" : "root port, switch", 24);
        svg_text(out, (ROOT_AT + ROOT_END) / 2.0, y + 29, "mid small", first->root, 24);
    }
    for (size_t i = 0; i < n; i++)
        draw_gpu(out, &first[i], y + LINE * (double)i, known ? ROOT_END : NODE_END);
}

static void draw_node(struct text *out, const struct place *first, size_t n, double y) {
    double height = (double)n * LINE - 10;
    text_addf(out, "<rect class=node x=\"12\" y=\"%g\" width=\"%d\" height=\"%g\" rx=\"6\"/>", y,
              NODE_END - 12, height);
    char words[40];
    snprintf(words, sizeof words, first->node >= 0 ? "node %" PRId64 : "node unknown", first->node);
    svg_text(out, (12 + NODE_END) / 2.0, y + height / 2 + 4, "mid", words, 24);
    for (size_t i = 0; i < n;) {
        size_t count = 1;
        while (i + count < n && strcmp(first[i].root, first[i + count].root) == 0)
            count++;
        draw_root(out, &first[i], count, y + LINE * (double)i);
        i += count;
    }
}

/* ---- pairs ---- */

static const js *find_pair(const js *pairs, const char *from, const char *to) {
    for (size_t i = 0; i < js_length(pairs); i++)
        if (strcmp(js_get_string(js_at(pairs, i), "from", ""), from) == 0 &&
            strcmp(js_get_string(js_at(pairs, i), "to", ""), to) == 0)
            return js_at(pairs, i);
    return NULL;
}

/* The class that records of the pair tell; "" where there are none. */
static const char *class_of_records(const struct report *r, const char *from, const char *to) {
    for (size_t i = 0; i < r->n_rows; i++) {
        if (r->rows[i].series->path_class[0] == '\0')
            continue;
        char *a = row_value(&r->rows[i], "from");
        char *b = row_value(&r->rows[i], "to");
        bool found = a != NULL && b != NULL && strcmp(a, from) == 0 && strcmp(b, to) == 0;
        free(a);
        free(b);
        if (found)
            return r->rows[i].series->path_class;
    }
    return "";
}

static void add_pairs(const struct report *r, const struct place *places, size_t n, struct text *out) {
    const js *pairs = js_get(js_get(r->newest->header, "topology"), "pairs");
    const js *environment = js_get(r->newest->header, "environment");
    size_t known = 0;
    struct text table = {0};
    text_add(&table, "<div class=\"scroll fit\"><table class=pairs><thead><tr><th>from \\ to</th>");
    for (size_t i = 0; i < n; i++)
        text_addf(&table, "<th>GPU %" PRId64 "</th>", js_get_int(places[i].gpu, "index", 0));
    text_add(&table, "</tr></thead><tbody>");
    for (size_t i = 0; i < n; i++) {
        text_addf(&table, "<tr><th>GPU %" PRId64 "</th>", js_get_int(places[i].gpu, "index", 0));
        for (size_t k = 0; k < n; k++) {
            const js *pair = find_pair(pairs, places[i].uuid, places[k].uuid);
            const char *class =
                js_get_string(pair, "class", class_of_records(r, places[i].uuid, places[k].uuid));
            struct text key = {0};
            text_addf(&key, "p2p.%s.%s", places[i].uuid, places[k].uuid);
            const char *state = js_get_string(pair, "p2p", js_get_string(environment, text_string(&key), ""));
            text_free(&key);
            text_add(&table, "<td>");
            escape_html(&table, i == k ? "·" : class);
            if (i != k && state[0] != '\0') {
                text_add(&table, "<br><small>");
                escape_html(&table, state);
                text_add(&table, "</small>");
            }
            text_add(&table, "</td>");
            known += i != k && (class[0] != '\0' || state[0] != '\0') ? 1 : 0;
        }
        text_add(&table, "</tr>");
    }
    text_add(
        &table,
        "</tbody></table></div>\n<p class=caption>What lies between two GPUs (NVn: n NVLinks; PIX, PXB: PCIe "
        "switches; PHB: one host bridge; NODE, SYS: across host bridges, across sockets), and what the driver says "
        "of P2P.</p>\n");
    if (known > 0)
        text_add(out, text_string(&table));
    else if (n > 1)
        text_add(
            out,
            "<p class=empty>What lies between the GPUs stands in no record of this run: gpuvet topo shows it.</p>\n");
    text_free(&table);
}

void html_topology(const struct report *r, struct text *out) {
    const js *gpus = js_get(r->newest->header, "gpus");
    size_t n = js_length(gpus) < MOST_GPUS ? js_length(gpus) : MOST_GPUS;
    if (n == 0) {
        text_add(out, "<p class=empty>The run names no GPU.</p>\n");
        return;
    }
    struct place *places = mem_zeroed(n, sizeof *places);
    for (size_t i = 0; i < n; i++)
        find_place(r, js_at(gpus, i), &places[i]);
    qsort(places, n, sizeof *places, by_node);
    size_t groups = 0;
    for (size_t i = 0; i < n; i++)
        groups += i == 0 || places[i].node != places[i - 1].node ? 1 : 0;
    double height = 12 + LINE * (double)n + 12 * (double)groups;
    text_addf(
        out, "<div class=figures><figure><div class=plot><svg role=\"img\" class=topo viewBox=\"0 0 %d %g\">",
        WIDTH, height);
    double y = 12;
    for (size_t i = 0; i < n;) {
        size_t count = 1;
        while (i + count < n && places[i + count].node == places[i].node)
            count++;
        draw_node(out, &places[i], count, y);
        y += LINE * (double)count + 12;
        i += count;
    }
    text_addf(
        out,
        "</svg></div><p class=caption>Left: NUMA nodes. Links as they were under load where a case looked, else as they were at the "
        "start. n = %zu GPUs.</p></figure></div>\n",
        n);
    add_pairs(r, places, n, out);
    free(places);
}
