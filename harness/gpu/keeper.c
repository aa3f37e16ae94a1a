/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/keeper.h"

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "gpu/nvml.h"
#include "system/pci_state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_GPUS = 64, MAX_LINE = 8192 };

struct keeper {
    struct nvml *nvml; /* NULL: `reason` says why */
    int nodes[MAX_GPUS];
    size_t held;
    int64_t gpus;
    js *known; /* what NVML said of them at the start; NULL: nothing */
    struct source system;
    bool has_system;
    char reason[1024];
};

static void hold_nodes(struct keeper *k, const js *gpus) {
    for (size_t i = 0; i < js_length(gpus) && k->held < MAX_GPUS; i++) {
        int64_t minor = js_get_int(js_at(gpus, i), "minor", -1);
        if (minor < 0)
            continue;
        char path[64];
        snprintf(path, sizeof path, "/dev/nvidia%lld", (long long)minor);
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0)
            k->nodes[k->held++] = fd;
        else
            snprintf(k->reason, sizeof k->reason, "cannot hold %s open: %s", path, strerror(errno));
    }
}

static void start(struct keeper *k) {
    struct error err = {0};
    k->nvml = nvml_open(&err);
    js *gpus = k->nvml == NULL ? NULL : nvml_gpus(k->nvml, &err);
    if (gpus == NULL) {
        snprintf(k->reason, sizeof k->reason, "%s", err.text);
        return;
    }
    k->gpus = (int64_t)js_length(gpus);
    hold_nodes(k, gpus);
    k->known = gpus;
    k->has_system = source_live(&k->system, &err);
}

static bool say(js *line) {
    struct error err = {0};
    struct text text = {0};
    char *json = js_text(line);
    text_addf(&text, "%s\n", json);
    bool written = fd_write_all(STDOUT_FILENO, text_string(&text), text.length, &err);
    free(json);
    text_free(&text);
    js_free(line);
    return written;
}

static js *message(const char *type, const char *reason) {
    js *line = js_new_object();
    js_set_string(line, "type", type);
    js_set_string(line, "reason", reason == NULL || *reason == '\0' ? NULL : reason);
    return line;
}

static bool say_ready(const struct keeper *k) {
    js *line = message("ready", k->reason);
    js_set_int(line, "gpus", k->gpus);
    js_set_int(line, "held", (int64_t)k->held);
    return say(line);
}

static bool say_activity(const struct keeper *k) {
    struct error err = {0};
    js *activity = k->nvml == NULL ? NULL : nvml_activity(k->nvml, &err);
    js *line = message("activity", activity != NULL ? NULL : k->nvml == NULL ? k->reason : err.text);
    js_set(line, "gpus", activity != NULL ? activity : js_new_null());
    return say(line);
}

static const char *bdf_of(const struct keeper *k, const char *uuid) {
    for (size_t i = 0; i < js_length(k->known); i++)
        if (strcmp(js_get_string(js_at(k->known, i), "uuid", ""), uuid) == 0)
            return js_get_string(js_at(k->known, i), "bdf", "");
    return "";
}

/* The counters of one GPU; `whole`: and how it is now. The link is asked of sysfs where that knows, since
 * NVML's calls are dear. */
static js *counters_of(const struct keeper *k, const char *uuid, bool whole) {
    const char *bdf = bdf_of(k, uuid);
    struct pci_link link = {0};
    if (whole && k->has_system)
        link = pci_link_now(&k->system, bdf);
    bool known = link.gen > 0 && link.width > 0;
    js *out = nvml_counters(k->nvml, uuid, !whole ? 0 : known ? NVML_STATE : NVML_STATE | NVML_LINK);
    if (known) {
        js_set_int(out, "pcie_gen", link.gen);
        js_set_int(out, "pcie_width", link.width);
    }
    js_set(out, "aer", k->has_system ? pci_errors(&k->system, bdf) : js_new_object());
    return out;
}

static bool say_counters(const struct keeper *k, const js *question) {
    const js *asked = js_get(question, "gpus");
    bool whole = js_get_bool(question, "whole", false);
    js *gpus = js_new_object();
    for (size_t i = 0; k->nvml != NULL && i < js_length(asked) && i < MAX_GPUS; i++) {
        const char *uuid = js_string(js_at(asked, i), "");
        js_set(gpus, uuid, counters_of(k, uuid, whole));
    }
    js *line = message("counters", k->nvml == NULL ? k->reason : NULL);
    js_set(line, "gpus", gpus);
    return say(line);
}

/* Into `line`, without its newline; a longer one is read away and comes as "". False at the end of stdin. */
static bool read_line(char line[MAX_LINE]) {
    if (fgets(line, MAX_LINE, stdin) == NULL)
        return false;
    size_t length = strlen(line);
    if (length > 0 && line[length - 1] == '\n') {
        line[length - 1] = '\0';
        return true;
    }
    line[0] = '\0';
    int c;
    do
        c = getc(stdin);
    while (c != '\n' && c != EOF);
    return c != EOF;
}

static bool answer_line(const struct keeper *k, const char *line) {
    struct error err = {0};
    js *asked = js_parse(line, strlen(line), &err);
    const char *type = js_get_string(asked, "type", "");
    bool good = strcmp(type, "activity") == 0 ? say_activity(k)
                : strcmp(type, "counters") == 0
                    ? say_counters(k, asked)
                    : say(message("error", "the keeper does not know this question"));
    js_free(asked);
    return good;
}

int keeper_main(void) {
    struct keeper k = {0};
    signal(SIGPIPE, SIG_IGN); /* a reader that is gone shows as a failed write */
    start(&k);
    bool good = say_ready(&k);
    char line[MAX_LINE];
    while (good && read_line(line))
        good = answer_line(&k, line);
    for (size_t i = 0; i < k.held; i++)
        close(k.nodes[i]);
    js_free(k.known);
    if (k.has_system)
        source_free(&k.system);
    nvml_close(k.nvml);
    return good ? 0 : 1;
}
