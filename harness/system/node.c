/* SPDX-License-Identifier: Apache-2.0 */
#include "system/node.h"

#include "base/clock.h"
#include "base/forked.h"
#include "base/mem.h"
#include "base/text.h"
#include "system/facts.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *live_name(void) {
    char name[65] = "";
    gethostname(name, sizeof name - 1);
    return text_printable(name[0] != '\0' ? name : "node");
}

static js *try_topology(void *argument) {
    const char *xml = argument;
    struct error err = {0};
    struct topology *topology = topology_from_xml(xml, strlen(xml), &err);
    js *answer = js_new_object();
    js_set_string(answer, "error", topology == NULL ? err.text : NULL);
    topology_free(topology);
    return answer;
}

/* hwloc trusts what it exported. What it is known to die of is refused before, and a child tries the rest. */
static struct topology *foreign_topology(const char *xml, struct error *err) {
    static const int64_t limit_ns = 20 * NS_PER_S;
    js *answer = forked_json(try_topology, (void *)(uintptr_t)xml, limit_ns, err);
    const char *why = js_get_string(answer, "error", NULL);
    struct topology *topology = NULL;
    if (why != NULL)
        FAIL(err, ERROR_DATA, "%s", why);
    else if (answer != NULL)
        topology = topology_from_xml(xml, strlen(xml), err);
    js_free(answer);
    return topology;
}

static struct topology *captured_topology(const char *xml, struct error *err) {
    if (xml == NULL) {
        FAIL(err, ERROR_DATA,
             "the capture has no topology.xml, of which the node is drawn and planned: take one with "
             "gpuvet doctor --capture, or copy the machine's: lstopo --of xml topology.xml");
        return NULL;
    }
    struct topology *topology = foreign_topology(xml, err);
    struct error why = *err;
    if (topology == NULL)
        FAIL(err, ERROR_DATA, "the capture's topology.xml cannot be read: %.900s; take a new one", why.text);
    return topology;
}

bool node_read(const struct source *source, struct node *out, struct error *err) {
    *out = (struct node){0};
    struct facts *facts = facts_read(source, err);
    if (facts == NULL)
        return RELAY(err);
    out->environment = js_new_object();
    out->moving = js_new_object();
    facts_environment(facts, out->environment, out->moving);
    facts_free(facts);
    out->topology = source->live ? topology_live(err) : captured_topology(source->topology, err);
    if (!source->live) {
        gpu_list_from_json(js_get(source->probes, "gpus"), &out->gpus);
        gpu_list_set_pairs(&out->gpus, js_get(source->probes, "p2p"), js_get(source->probes, "nvlink"));
        gpu_list_environment(&out->gpus, out->environment, out->moving);
    }
    out->name = source->live ? live_name() : mem_copy_string("capture");
    if (out->topology != NULL)
        return true;
    node_free(out);
    return RELAY(err);
}

js *node_to_json(const struct node *node, struct error *err) {
    char *xml = topology_xml(node->topology, err);
    if (xml == NULL)
        return NULL;
    js *out = js_new_object();
    js_set_string(out, "name", node->name);
    js_set(out, "environment", js_copy(node->environment));
    js_set(out, "environment_volatile", js_copy(node->moving));
    js_set(out, "gpus", node->gpus.raw != NULL ? js_copy(node->gpus.raw) : js_new_array());
    if (node->gpus.p2p != NULL)
        js_set(out, "p2p", js_copy(node->gpus.p2p));
    if (node->gpus.nvlink != NULL)
        js_set(out, "nvlink", js_copy(node->gpus.nvlink));
    js_set_string(out, "gpus_reason", node->gpus.reason);
    js_set_string(out, "topology", xml);
    free(xml);
    return out;
}

bool node_from_json(const js *value, struct node *out, struct error *err) {
    *out = (struct node){0};
    const char *xml = js_get_string(value, "topology", NULL);
    const js *environment = js_get(value, "environment");
    if (xml == NULL || !js_is_object(environment))
        return FAIL(err, ERROR_DATA, "a node without environment or topology");
    out->topology = foreign_topology(xml, err);
    if (out->topology == NULL)
        return RELAY(err);
    out->environment = js_copy(environment);
    const js *moving = js_get(value, "environment_volatile");
    out->moving = js_is_object(moving) ? js_copy(moving) : js_new_object();
    gpu_list_from_json(js_get(value, "gpus"), &out->gpus);
    gpu_list_set_pairs(&out->gpus, js_get(value, "p2p"), js_get(value, "nvlink"));
    const char *reason = js_get_string(value, "gpus_reason", "");
    if (out->gpus.count == 0 && reason[0] != '\0')
        snprintf(out->gpus.reason, sizeof out->gpus.reason, "%s", reason);
    out->name = text_printable(js_get_string(value, "name", "node"));
    return true;
}

void node_free(struct node *node) {
    js_free(node->environment);
    js_free(node->moving);
    gpu_list_free(&node->gpus);
    topology_free(node->topology);
    free(node->name);
    *node = (struct node){0};
}

const char *node_text(const struct node *node, const char *key) {
    const char *value = js_get_string(node->environment, key, NULL);
    bool reason = value != NULL && (strcmp(value, FACT_NEEDS_ROOT) == 0 || strcmp(value, FACT_UNKNOWN) == 0);
    return reason ? NULL : value;
}

double node_number(const struct node *node, const char *format, ...) {
    char key[256];
    va_list args;
    va_start(args, format);
    vsnprintf(key, sizeof key, format, args);
    va_end(args);
    double value = js_get_number(node->environment, key, -1);
    return value >= 0 ? value : js_get_number(node->moving, key, -1);
}
