/* SPDX-License-Identifier: Apache-2.0 */
/* Putting the made-up NVML (tests/fakes/nvml.c) in the real one's place. */
#ifndef GPUVET_UNIT_GPU_FAKE_H
#define GPUVET_UNIT_GPU_FAKE_H

#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* `lines`: what it shall do, "count 2\nhang init\n". `library`: "nvml" or "nvml_old". */
static inline void use_fake(const char *library, const char *lines) {
    char path[] = "/tmp/gpuvet-fake-XXXXXX";
    char full[1024];
    const char *before = getenv("GPUVET_FAKE_NVML");
    if (before != NULL)
        unlink(before);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(dprintf(fd, "%s", lines), (int)strlen(lines));
    close(fd);
    snprintf(full, sizeof full, "%s/lib%s.so", GPUVET_FAKES_DIR, library);
    assert_int_equal(access(full, R_OK), 0);
    setenv("GPUVET_NVML", full, 1);
    setenv("GPUVET_FAKE_NVML", path, 1);
}

static inline int drop_fake(void **state) {
    (void)state;
    if (getenv("GPUVET_FAKE_NVML") != NULL)
        unlink(getenv("GPUVET_FAKE_NVML"));
    unsetenv("GPUVET_FAKE_NVML");
    unsetenv("GPUVET_NVML");
    return 0;
}

#endif
