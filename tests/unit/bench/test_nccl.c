/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives on made-up GPUs, whose memory is the host's, through a made-up NCCL (tests/fakes/nccl.c) that
 * really reduces: ranks, data, verification, failures. */
#include "unit/unit.h"

#include "bench/nccl_common.c"
#include "bench/nccl_pair.c"
#include "bench/nccl_set.c"

#include <dlfcn.h>
#include <unistd.h>

const struct metric nccl_metrics[] = {
    [NCCL_TIME] = {"time", QUANTITY_TIME, TIMING_HOST},
    [NCCL_CALL] = {"call", QUANTITY_TIME, TIMING_HOST},
    [NCCL_ALGBW] = {"algbw", QUANTITY_BANDWIDTH, TIMING_HOST},
    [NCCL_BUSBW] = {"busbw", QUANTITY_BANDWIDTH, TIMING_HOST},
    [NCCL_METRICS] = {0},
};

/* What is on the shelf is never released (run/case.h), and an aborted communicator is nobody's any more. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}

/* ---- made-up GPUs ---- */

static _Thread_local int current = -1;
static struct {
    _Atomic int wrong_gpu; /* work for another GPU than the current one */
    _Atomic int allocations;
} fake;

struct fake_stream {
    int gpu;
};

bool gpu_use(const struct gpu_device *device, struct error *err) {
    (void)err;
    current = device->ordinal;
    return true;
}

bool gpu_check(int code, const char *what, struct error *err) {
    return code == 0 || FAIL(err, ERROR_GPU, "%s: %d", what, code);
}

bool gpu_stream_make(gpu_stream *out, struct error *err) {
    (void)err;
    struct fake_stream *s = mem_zeroed(1, sizeof *s);
    s->gpu = current;
    *out = s;
    return true;
}

void gpu_stream_free(gpu_stream stream) {
    free(stream);
}

static bool on_current(gpu_stream stream, struct error *err) {
    if (((struct fake_stream *)stream)->gpu == current)
        return true;
    fake.wrong_gpu++;
    return FAIL(err, ERROR_GPU, "a stream of another GPU");
}

bool gpu_stream_wait(gpu_stream stream, struct error *err) {
    return on_current(stream, err);
}

bool gpu_stream_done(gpu_stream stream, bool *done, struct error *err) {
    *done = true;
    return on_current(stream, err);
}

bool gpu_alloc(size_t bytes, void **out, struct error *err) {
    (void)err;
    *out = mem_zeroed(1, bytes);
    fake.allocations++;
    return true;
}

void gpu_free(void *p) {
    fake.allocations -= p != NULL ? 1 : 0;
    free(p);
}

bool gpu_memset(void *p, int byte, size_t bytes, struct error *err) {
    (void)err;
    memset(p, byte, bytes);
    return true;
}

bool gpu_clock_probe_make(struct gpu_clock_probe **out, struct error *err) {
    (void)err;
    *out = NULL;
    return true;
}

void gpu_clock_probe_free(struct gpu_clock_probe *probe) {
    (void)probe;
}

bool gpu_clock_probe_read(struct gpu_clock_probe *probe, gpu_stream stream, int which, struct error *err) {
    (void)probe, (void)which;
    return on_current(stream, err);
}

double gpu_clock_probe_mhz(const struct gpu_clock_probe *probe) {
    (void)probe;
    return 1000;
}

int collective_fill_device(void *buffer, uint64_t count, const struct collective_data *data, void *stream) {
    struct error ignored = {0};
    collective_fill_host(buffer, count, data);
    return on_current(stream, &ignored) ? 0 : 1;
}

int collective_check_device(const void *buffer, uint64_t count, const struct collective_data *data,
                            struct collective_fault *out, void *stream) {
    struct error ignored = {0};
    collective_check_host(buffer, count, data, out);
    return on_current(stream, &ignored) ? 0 : 1;
}

int corrupt_word_device(void *buffer, uint64_t offset, void *stream) {
    (void)stream;
    corrupt_word_host(buffer, offset);
    return 0;
}

/* What items keep for the next one, as a child has it; a new one has loaded nothing yet. */
static struct shelf *shelf;

static void new_shelf(void) {
    free(shelf);
    shelf = shelf_make();
}

/* ---- one item ---- */

enum { MAX_RANKS = 8 };

struct bed {
    struct gpu_device gpus[MAX_RANKS];
    js *params, *attributes;
    struct case_context context;
    struct samples samples;
    struct verification found;
    struct error err;
};

static void settings(const char *lines) {
    static char path[] = "/tmp/gpuvet-fake-nccl-XXXXXX";
    if (getenv("GPUVET_FAKE_NCCL") == NULL)
        close(mkstemp(path));
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(lines, file);
    fclose(file);
    setenv("GPUVET_FAKE_NCCL", path, 1);
}

static int forget_settings(void **state) {
    (void)state;
    if (getenv("GPUVET_FAKE_NCCL") != NULL)
        unlink(getenv("GPUVET_FAKE_NCCL"));
    return 0;
}

static int calls(const char *symbol) {
    void *library = dlopen(GPUVET_FAKES_DIR "/libnccl.so", RTLD_NOW | RTLD_NOLOAD);
    int (*count)(const char *) = NULL;
    if (library == NULL)
        return 0;
    void *found = dlsym(library, "fake_nccl_calls");
    memcpy(&count, &found, sizeof count);
    int n = count(symbol);
    dlclose(library);
    return n;
}

static void begin(struct bed *b, int ranks, const char *dtype, int64_t bytes, const char *place,
                  const char *metric) {
    *b = (struct bed){.params = js_new_object(), .attributes = js_new_object()};
    js *order = js_new_array();
    for (int i = 0; i < ranks; i++) {
        b->gpus[i].ordinal = i;
        snprintf(b->gpus[i].bdf, sizeof b->gpus[i].bdf, "0000:%02x:00.0", i + 1);
        js_append(order, js_new_int(ranks - 1 - i)); /* ranks count backwards */
    }
    js_set(b->attributes, "order", order);
    js_set_string(b->params, "dtype", dtype);
    js_set_int(b->params, "bytes", bytes);
    js_set_string(b->params, "place", place);
    b->context = (struct case_context){.metric = metric,
                                       .params = b->params,
                                       .attributes = b->attributes,
                                       .shelf = shelf,
                                       .seed = 4711,
                                       .round = 1,
                                       .cpu = -1,
                                       .wanted_samples = 3,
                                       .operations = 4,
                                       .gpus = b->gpus,
                                       .n_gpus = ranks,
                                       .extra = js_new_object(),
                                       .flags = js_new_array(),
                                       .sm_mhz = js_new_array()};
}

static bool run(struct bed *b, enum nccl_op op) {
    bool good = nccl_prepare(&b->context, op, &b->err) && nccl_sample(&b->context, &b->samples, &b->err) &&
                nccl_verify(&b->context, &b->found, &b->err);
    nccl_finish(&b->context);
    return good;
}

static void end(struct bed *b) {
    js_free(b->params);
    js_free(b->attributes);
    js_free(b->context.extra);
    js_free(b->context.flags);
    js_free(b->context.sm_mhz);
    free(b->samples.values);
}

static void expect_good(struct bed *b, enum nccl_op op) {
    if (!run(b, op))
        fail_msg("%s: %s", nccl_op_name(op), b->err.text);
    if (b->found.bad != 0)
        fail_msg("%s: %llu wrong in the %s, first at %llu: %08x instead of %08x", nccl_op_name(op),
                 (unsigned long long)b->found.bad, b->found.what,
                 (unsigned long long)b->found.first_bad_offset, b->found.found, b->found.expected);
    assert_int_equal(b->samples.count, 3);
    assert_true(b->found.checked_bytes > 0);
    assert_int_equal(fake.wrong_gpu, 0);
}

/* ---- tests ---- */

static void every_operation_arrives(void **state) {
    (void)state;
    static const char *const types[] = {"float", "half", "bf16", "int32"};
    settings("");
    for (int op = 0; op < NCCL_OPS; op++)
        for (int type = 0; type < 4; type++)
            for (int ranks = 1; ranks <= MAX_RANKS; ranks += ranks < 3 ? 1 : 5) {
                struct bed b;
                begin(&b, ranks, types[type], 3000, "out", "time");
                expect_good(&b, (enum nccl_op)op);
                end(&b);
            }
}

static void in_place_too(void **state) {
    (void)state;
    settings("");
    for (int op = 0; op < NCCL_ALLTOALL; op++)
        for (int ranks = 2; ranks <= 4; ranks += 2) {
            struct bed b;
            begin(&b, ranks, "float", 4096, "in", "time");
            expect_good(&b, (enum nccl_op)op);
            end(&b);
        }
    struct bed b;
    begin(&b, 2, "float", 4096, "in", "time");
    assert_false(run(&b, NCCL_ALLTOALL)); /* there is no such form */
    end(&b);
}

static void the_smallest_sizes(void **state) {
    (void)state;
    struct bed b;
    settings("");
    begin(&b, 4, "float", 8, "out", "call");
    expect_good(&b, NCCL_ALL_REDUCE);
    end(&b);
    begin(&b, 4, "float", 8, "out", "call");
    assert_false(run(&b, NCCL_ALL_GATHER)); /* nothing is left of 8 bytes for 4 ranks */
    end(&b);
}

static void damage_is_found(void **state) {
    (void)state;
    settings("");
    for (int op = 0; op < NCCL_OPS; op++)
        for (int place = 0; place < (op < NCCL_ALLTOALL ? 2 : 1); place++) {
            struct bed b;
            begin(&b, 2, "bf16", 65536, place == 0 ? "out" : "in", "time");
            js_set_string(b.params, "corrupt", "word");
            assert_true(run(&b, (enum nccl_op)op));
            assert_int_equal(b.found.bad, 8); /* 16 bytes */
            assert_int_equal((int64_t)b.found.first_bad_offset,
                             js_get_int(b.context.extra, "corrupted_at", -1));
            assert_non_null(strstr(b.found.what, "rank"));
            end(&b);
        }
}

/* Mean over the ranks, then the interval of the median; one rank's outlier is half of one. */
static void width_of_an_interval(void **state) {
    (void)state;
    double seconds[2][9];
    struct nccl_set set = {.n = 2};
    struct state s = {.set = &set, .metric = NCCL_BUSBW, .samples = 9, .seconds = &seconds[0][0]};
    for (int i = 0; i < 9; i++) {
        seconds[0][i] = 90 + i;
        seconds[1][i] = 110 + i;
    }
    assert_true(isnan(width_of(&s, 5)));
    assert_true(fabs(width_of(&s, 6) - 5 / 102.5) < 1e-12); /* all six: 100 to 105 */
    assert_true(fabs(width_of(&s, 9) - 6 / 104.0) < 1e-12); /* without the outermost two: 101 to 107 */
    s.shape.bytes = (2 << 20) - 16;
    assert_false(wants_narrow(&s));
    s.shape.bytes = 2 << 20;
    assert_true(wants_narrow(&s));
}

/* However fast this machine is: six samples until the interval is narrow, or the flag says that it is not. */
static void samples_until_narrow(void **state) {
    (void)state;
    struct bed b;
    begin(&b, 2, "float", 4096, "out", "busbw");
    b.context.wanted_samples = 12;
    assert_true(nccl_prepare(&b.context, NCCL_ALL_REDUCE, &b.err));
    ((struct state *)b.context.state)->narrow = true;
    assert_true(nccl_sample(&b.context, &b.samples, &b.err) && nccl_verify(&b.context, &b.found, &b.err));
    nccl_finish(&b.context);
    bool narrow = js_get_number(b.context.extra, "median_interval", NAN) <= 0.005;
    assert_true(b.samples.count >= 6 && b.samples.count <= 12 && (narrow || b.samples.count == 12));
    assert_string_equal(js_string(js_at(b.context.flags, 0), "none"), narrow ? "none" : "spread");
    end(&b);
}

/* Small ones of the sweep start as nccl-tests' threads do. */
static void started_by_a_signal(void **state) {
    (void)state;
    settings("");
    for (int ranks = 1; ranks <= MAX_RANKS; ranks *= 2) {
        struct bed b;
        begin(&b, ranks, "float", 16384, "out", "busbw");
        js_set_string(b.attributes, "start", "signal");
        expect_good(&b, NCCL_ALL_REDUCE);
        end(&b);
    }
}

/* NCCL itself is wrong, at one rank, by one in one element. */
static void a_wrong_sum_is_found(void **state) {
    (void)state;
    for (int op = 0; op < NCCL_ALLTOALL; op++) {
        struct bed b;
        settings("wrong 0 yes\n");
        begin(&b, 2, "float", 4096, "out", "time");
        assert_true(run(&b, (enum nccl_op)op));
        assert_true(b.found.bad > 0);
        assert_int_equal(b.found.first_bad_offset, 4);
        assert_non_null(strstr(b.found.what, "rank 0"));
        end(&b);
    }
    settings("");
}

static void one_communicator_for_a_set(void **state) {
    (void)state;
    struct bed b;
    settings("");
    begin(&b, 5, "float", 4096, "out", "time");
    expect_good(&b, NCCL_ALL_REDUCE);
    assert_non_null(js_get(b.context.extra, "communicator_seconds"));
    end(&b);
    int made = calls("ncclCommInitRank");
    begin(&b, 5, "half", 1 << 20, "out", "busbw");
    expect_good(&b, NCCL_ALL_GATHER);
    assert_null(js_get(b.context.extra, "communicator_seconds"));
    assert_int_equal(calls("ncclCommInitRank"), made);
    assert_string_equal(js_get_string(js_get(b.context.extra, "nccl"), "version", ""), "2.28.9");
    assert_string_equal(js_get_string(js_get(b.context.extra, "nccl"), "found", ""), "chosen");
    end(&b);
}

/* One rank fails in the middle: all come back, with its words, and the next item works again. */
static void a_failure_brings_all_back(void **state) {
    (void)state;
    for (int item = 0; item < 4; item++) {
        bool fails = item % 2 == 0;
        struct bed b;
        settings(fails ? "fail_at 1 9\n" : "");
        begin(&b, 3, "float", 4096, "out", "time");
        js_set_string(b.attributes, "start", item < 2 ? NULL : "signal");
        for (int i = 0; i < 3; i++) /* a set of its own */
            b.gpus[i].ordinal = (item < 2 ? 40 : 60) + i;
        if (!fails)
            expect_good(&b, NCCL_ALL_REDUCE);
        assert_true(!fails || !run(&b, NCCL_ALL_REDUCE));
        assert_true(!fails ||
                    (strstr(b.err.text, "rank 1 (0000:02:00.0)") && strstr(b.err.text, "made to fail")));
        assert_non_null(js_get(b.context.extra, "communicator_seconds"));
        end(&b);
    }
}

static void out_of_space_is_named(void **state) {
    (void)state;
    struct bed b;
    settings("fail ncclCommInitRank\n");
    begin(&b, 2, "float", 4096, "out", "time");
    b.gpus[0].ordinal = 50, b.gpus[1].ordinal = 51;
    assert_false(run(&b, NCCL_ALL_REDUCE));
    assert_non_null(strstr(b.err.text, "No space left on device"));
    assert_non_null(strstr(b.err.text, "out of space in /dev/shm"));
    assert_non_null(strstr(b.err.text, "shm-size"));
    end(&b);
    settings("");
}

static void too_old_is_a_skip(void **state) {
    (void)state;
    struct bed b;
    settings("version 22602\n");
    new_shelf(); /* it was loaded with its version before */
    begin(&b, 2, "float", 4096, "out", "time");
    b.gpus[1].cc_major = 12;
    snprintf(b.gpus[1].name, sizeof b.gpus[1].name, "RTX PRO 6000");
    assert_false(run(&b, NCCL_ALL_REDUCE));
    assert_int_equal(b.err.kind, ERROR_ABSENT);
    assert_non_null(strstr(b.err.text, "2.26.2"));
    assert_non_null(strstr(b.err.text, "2.27"));
    end(&b);
    new_shelf();
    settings("");
}

static void none_is_a_skip(void **state) {
    (void)state;
    struct bed b;
    new_shelf();
    setenv("GPUVET_NCCL", "/nonexistent/libnccl.so.2", 1);
    begin(&b, 2, "float", 4096, "out", "time");
    assert_false(run(&b, NCCL_ALL_REDUCE));
    assert_int_equal(b.err.kind, ERROR_ABSENT);
    assert_non_null(strstr(b.err.text, "GPUVET_NCCL"));
    end(&b);
    new_shelf();
    setenv("GPUVET_NCCL", GPUVET_FAKES_DIR "/libnccl.so", 1);
}

/* The last rung of the P2P ladder: between any two of the item's GPUs, whatever else it holds. */
static void pairs(void **state) {
    (void)state;
    static const struct {
        const char *settings, *library, *words;
        enum nccl_pair_verdict verdict;
    } rows[] = {
        {"", "/libnccl.so", "is right at both", NCCL_PAIR_OK},
        {"wrong 1 yes\n", "/libnccl.so", "1 of 262144 numbers are wrong at rank 1, the first at offset 4",
         NCCL_PAIR_WRONG},
        {"fail ncclAllReduce\n", "/libnccl.so", "out of space in /dev/shm", NCCL_PAIR_FAILED},
        {"", "/none", "GPUVET_NCCL", NCCL_PAIR_ABSENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bed b;
        struct nccl_pair pair;
        char path[256];
        snprintf(path, sizeof path, "%s%s", GPUVET_FAKES_DIR, rows[i].library);
        setenv("GPUVET_NCCL", path, 1);
        settings(rows[i].settings);
        new_shelf();
        begin(&b, 4, "float", 4096, "out", "time");
        nccl_pair_check(&b.context, &b.gpus[1], &b.gpus[3], &pair);
        assert_int_equal(pair.verdict, rows[i].verdict);
        if (strstr(pair.why, rows[i].words) == NULL)
            fail_msg("%s", pair.why);
        assert_int_equal(current, 1); /* `from` stays current */
        if (pair.verdict == NCCL_PAIR_OK) {
            assert_true(pair.seconds > 0);
            nccl_pair_check(&b.context, &b.gpus[1], &b.gpus[3], &pair);
            assert_true(pair.seconds == 0); /* the communicator was kept */
        }
        end(&b);
    }
    new_shelf();
    setenv("GPUVET_NCCL", GPUVET_FAKES_DIR "/libnccl.so", 1);
    settings("");
}

/* What nccl-tests prints: 8 ranks, 64 MiB in 250 us. */
static void bandwidths(void **state) {
    (void)state;
    struct nccl_shape shape;
    assert_true(nccl_shape_make(NCCL_ALL_REDUCE, 2, NCCL_FLOAT, 64 << 20, false, &shape));
    double algbw = nccl_algbw(&shape, 250e-6);
    assert_true(fabs(algbw - 268.435456) < 1e-6);
    assert_true(fabs(algbw * nccl_busbw_factor(NCCL_ALL_REDUCE, 2) - 268.435456) < 1e-6);
    assert_true(fabs(nccl_busbw_factor(NCCL_ALL_REDUCE, 8) - 1.75) < 1e-12);
    assert_true(fabs(nccl_busbw_factor(NCCL_ALL_GATHER, 8) - 0.875) < 1e-12);
    assert_true(fabs(nccl_busbw_factor(NCCL_REDUCE_SCATTER, 4) - 0.75) < 1e-12);
    assert_true(fabs(nccl_busbw_factor(NCCL_ALLTOALL, 2) - 0.5) < 1e-12);
    assert_true(nccl_busbw_factor(NCCL_SENDRECV, 8) == 1 && nccl_busbw_factor(NCCL_BROADCAST, 8) == 1 &&
                nccl_busbw_factor(NCCL_REDUCE, 8) == 1);
    /* A part a rank is a whole multiple of 16 bytes: 1 MiB for 3 ranks loses 16 bytes. */
    assert_true(nccl_shape_make(NCCL_ALL_GATHER, 3, NCCL_HALF, 1 << 20, false, &shape));
    assert_int_equal(shape.bytes, 1048560);
    assert_int_equal(shape.part, 174760);
    assert_int_equal(shape.received, 3 * 174760);
    assert_int_equal(shape.sent, 174760);
}

/* Every rank's sum stays where the type counts in steps of one. */
static void sums_are_exact(void **state) {
    (void)state;
    static const uint32_t most[] = {
        [COLLECTIVE_FLOAT] = 1 << 24, [COLLECTIVE_HALF] = 1 << 11, [COLLECTIVE_BF16] = 1 << 8};
    for (int type = COLLECTIVE_FLOAT; type <= COLLECTIVE_BF16; type++)
        for (int ranks = 1; ranks <= 64; ranks *= 2) {
            uint32_t largest = 0;
            for (uint64_t i = 0; i < 5000; i++) {
                uint32_t sum = 0;
                for (int r = 0; r < ranks; r++)
                    sum += collective_value(i, type, r, ranks, 99);
                largest = sum > largest ? sum : largest;
            }
            assert_true(largest <= most[type] && largest > 0);
        }
    assert_int_equal(collective_bits(COLLECTIVE_HALF, 2048), 0x6800);
    assert_int_equal(collective_bits(COLLECTIVE_HALF, 1), 0x3c00);
    assert_int_equal(collective_bits(COLLECTIVE_HALF, 0), 0);
    assert_int_equal(collective_bits(COLLECTIVE_HALF, 2047), 0x67ff);
    assert_int_equal(collective_bits(COLLECTIVE_BF16, 255), 0x437f);
    assert_int_equal(collective_bits(COLLECTIVE_FLOAT, 3), 0x40400000);
}

static void what_ranks_are_at(void **state) {
    (void)state;
    struct nccl_rank ranks[2] = {{.rank = 0}, {.rank = 1}};
    struct nccl_set set = {.ranks = ranks, .n = 2};
    char words[400];
    snprintf(ranks[0].device.bdf, sizeof ranks[0].device.bdf, "0000:01:00.0");
    ranks[0].stage = NCCL_JOINING;
    nccl_set_describe(&set, words, sizeof words);
    assert_non_null(strstr(words, "rank 0 (0000:01:00.0) waits for the others to join"));
    assert_non_null(strstr(words, "rank 1 () has not come"));
}

int main(void) {
    new_shelf();
    setenv("GPUVET_NCCL", GPUVET_FAKES_DIR "/libnccl.so", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_arrives),
        cmocka_unit_test(in_place_too),
        cmocka_unit_test(the_smallest_sizes),
        cmocka_unit_test(width_of_an_interval),
        cmocka_unit_test(samples_until_narrow),
        cmocka_unit_test(started_by_a_signal),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(a_wrong_sum_is_found),
        cmocka_unit_test(one_communicator_for_a_set),
        cmocka_unit_test(a_failure_brings_all_back),
        cmocka_unit_test(out_of_space_is_named),
        cmocka_unit_test(too_old_is_a_skip),
        cmocka_unit_test(none_is_a_skip),
        cmocka_unit_test(pairs),
        cmocka_unit_test(bandwidths),
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(what_ranks_are_at),
    };
    return cmocka_run_group_tests(tests, NULL, forget_settings);
}
