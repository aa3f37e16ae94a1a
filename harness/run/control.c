/* SPDX-License-Identifier: Apache-2.0 */
#include "run/control.h"

#include "base/mem.h"
#include "base/text.h"
#include "run/where.h"
#include "run/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* {"NAME":"VALUE"} */
static js *settings_of(const struct bench_case *bench) {
    js *settings = js_new_object();
    for (size_t i = 0; bench->control[i] != NULL; i++) {
        const char *equals = strchr(bench->control[i], '=');
        if (equals == NULL)
            continue;
        char *name = mem_copy_bytes(bench->control[i], (size_t)(equals - bench->control[i]));
        js_set_string(settings, name, equals + 1);
        free(name);
    }
    return settings;
}

/* Once more on a GPU that does not answer, or that still works on what nobody runs any more, would hang too
 * and tell nothing. */
static bool gpus_unfit(const js *message, const js *node, char *out, size_t size) {
    struct strings uuids = {0};
    const js *busy = js_get(node, "utilization_percent");
    out[0] = '\0';
    where_gpus(js_get(message, "where"), &uuids);
    if (uuids.count > 0 && busy == NULL)
        snprintf(out, size, "the GPUs were not asked after the hang");
    for (size_t i = 0; i < uuids.count && out[0] == '\0'; i++)
        if (js_get(busy, uuids.items[i]) == NULL)
            snprintf(out, size, "GPU %.80s does not answer after the hang", uuids.items[i]);
        else if (js_get_int(busy, uuids.items[i], 0) >= WORKER_STILL_BUSY_PERCENT)
            snprintf(out, size, "GPU %.80s is still %lld %% busy after the hang", uuids.items[i],
                     (long long)js_get_int(busy, uuids.items[i], 0));
    strings_free(&uuids);
    return out[0] != '\0';
}

/* Why it makes no sense now; NULL: it does. `room` holds what has names in it. */
static const char *pointless(const struct session *session, const js *message, const js *settings,
                             const struct item_answer *answer, char *room, size_t size) {
    if (!session->open)
        return "the worker is gone";
    if (answer->unkillable)
        return "the process that hung cannot be killed: its GPUs are left alone";
    if (gpus_unfit(message, answer->node, room, size))
        return room;
    bool same = js_length(settings) > 0;
    for (struct js_member m = js_first(settings); m.key != NULL; m = js_next(settings, m))
        same = same && strcmp(js_get_string(js_get(message, "env"), m.key, ""), js_string(m.value, "")) == 0;
    return same ? "the item ran with these variables already" : NULL;
}

js *control_run(struct session *session, const struct bench_case *bench, const js *message,
                const struct item_answer *answer, struct interrupt *interrupt) {
    if (bench->control == NULL)
        return NULL;
    js *settings = settings_of(bench);
    char room[160];
    const char *why = pointless(session, message, settings, answer, room, sizeof room);
    js *out = js_new_object();
    js_set(out, "env", js_copy(settings));
    if (why != NULL) {
        js_set_string(out, "outcome", "skip");
        js_set_string(out, "reason", why);
        js_free(settings);
        return out;
    }
    js *again = js_copy(message);
    js *env = js_copy(js_get(message, "env"));
    for (struct js_member m = js_first(settings); m.key != NULL; m = js_next(settings, m))
        js_set(env, m.key, js_copy(m.value));
    js_set(again, "env", env);
    struct item_answer second;
    session_run(session, again, interrupt, &second);
    if (strcmp(second.outcome, "hang") == 0)
        session_after_hang(session, again, interrupt, &second);
    js_set_string(out, "outcome", second.outcome);
    if (second.reason[0] != '\0')
        js_set_string(out, "reason", second.reason);
    if (second.unkillable)
        js_set_bool(out, "unkillable", true);
    item_answer_free(&second);
    js_free(again);
    js_free(settings);
    return out;
}
