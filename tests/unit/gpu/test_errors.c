/* SPDX-License-Identifier: Apache-2.0 */
/* What gpu.h says where it cannot work: without CUDA in the build, without a driver, for an unknown GPU. */
#include "gpu/gpu.h"

#include <string.h>

#include "unit/unit.h"

static void codes(void **state) {
    (void)state;
    struct error err = {0};
    assert_true(gpu_check(0, "anything", &err));
    assert_int_equal(err.kind, ERROR_NONE);
    assert_false(gpu_check(35, "starting", &err));
    assert_int_equal(err.kind, ERROR_GPU);
    assert_non_null(strstr(err.text, "starting"));
    assert_non_null(strstr(err.text, gpu_built() ? "gpuvet doctor" : "built without CUDA"));
    if (!gpu_built())
        return;
    static const struct {
        int code;
        const char *says;
    } rows[] = {{2, "cudaErrorMemoryAllocation"}, {46, "another process"}, {100, "CUDA_VISIBLE_DEVICES"},
                {101, "CUDA_VISIBLE_DEVICES"},    {802, "fabric manager"}, {999, "gpuvet doctor"},
                {209, "compute capability"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_false(gpu_check(rows[i].code, "starting", &err));
        assert_int_equal(err.native, rows[i].code);
        if (strstr(err.text, rows[i].says) == NULL)
            fail_msg("%d: \"%s\" does not say \"%s\"", rows[i].code, err.text, rows[i].says);
    }
}

static void unknown_gpu(void **state) {
    (void)state;
    struct error err = {0};
    struct gpu_device device;
    assert_false(gpu_open("GPU-ffffffff-ffff-ffff-ffff-ffffffffffff", &device, &err));
    assert_int_equal(err.kind, ERROR_GPU);
    assert_true(err.text[0] != '\0');
}

static void start(void **state) {
    (void)state;
    struct error err = {0};
    int count = -1;
    bool started = gpu_start(&count, &err);
    assert_int_equal(started, count > 0); /* a machine with GPUs starts, any other says why */
    assert_int_equal(started, err.text[0] == '\0');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes),
        cmocka_unit_test(unknown_gpu),
        cmocka_unit_test(start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
