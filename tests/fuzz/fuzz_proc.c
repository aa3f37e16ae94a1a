/* SPDX-License-Identifier: Apache-2.0 */
/* What facts read below /proc: the files one after another, each ended by a line "@". */
#define FUZZ_CORPUS "proc"
#define FUZZ_MUTATIONS 60
#include "fuzz/fuzz.h"
#include "system/facts.h"

static const char *const files[] = {
    "proc/devices",     "proc/driver/nvidia/version", "proc/driver/nvidia/params", "proc/cmdline",
    "proc/self/status", "proc/self/cgroup",           "proc/self/mountinfo",       "proc/meminfo",
    "proc/cpuinfo",     "proc/sys/kernel/version",    "sys/module/nvidia/version", "etc/machine-id",
};
enum { N_FILES = sizeof files / sizeof *files };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char mark[] = "\n@\n";
    const char *at = (const char *)data;
    size_t left = size;
    struct error err = {0};
    (void)fuzz_tree();
    struct source source = {.root = fuzz_folder};
    for (size_t i = 0; i < N_FILES; i++) {
        const char *end = memmem(at, left, mark, sizeof mark - 1);
        size_t length = end == NULL ? left : (size_t)(end - at);
        fuzz_put(files[i], at, length);
        size_t used = end == NULL ? left : length + sizeof mark - 1;
        at += used;
        left -= used;
    }
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
    return 0;
}
