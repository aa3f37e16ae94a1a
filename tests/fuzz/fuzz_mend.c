/* SPDX-License-Identifier: Apache-2.0 */
/* Mending of any configuration: only lines of device rules change, by their number alone, what is added is a
 * rule or a node, and after it nothing is left to be done, and it is enough if that was foretold. 'p' in
 * front: Proxmox's; a second 'b': a baseline knows an old number. */
#define FUZZ_CORPUS "mend"
#define FUZZ_MUTATIONS 1500
#include "doctor/container_needs.h"
#include "doctor/mend.h"
#include "fuzz/fuzz.h"

#define CONFIGURATION "/etc/pve/lxc/129.conf"

struct made {
    struct source source;
    struct facts facts;
    struct chrdev chrdevs[4];
    struct container_list list;
    struct scene scene;
    js *baseline;
};

static void read_text(struct made *m, bool pve, const char *text) {
    containers_free(&m->list);
    m->list = (struct container_list){mem_zeroed(1, sizeof(struct container)), 1, 1};
    struct container *c = &m->list.items[0];
    c->kind = pve ? CONTAINER_PVE : CONTAINER_LXC;
    c->denies_first = pve;
    c->name = mem_copy_string("129");
    c->file = mem_copy_string(CONFIGURATION);
    container_parse_lxc(&m->source, CONFIGURATION, text, c);
    m->scene.containers = m->list;
}

static size_t mend(const struct made *m, const char *text, struct mend_lines *lines, bool *enough) {
    struct mend_plan plan;
    struct error err = {0};
    mend_plan_make(&m->scene, &m->list.items[0], &plan);
    size_t edits = plan.edits.count;
    if (!mend_lines_make(text, strlen(text), plan.format, &plan.edits, CONFIGURATION, lines, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    *enough = plan.enough;
    mend_plan_free(&plan);
    return edits;
}

/* What is gone comes again with another number, and the rest of what is new is a rule or a node. */
static void check_lines(const struct mend_lines *lines, const char *text) {
    struct text old = {0};
    for (size_t i = 0; i < lines->count; i++) {
        const struct mend_line *line = &lines->items[i];
        const struct mend_line *next = i + 1 < lines->count ? line + 1 : NULL;
        if (line->kind != '+')
            text_add_bytes(&old, line->text, line->length);
        if (line->kind == '-' && (next == NULL || next->kind != '+'))
            abort();
        if (line->kind == '+' && (i == 0 || line[-1].kind != '-') &&
            strncmp(line->text, "lxc.cgroup", strlen("lxc.cgroup")) != 0 &&
            strncmp(line->text, "lxc.mount.entry", strlen("lxc.mount.entry")) != 0)
            abort();
    }
    if (strcmp(text_string(&old), text) != 0)
        abort();
    text_free(&old);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (fuzz_folder[0] == '\0') {
        fuzz_put("a.conf", "lxc.cgroup2.devices.allow = c 195:* rwm\n", 40);
        fuzz_put("proc/driver/nvidia/capabilities/gpu0/mig/gi1/access", "", 0);
    }
    bool pve = size > 0 && data[0] == 'p';
    bool baseline = size > 1 && data[1] == 'b';
    size_t skip = baseline ? 2 : pve ? 1 : 0;
    char *text = mem_copy_bytes((const char *)data + skip, size - skip);
    struct made m = {.source = {.root = fuzz_folder}, .baseline = js_new_object()};
    struct text after = {0}, diff = {0};
    struct mend_lines lines = {0};
    bool enough = false;
    m.chrdevs[0] = (struct chrdev){"nvidia", 195};
    m.chrdevs[1] = (struct chrdev){"nvidia-uvm", 509};
    m.chrdevs[2] = (struct chrdev){"tty", 5};
    m.facts.chrdevs = m.chrdevs;
    m.chrdevs[3] = (struct chrdev){"nvidia-caps", 240};
    m.facts.n_chrdevs = 4;
    js_set_int(m.baseline, "chrdev.nvidia-uvm", 504);
    m.scene =
        (struct scene){.source = &m.source, .facts = &m.facts, .baseline = baseline ? m.baseline : NULL};
    read_text(&m, pve, text);
    size_t edits = mend(&m, text, &lines, &enough);
    check_lines(&lines, text);
    mend_lines_text(&lines, &after);
    mend_lines_diff(&lines, "a", "b", &diff);
    mend_lines_free(&lines);
    if ((edits > 0) != (diff.length > 0))
        abort();
    if (edits > 0) {
        bool foretold = enough;
        read_text(&m, pve, text_string(&after));
        if (mend(&m, text_string(&after), &lines, &enough) != 0 || enough != foretold)
            abort();
        mend_lines_free(&lines);
    }
    containers_free(&m.list);
    js_free(m.baseline);
    text_free(&after);
    text_free(&diff);
    free(text);
    return 0;
}
