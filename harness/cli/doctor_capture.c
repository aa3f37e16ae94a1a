/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_capture.h"

#include "base/log.h"
#include "base/mem.h"
#include "system/capture_write.h"
#include "system/kernel_log.h"
#include "system/topology.h"

#include <stdlib.h>

bool doctor_capture_begin(const char *dir, const char *from, struct source *source,
                          struct recording *recording, struct error *err) {
    if (dir == NULL)
        return true;
    if (from != NULL)
        return FAIL(err, ERROR_USAGE, "--capture is of this machine; %s is a capture already", from);
    source->recording = recording;
    return capture_check(dir, err) || RELAY(err);
}

/* NULL: hwloc cannot tell; a capture without it is judged all the same. */
static char *topology_text(void) {
    struct error err = {0};
    struct topology *topology = topology_live(&err);
    char *xml = topology == NULL ? NULL : topology_xml(topology, &err);
    topology_free(topology);
    if (xml == NULL)
        log_warning("the capture has no topology: %s", err.text);
    return xml;
}

static char *kernel_log_text(const struct source *source) {
    struct text log = {0};
    if (source->kernel_log != NULL)
        return mem_copy_string(source->kernel_log);
    if (kernel_log_live(&log))
        return text_take(&log);
    text_free(&log);
    return NULL;
}

bool doctor_capture_end(const char *dir, const struct scene *scene, struct error *err) {
    if (dir == NULL)
        return true;
    struct capture capture = {.source = scene->source,
                              .facts = scene->facts,
                              .nodes = scene->nodes,
                              .driver = &scene->driver,
                              .where = scene->container ? "container" : "host",
                              .manager = scene->manager,
                              .topology = topology_text(),
                              .kernel_log = kernel_log_text(scene->source)};
    bool good = capture_write(dir, &capture, err);
    free(capture.topology);
    free(capture.kernel_log);
    return good || RELAY(err);
}
