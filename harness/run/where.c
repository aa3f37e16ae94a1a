/* SPDX-License-Identifier: Apache-2.0 */
#include "run/where.h"

static void add_once(struct strings *out, const char *uuid) {
    if (uuid[0] != '\0' && out->count < WHERE_MAX_GPUS && !strings_contain(out, uuid))
        strings_add(out, uuid);
}

void where_gpus(const js *where, struct strings *out) {
    static const char *const single[] = {"gpu", "from", "to"};
    struct strings joined = {0};
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        add_once(out, js_get_string(where, single[i], ""));
    strings_split(&joined, js_get_string(where, "gpus", ""), '+');
    for (size_t i = 0; i < joined.count; i++)
        add_once(out, joined.items[i]);
    strings_free(&joined);
}
