/* SPDX-License-Identifier: Apache-2.0 */
/* A small capture written by hand, and what doctor says of it: two GPUs, nvidia at 195, nvidia-uvm at 511,
 * all right until a test changes it. */
#ifndef GPUVET_UNIT_DOCTOR_MADE_SCENE_H
#define GPUVET_UNIT_DOCTOR_MADE_SCENE_H

#include "doctor/doctor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/tree.h"

struct made {
    char dir[64];
    struct text nodes; /* dev.tsv */
    js *probes;
    struct source source;
    struct facts *facts;
    struct device_nodes found;
    struct scene scene;
    struct findings findings;
};

/* A file of the made machine. */
static inline void made_file(struct made *m, const char *path, const char *content) {
    struct text whole = {0};
    text_addf(&whole, "%s/root%s", m->dir, path);
    tree_put(text_string(&whole), content);
    text_free(&whole);
}

/* Columns of dev.tsv with spaces between; a later line of a path takes the place of an earlier one. */
static inline void made_node(struct made *m, const char *columns) {
    size_t length = strcspn(columns, " ");
    struct text kept = {0};
    struct strings lines = {0};
    strings_split(&lines, text_string(&m->nodes), '\n');
    for (size_t i = 0; i < lines.count; i++)
        if (strncmp(lines.items[i], columns, length) != 0 || lines.items[i][length] != '\t')
            text_addf(&kept, "%s\n", lines.items[i]);
    for (const char *c = columns; columns[length] != '\0' && *c != '\0'; c++)
        text_addf(&kept, "%c", *c == ' ' ? '\t' : *c);
    strings_free(&lines);
    text_free(&m->nodes);
    m->nodes = kept;
}

static inline void made_gone(struct made *m, const char *path) {
    made_node(m, path);
}

/* Devices of `uvm`; "" leaves nvidia-uvm out. */
static inline void made_devices(struct made *m, const char *uvm) {
    struct text text = {0};
    text_addf(
        &text,
        "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n195 nvidia-modeset\n240 nvidia-caps\n%s\n"
        "Block devices:\n  8 sd\n",
        uvm);
    made_file(m, "/proc/devices", text_string(&text));
    text_free(&text);
}

static inline void made_gpu(struct made *m, const char *bdf, int minor, int index) {
    struct text path = {0}, text = {0};
    text_addf(&path, "/proc/driver/nvidia/gpus/%s/information", bdf);
    text_addf(&text, "Model: \t\t Made up\nGPU UUID: \t GPU-0000000%d-1111\nDevice Minor: \t %d\n", index,
              minor);
    made_file(m, text_string(&path), text_string(&text));
    text_free(&path);
    text_free(&text);
    js *gpu = js_new_object();
    js_set_string(gpu, "bdf", bdf);
    js_set_int(gpu, "minor", minor);
    js_append(js_get(m->probes, "gpus"), gpu);
}

static inline void made_code(struct made *m, const char *name, int code) {
    js *one = js_new_object();
    js_set_int(one, "code", code);
    js_set(m->probes, name, one);
}

static inline void made_nvml(struct made *m, int count) {
    made_code(m, "nvmlInit", 0);
    js_set_int(js_get(m->probes, "nvmlInit"), "count", count);
    js *gpus = js_get(m->probes, "gpus"), *left = js_new_array();
    for (size_t i = js_length(gpus) - (size_t)count; i < js_length(gpus); i++)
        js_append(left, js_keep(js_at(gpus, i)));
    js_set(m->probes, "gpus", left);
}

static inline void made_variable(struct made *m, const char *name, const char *value) {
    if (js_get(m->probes, "env") == NULL)
        js_set(m->probes, "env", js_new_object());
    js_set_string(js_get(m->probes, "env"), name, value);
}

static inline void made_begin(struct made *m, const char *where, const char *manager) {
    *m = (struct made){.dir = "/tmp/gpuvet-made-XXXXXX", .probes = js_new_object()};
    assert_non_null(mkdtemp(m->dir));
    struct text manifest = {0}, path = {0};
    text_addf(&path, "%s/manifest.json", m->dir);
    text_addf(&manifest, "{\"schema\":\"gpuvet.capture/1\",\"where\":\"%s\",\"manager\":\"%s\"}", where,
              manager);
    tree_put(text_string(&path), text_string(&manifest));
    text_free(&manifest);
    text_free(&path);
    js_set(m->probes, "gpus", js_new_array());
    js_set_int(m->probes, "uid", 0);
    made_devices(m, "511 nvidia-uvm\n");
    made_gpu(m, "0000:41:00.0", 0, 0);
    made_gpu(m, "0000:61:00.0", 1, 1);
    made_nvml(m, 2);
    made_code(m, "cuInit", 0);
    made_file(m, "/proc/self/uid_map", "         0          0 4294967295\n");
    made_file(m, "/proc/self/mountinfo", "26 25 0:5 / /dev rw,nosuid - devtmpfs udev rw\n");
    made_node(m, "/dev/nvidiactl c 0666 0 0 195 255 ok");
    made_node(m, "/dev/nvidia0 c 0666 0 0 195 0 ok");
    made_node(m, "/dev/nvidia1 c 0666 0 0 195 1 ok");
    made_node(m, "/dev/nvidia-modeset c 0666 0 0 195 254 ok");
    made_node(m, "/dev/nvidia-uvm c 0666 0 0 511 0 ok");
    made_node(m, "/dev/nvidia-uvm-tools c 0666 0 0 511 1 ok");
    made_node(m, "/dev/nvidia-caps/nvidia-cap1 c 0400 0 0 240 1 ok");
}

/* Writes the rest, reads it back, judges. */
static inline void made_judge(struct made *m) {
    struct error err = {0};
    struct text path = {0};
    char *probes = js_text(m->probes);
    text_addf(&path, "%s/probes.json", m->dir);
    tree_put(text_string(&path), probes);
    text_clear(&path);
    text_addf(&path, "%s/dev.tsv", m->dir);
    tree_put(text_string(&path), text_string(&m->nodes));
    text_free(&path);
    free(probes);
    if (!source_capture(m->dir, &m->source, &err))
        fail_msg("%s", err.text);
    m->facts = facts_read(&m->source, &err);
    assert_true(device_nodes_read(&m->source, &m->found, &err));
    scene_make(&m->source, m->facts, &m->found, NULL, &m->scene);
    doctor_judge(&m->scene, &m->findings);
}

static inline void made_end(struct made *m) {
    char command[96];
    findings_free(&m->findings);
    scene_free(&m->scene);
    device_nodes_free(&m->found);
    facts_free(m->facts);
    source_free(&m->source);
    js_free(m->probes);
    text_free(&m->nodes);
    snprintf(command, sizeof command, "rm -rf %s", m->dir);
    assert_int_equal(system(command), 0);
}

static inline const struct finding *made_find(const struct made *m, const char *id) {
    for (size_t i = 0; i < m->findings.count; i++)
        if (strcmp(m->findings.items[i].rule->id, id) == 0)
            return &m->findings.items[i];
    return NULL;
}

static inline bool made_says(const struct finding *f, const char *word) {
    bool found =
        f != NULL && (strstr(f->title, word) != NULL || (f->cause != NULL && strstr(f->cause, word) != NULL));
    for (size_t i = 0; f != NULL && i < f->n_evidence; i++)
        found =
            found || strstr(f->evidence[i].path, word) != NULL || strstr(f->evidence[i].value, word) != NULL;
    for (size_t i = 0; f != NULL && i < f->remedy.count; i++)
        found = found || strstr(f->remedy.items[i], word) != NULL;
    return found;
}

/* A finding of this id and severity that has each of the words (up to a NULL). */
static inline void made_expect(const struct made *m, const char *id, enum severity severity,
                               const char *const *words) {
    const struct finding *f = made_find(m, id);
    if (f == NULL)
        fail_msg("no %s", id);
    assert_int_equal(f->severity, severity);
    for (; words != NULL && *words != NULL; words++)
        if (!made_says(f, *words))
            fail_msg("%s (%s) does not say '%s'", id, f->title, *words);
}
#define EXPECT(m, id, severity, ...) made_expect(m, id, severity, (const char *const[]){__VA_ARGS__, NULL})

/* No fail and no warn. */
static inline void made_quiet(const struct made *m) {
    for (size_t i = 0; i < m->findings.count; i++)
        if (m->findings.items[i].severity != SEVERITY_INFO)
            fail_msg("%s: %s", m->findings.items[i].rule->id, m->findings.items[i].title);
}

static inline void made_lacks(const struct made *m, const char *pattern) {
    if (findings_has(&m->findings, pattern, SEVERITY_INFO))
        fail_msg("%s was found", pattern);
}

#endif
