/* SPDX-License-Identifier: Apache-2.0 */
/* What facts read below /proc and /sys, in memory: the input's form is told in memory_fs.h. */
#define FUZZ_CORPUS "proc"
#define FUZZ_MUTATIONS 300
#include "fuzz/fuzz.h"
#include "fuzz/memory_fs.h"
#include "system/activity.h"
#include "system/facts.h"

/* Who is busy: a process may have any name, and counters may hold any number. */
static void look_who_is_busy(void) {
    struct error err = {0};
    struct activity now, before = {0};
    struct activity_report report;
    if (activity_read(MEMORY_ROOT, &now, &err)) {
        activity_between(&before, &now, 1, 0, &report);
        activity_between(&now, &now, 1, 0, &report);
        if (report.top_pid != 0 || report.throttled || strlen(report.top_name) >= sizeof report.top_name)
            abort(); /* nothing has grown */
    } else if (err.text[0] == '\0') {
        abort(); /* a refusal says why */
    }
    activity_free(&now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    char root[] = MEMORY_ROOT;
    struct source source = {.root = root};
    memory_unpack((const char *)data, (const char *)data + size);
    struct facts *facts = facts_read(&source, &err);
    js *stable = js_new_object();
    js *moving = js_new_object();
    if (facts == NULL)
        abort();
    facts_environment(facts, stable, moving);
    char *text = js_text(stable);
    js *again = js_parse(text, strlen(text), &err);
    if (!js_equal(stable, again))
        abort(); /* an environment is printed so that it can be read back */
    js_free(again);
    free(text);
    js_free(stable);
    js_free(moving);
    facts_free(facts);
    look_who_is_busy();
    memory_end();
    return 0;
}
