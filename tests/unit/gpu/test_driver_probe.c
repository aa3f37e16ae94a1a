/* SPDX-License-Identifier: Apache-2.0 */
/* What asking the driver gives: codes, counts, hangs, deaths; and that asking leaves nothing behind. */
#include "base/clock.h"
#include "gpu/driver_probe.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "unit/gpu/fake.h"

static const int64_t patient = 20 * NS_PER_S;

static void use_cuda(const char *lines) {
    static char path[64];
    char full[1024];
    if (path[0] != '\0')
        unlink(path);
    strcpy(path, "/tmp/gpuvet-fake-cuda-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(dprintf(fd, "%s", lines), (int)strlen(lines));
    close(fd);
    snprintf(full, sizeof full, "%s/libcuda.so", GPUVET_FAKES_DIR);
    assert_int_equal(access(full, R_OK), 0);
    setenv("GPUVET_LIBCUDA", full, 1);
    setenv("GPUVET_FAKE_CUDA", path, 1);
}

static int drop_both(void **state) {
    if (getenv("GPUVET_FAKE_CUDA") != NULL)
        unlink(getenv("GPUVET_FAKE_CUDA"));
    unsetenv("GPUVET_FAKE_CUDA");
    unsetenv("GPUVET_LIBCUDA");
    return drop_fake(state);
}

static js *probe(const char *nvml, const char *cuda, int64_t limit_ns) {
    js *out = js_new_object();
    use_fake("nvml", nvml);
    use_cuda(cuda);
    driver_probe(out, true, false, limit_ns);
    return out;
}

static int64_t code_of(const js *probes, const char *name) {
    return js_get_int(js_get(probes, name), "code", -1);
}

static void codes(void **state) {
    (void)state;
    /* Every code of cuInit that public reports tell of. */
    static const int all[] = {0, 2, 3, 34, 46, 100, 101, 209, 304, 802, 803, 804, 805, 999};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char lines[64];
        snprintf(lines, sizeof lines, "init %d\ncount 2\n", all[i]);
        js *probes = probe("count 2\n", lines, patient);
        assert_int_equal(code_of(probes, "cuInit"), all[i]);
        assert_int_equal(code_of(probes, "nvmlInit"), 0);
        assert_int_equal(js_get_int(js_get(probes, "nvmlInit"), "count", -1), 2);
        assert_int_equal(js_length(js_get(probes, "gpus")), 2);
        assert_int_equal(js_get_int(probes, "cuda_devices", -1), all[i] == 0 ? 2 : -1);
        js_free(probes);
    }
    static const int nvml[] = {4, 9, 12, 15, 17, 18, 999};
    for (size_t i = 0; i < sizeof nvml / sizeof *nvml; i++) {
        char lines[64];
        snprintf(lines, sizeof lines, "init %d\n", nvml[i]);
        js *probes = probe(lines, "init 0\n", patient);
        assert_int_equal(code_of(probes, "nvmlInit"), nvml[i]);
        assert_null(js_get(probes, "gpus"));
        assert_int_equal(code_of(probes, "cuInit"), 0); /* they fail apart */
        js_free(probes);
    }
}

static void nvml_alone(void **state) {
    (void)state;
    js *probes = js_new_object();
    use_fake("nvml", "count 1\n");
    use_cuda("init 0\n");
    driver_probe(probes, false, false, patient);
    assert_int_equal(code_of(probes, "nvmlInit"), 0);
    assert_null(js_get(probes, "cuInit"));
    js_free(probes);
}

static void misbehaviour(void **state) {
    (void)state;
    js *probes = probe("hang init\n", "hang init\n", 600 * NS_PER_MS);
    for (int i = 0; i < 2; i++) {
        const js *one = js_get(probes, i == 0 ? "nvmlInit" : "cuInit");
        assert_true(js_is_null(js_get(one, "code")));
        assert_true(js_get_bool(one, "timeout", false));
    }
    js_free(probes);
    probes = probe("crash init\n", "crash init\n", patient);
    assert_int_equal(js_get_int(js_get(probes, "nvmlInit"), "signal", -1), 11);
    assert_int_equal(js_get_int(js_get(probes, "cuInit"), "signal", -1), 11);
    js_free(probes);
}

static void absent(void **state) {
    (void)state;
    js *probes = js_new_object();
    setenv("GPUVET_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
    setenv("GPUVET_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
    driver_probe(probes, true, false, patient);
    for (int i = 0; i < 2; i++) {
        const js *one = js_get(probes, i == 0 ? "nvmlInit" : "cuInit");
        assert_true(js_is_null(js_get(one, "code")));
        assert_true(js_get_bool(one, "absent", false));
        assert_non_null(strstr(js_get_string(one, "reason", ""), "/nonexistent/"));
    }
    js_free(probes);
}

/* A context is tried where it can tell something, and never on a GPU that is free or shared. */
static void exclusive(void **state) {
    static const struct {
        const char *nvml;
        bool container;
        int code; /* -1: not tried */
    } rows[] = {
        {"count 1\ncompute_mode 3\nprocesses 1\n", false, 46}, /* held by somebody who is seen */
        {"count 1\ncompute_mode 3\nprocesses 0\n", false, -1}, /* by nobody */
        {"count 1\ncompute_mode 3\nprocesses 0\n", true, 46},  /* by somebody in another container */
        {"count 1\ncompute_mode 0\nprocesses 1\n", true, -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        js *probes = js_new_object();
        use_fake("nvml", rows[i].nvml);
        use_cuda("init 0\ncontext 46\n");
        driver_probe(probes, true, rows[i].container, patient);
        assert_int_equal(code_of(probes, "cuInit"), 0);
        assert_int_equal(code_of(probes, "cuCtxCreate"), rows[i].code);
        const js *gpu = js_at(js_get(probes, "gpus"), 0);
        const js *codes = js_get(js_get(probes, "cuCtxCreate"), "gpus");
        assert_int_equal(js_get_int(codes, js_get_string(gpu, "bdf", "?"), -1), rows[i].code);
        js_free(probes);
    }
    js *probes = probe("count 1\ncompute_mode 3\nprocesses 1\n", "init 999\ncontext 46\n", patient);
    assert_null(js_get(probes, "cuCtxCreate"));
    js_free(probes);
}

static void pairs(void **state) {
    (void)state;
    js *probes = probe("count 2\np2p 1\nlinks 3\n", "init 0\n", patient);
    const js *p2p = js_get(probes, "p2p");
    assert_int_equal(js_length(p2p), 2);
    assert_string_equal(js_string(js_at(js_at(p2p, 0), 0), ""), "X");
    assert_string_equal(js_string(js_at(js_at(p2p, 0), 1), ""), "CNS");
    const js *links = js_get(probes, "nvlink");
    assert_int_equal(js_length(links), 2);
    assert_int_equal(js_get_int(js_at(links, 0), "from", -1), 0);
    assert_int_equal(js_get_int(js_at(links, 0), "to", -1), 1);
    assert_int_equal(js_get_int(js_at(links, 0), "links", -1), 3);
    js_free(probes);
    probes = probe("count 1\n", "init 0\n", patient);
    assert_null(js_get(probes, "p2p"));
    js_free(probes);
}

/* A GPU that is busy without a process is told; one with a process, or idle, is not. */
static void ghost_load(void **state) {
    (void)state;
    js *probes = probe("count 2\nutilization 100\n", "init 0\n", patient);
    for (size_t i = 0; i < 2; i++) {
        const js *gpu = js_at(js_get(probes, "gpus"), i);
        assert_int_equal(js_get_int(gpu, "utilization_percent", -1), 100);
        assert_true(js_is_array(js_get(gpu, "processes")));
    }
    js_free(probes);
    probes = probe("count 2\nutilization 100\nprocesses 1\n", "init 0\n", patient);
    assert_null(js_get(js_at(js_get(probes, "gpus"), 0), "utilization_percent"));
    js_free(probes);
    probes = probe("count 2\n", "init 0\n", patient);
    assert_null(js_get(js_at(js_get(probes, "gpus"), 0), "utilization_percent"));
    js_free(probes);
}

/* Root's library makes the nodes that it misses, where nobody else sees them. */
static void nothing_stays(void **state) {
    (void)state;
    struct stat st;
    assert_int_not_equal(stat("/dev/nvidia-gpuvet-test", &st), 0);
    js *probes = probe("count 1\n", "node /dev/nvidia-gpuvet-test\n", patient);
    const js *made = js_get(probes, "made_by_probe");
    bool own = code_of(probes, "cuInit") == 0;
    if (own) {
        assert_int_equal(js_length(made), 1);
        assert_string_equal(js_string(js_at(made, 0), ""), "/dev/nvidia-gpuvet-test");
    }
    js_free(probes);
    assert_int_not_equal(stat("/dev/nvidia-gpuvet-test", &st), 0);
    if (geteuid() != 0 || !own)
        skip_because("a /dev of its own needs root");
}

static void no_privileges(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip_because("only root could load modules");
    js *probes = probe("count 1\n", "module no\n", patient);
    assert_int_equal(code_of(probes, "cuInit"), 0);
    js_free(probes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(codes, drop_both),
        cmocka_unit_test_teardown(misbehaviour, drop_both),
        cmocka_unit_test_teardown(nvml_alone, drop_both),
        cmocka_unit_test_teardown(absent, drop_both),
        cmocka_unit_test_teardown(ghost_load, drop_both),
        cmocka_unit_test_teardown(exclusive, drop_both),
        cmocka_unit_test_teardown(pairs, drop_both),
        cmocka_unit_test_teardown(nothing_stays, drop_both),
        cmocka_unit_test_teardown(no_privileges, drop_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
