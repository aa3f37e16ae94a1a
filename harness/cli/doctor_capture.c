/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_capture.h"

#include "base/log.h"
#include "system/capture_write.h"
#include "system/topology.h"

#include <stdlib.h>
#include <string.h>

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

bool doctor_capture_end(const char *dir, const struct scene *scene, struct error *err) {
    if (dir == NULL)
        return true;
    struct capture capture = {.source = scene->source,
                              .facts = scene->facts,
                              .nodes = scene->nodes,
                              .where = scene->container ? "container" : "host",
                              .manager = scene->manager,
                              .topology = topology_text()};
    bool good = capture_write(dir, &capture, err);
    free(capture.topology);
    return good || RELAY(err);
}
