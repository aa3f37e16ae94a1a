/* SPDX-License-Identifier: Apache-2.0 */
/* gpuvet topo: the node drawn, live or from a capture. */
#include "base/log.h"
#include "cli/commands.h"
#include "cli/topo_view.h"
#include "gpu/facts_child.h"
#include "system/facts.h"

#include <stdio.h>

struct topo_values {
    const char *from;
    bool json;
};

static const struct option_row options[] = {
    {.name = "from",
     .type = OPTION_STRING,
     .metavar = "DIR",
     .offset = offsetof(struct topo_values, from),
     .help = "of a captured machine instead of this one"},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct topo_values, json),
     .help = "for machines"},
    {0},
};

/* Without the driver's word, the GPUs that are on the bus, in the order in which it would count them. */
static void add_from_bus(const struct source *source, struct node *node) {
    struct error none = {0};
    struct facts *facts = facts_read(source, &none);
    js *list = js_new_array();
    for (size_t i = 0; facts != NULL && i < facts->n_pci; i++) {
        js *one = js_new_object();
        char name[32] = "";
        if (facts->pci[i].device >= 0)
            snprintf(name, sizeof name, "NVIDIA GPU [10de:%04x]", (unsigned)facts->pci[i].device & 0xffff);
        js_set_string(one, "bdf", facts->pci[i].bdf);
        js_set_string(one, "name", name);
        if (facts->pci[i].gpu)
            js_append(list, one);
        else
            js_free(one);
    }
    if (js_length(list) > 0) {
        gpu_list_free(&node->gpus);
        gpu_list_from_json(list, &node->gpus);
    }
    js_free(list);
    facts_free(facts);
}

static bool read_node(const char *from, struct node *node, struct error *err) {
    struct source source = {0};
    struct error no_gpu = {0};
    bool good = (from != NULL ? source_capture(from, &source, err) : source_live(&source, err)) &&
                node_read(&source, node, err);
    if (good && from == NULL && !gpu_facts_child(&node->gpus, GPU_FACTS_LIMIT_NS, &no_gpu))
        log_warning("GPUs: %s", no_gpu.text);
    if (good && node->gpus.count == 0)
        add_from_bus(&source, node);
    source_free(&source);
    return good || RELAY(err);
}

static int run(void *values, const struct strings *arguments) {
    (void)arguments;
    const struct topo_values *v = values;
    struct node node = {0};
    struct error err = {0};
    if (!read_node(v->from, &node, &err)) {
        log_error(&err);
        return 2;
    }
    js *topo = topo_json(&node);
    if (v->json)
        js_print(topo, stdout);
    else
        topo_print(topo, stdout);
    js_free(topo);
    node_free(&node);
    return 0;
}

const struct command command_topo = {
    .name = "topo",
    .summary = "the node drawn: sockets, root ports, switches, GPUs, and what each path can carry",
    .details =
        "  gpuvet topo\n"
        "  gpuvet topo --json\n"
        "  gpuvet topo --from CAPTURE\n"
        "\n"
        "Links are shown as they are now, and what they can do where that differs: a GPU lets its link fall\n"
        "while it sleeps. Limits are those that figures of `run` are set against.\n",
    .options = options,
    .values_size = sizeof(struct topo_values),
    .run = run,
};
