/* SPDX-License-Identifier: Apache-2.0 */
/* run_read and the comparison of whatever it accepts, on any bytes. */
#define FUZZ_CORPUS "run_reader"
#include "compare/compare.h"
#include "compare/env_diff.h"
#include "fuzz/fuzz.h"
#include "run/record.h"

#include <sys/mman.h>

static void compare_environments(const struct run *run) {
    struct comparison c;
    env_diff(run, 1, run, 1, &c);
    js *json = env_diff_json(&c, "a", "b");
    if (!env_diff_same(&c))
        abort();
    js_free(json);
    comparison_free(&c);
}

static void compare_with_itself(const struct run *run) {
    struct compare_options options = {.force = true};
    struct comparison c;
    struct error err = {0};
    if (!compare_runs(run, 1, run, 1, &options, &c, &err))
        return;
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere != NULL) {
        comparison_print(&c, nowhere);
        fclose(nowhere);
    }
    js *json = comparison_json(&c);
    js_free(json);
    (void)comparison_exit_status(&c, true);
    comparison_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    struct error err = {0};
    struct run run;
    int fd = memfd_create("run", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd_write_all(fd, (const char *)data, size, &err)) {
        if (run_read(path, &run, &err)) {
            compare_with_itself(&run);
            compare_environments(&run);
            run_free(&run);
        } else if (err.kind == ERROR_NONE || err.text[0] == '\0') {
            abort(); /* a refusal must say why */
        }
    }
    close(fd);
    return 0;
}
