/* SPDX-License-Identifier: Apache-2.0 */
#include "run/control.h"

#include "base/mem.h"
#include "base/text.h"
#include "run/where.h"

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

/* Why it makes no sense now; NULL: it does. */
static const char *pointless(const struct session *session, const js *message, const js *settings,
                             const struct item_answer *answer) {
    struct strings uuids = {0};
    where_gpus(js_get(message, "where"), &uuids);
    size_t wanted = uuids.count;
    strings_free(&uuids);
    if (!session->open)
        return "the worker is gone";
    if (strstr(answer->reason, "cannot be killed") != NULL)
        return "the process that hung cannot be killed: its GPUs are left alone";
    if (js_get(answer->node, "gpus_answering") != NULL &&
        js_get_int(answer->node, "gpus_answering", 0) < (int64_t)wanted)
        return "not all GPUs answer after the hang";
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
    const char *why = pointless(session, message, settings, answer);
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
    js_set_string(out, "outcome", second.outcome);
    if (second.reason[0] != '\0')
        js_set_string(out, "reason", second.reason);
    item_answer_free(&second);
    js_free(again);
    js_free(settings);
    return out;
}
