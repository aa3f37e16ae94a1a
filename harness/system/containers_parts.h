/* SPDX-License-Identifier: Apache-2.0 */
/* For the parsers of containers_*.c only. */
#ifndef GPUVET_SYSTEM_CONTAINERS_PARTS_H
#define GPUVET_SYSTEM_CONTAINERS_PARTS_H

#include "base/json.h"
#include "system/containers.h"

/* Both copy their texts; what is added has no numbers yet. Valid until the next is added. */
struct device_rule *container_add_rule(struct container *out, const char *file, int line, const char *key,
                                       const char *text);
struct device_entry *container_add_device(struct container *out, const char *file, int line, const char *text,
                                          const char *host_path);
/* Fills type and numbers of "a", "c 504:* rwm", "b *:* m", as written in the rule's text. */
void container_fill_rule(struct device_rule *rule, bool allow);
/* graphroot of storage.conf; NULL: it names none. Release with free. */
char *container_podman_graphroot(const char *conf);
/* What people call the container of this id, by containers.json; NULL: not known. Borrowed. */
const char *container_podman_name(const js *list, const char *id);
/* Drops all rules and nodes so far. */
void container_forget_devices(struct container *out);

#endif
