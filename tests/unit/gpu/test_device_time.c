/* SPDX-License-Identifier: Apache-2.0 */
/* The gate, the clock probes and the chase over launchers that write what a device would. */
#include "unit/unit.h"

#include "gpu/chase.c"
#include "gpu/clock_probe.c"
#include "gpu/gate.c"

#include <math.h>

static struct fake {
    int live;        /* host allocations */
    bool no_launch;  /* every launch fails */
    uint32_t number; /* of the gate that was launched last */
    int n_launched;  /* gates with this number */
    bool gives_up;   /* the device gives up on the next gate */
    int readings;    /* clock probes so far */
    uint64_t starts[8];
    int chases;
} fake;

bool gpu_host_alloc(size_t bytes, void **out, struct error *err) {
    (void)err;
    fake.live++;
    *out = mem_zeroed(1, bytes);
    return true;
}

void gpu_host_free(void *p) {
    fake.live -= p != NULL ? 1 : 0;
    free(p);
}

bool gpu_check(int code, const char *what, struct error *err) {
    return code == 0 || FAIL(err, ERROR_GPU, "%s", what);
}

bool gpu_stream_wait(gpu_stream stream, struct error *err) {
    (void)stream, (void)err;
    return true;
}

int gate_launch(struct gate_words *words, uint32_t number, uint64_t limit_ns, void *stream) {
    (void)stream;
    assert_int_equal(limit_ns, 3000000000);
    if (fake.no_launch)
        return 1;
    fake.n_launched = number == fake.number ? fake.n_launched + 1 : 1;
    fake.number = number;
    assert_true((int32_t)(words->released - number) < 0); /* or it would not hold */
    if (fake.gives_up)
        words->gave_up = number;
    return 0;
}

/* Three multiprocessors at 1000, 1500 and 1900 MHz; the fourth's first block never ran. */
int clock_probe_launch(struct clock_reading *out, void *stream) {
    static const uint64_t mhz[] = {1000, 1500, 1900};
    uint64_t ns = fake.readings++ % 2 == 0 ? 5000 : 1005000;
    (void)stream;
    for (int i = 0; i < 3; i++)
        out[i] = (struct clock_reading){.cycles = 77 + ns * mhz[i] / 1000, .ns = ns};
    if (ns > 5000)
        out[3] = (struct clock_reading){.cycles = 1, .ns = ns};
    return fake.no_launch ? 1 : 0;
}

int chase_launch(const void *memory, uint64_t offset, uint32_t hops, bool plain, unsigned blocks,
                 unsigned which, struct chase_reading *out, void *stream) {
    (void)plain, (void)stream, (void)blocks;
    uint64_t end = (uint64_t)(uintptr_t)memory + chase_end(offset, hops, 4096, 128);
    fake.starts[fake.chases++] = offset;
    *out =
        (struct chase_reading){.ns = 1000 * hops, .cycles = 1500 * hops, .end = end, .sm = which, .done = 1};
    return 0;
}

static void a_gate_holds_until_it_is_opened(void **state) {
    (void)state;
    struct gpu_gate *gate;
    struct error err = {0};
    fake = (struct fake){0};
    assert_true(gpu_gate_make(&gate, &err));
    assert_true(gpu_gate_held(gate, &err)); /* one that was never closed has not given up */
    for (uint32_t i = 1; i <= 3; i++) {
        assert_true(gpu_gate_close(gate, NULL, 3000000000, &err));
        assert_true(gpu_gate_join(gate, NULL, &err));
        assert_int_equal(fake.number, i);
        assert_int_equal(fake.n_launched, 2); /* one number, so that one opening lets both go */
        gpu_gate_open(gate);
        assert_int_equal(gate->words->released, i);
        assert_true(gpu_gate_held(gate, &err));
    }
    fake.gives_up = true;
    assert_true(gpu_gate_close(gate, NULL, 3000000000, &err));
    gpu_gate_open(gate);
    assert_false(gpu_gate_held(gate, &err));
    assert_non_null(strstr(err.text, "after 3.0 s"));
    fake.gives_up = false; /* one that gave up is no word about the next */
    assert_true(gpu_gate_close(gate, NULL, 3000000000, &err));
    gpu_gate_open(gate);
    assert_true(gpu_gate_held(gate, &err));
    fake.no_launch = true;
    assert_false(gpu_gate_close(gate, NULL, 3000000000, &err));
    gpu_gate_free(gate);
    gpu_gate_free(NULL);
    assert_int_equal(fake.live, 0);
}

static void the_clock_is_the_middle_multiprocessors(void **state) {
    (void)state;
    struct gpu_clock_probe *probe;
    struct error err = {0};
    fake = (struct fake){0};
    assert_true(gpu_clock_probe_make(&probe, &err));
    assert_true(gpu_clock_probe_mhz(probe) < 0); /* nothing read yet */
    assert_true(gpu_clock_probe_read(probe, NULL, 0, &err) && gpu_clock_probe_read(probe, NULL, 1, &err));
    assert_true(fabs(gpu_clock_probe_mhz(probe) - 1500) < 1e-9);
    for (int i = 0; i < CLOCK_PROBE_MAX_SM; i++) /* 99 us: the timer's steps would show */
        if (probe->readings[i].ns != 0)
            probe->readings[CLOCK_PROBE_MAX_SM + i].ns = probe->readings[i].ns + 99000;
    assert_true(gpu_clock_probe_mhz(probe) < 0);
    fake.no_launch = true;
    assert_false(gpu_clock_probe_read(probe, NULL, 0, &err));
    gpu_clock_probe_free(probe);
    gpu_clock_probe_free(NULL);
    assert_int_equal(fake.live, 0);
}

/* Each multiprocessor begins where the one before it left off, round the end of the buffer. */
static void a_sweep_goes_on_where_it_was(void **state) {
    (void)state;
    struct gpu_chase_result found;
    struct error err = {0};
    const struct gpu_chase chase = {.memory = &fake, .bytes = 4096, .stride = 128, .hops = 10};
    const struct gpu_device device = {.sm_count = 5};
    static const uint64_t starts[] = {0, 10 * 128, 20 * 128, 30 * 128, 8 * 128};
    fake = (struct fake){0};
    assert_true(gpu_chase_sweep(&chase, &device, NULL, &found, &err));
    assert_int_equal(fake.chases, 5);
    assert_memory_equal(fake.starts, starts, sizeof starts);
    assert_true(fabs(found.ns - 1000) < 1e-9 && fabs(found.sm_mhz - 1500) < 1e-9);
    assert_int_equal(found.multiprocessors, 5);
    assert_int_equal(found.wrong, 0);
    assert_int_equal(fake.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gate_holds_until_it_is_opened),
        cmocka_unit_test(the_clock_is_the_middle_multiprocessors),
        cmocka_unit_test(a_sweep_goes_on_where_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
