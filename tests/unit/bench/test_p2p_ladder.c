/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder climbed over made-up GPUs: which rung breaks, what is not tried any more, and how the item ends.
 */
#include "unit/unit.h"

#include "bench/p2p_ladder.c"
#include "bench/p2p_rungs.c"

static struct fake {
    enum gpu_peer access[2]; /* of each direction, in the order asked */
    int asked, copies;
    int wrong_copy; /* its number is wrong; -1: none */
    bool copy_errors, lost, exchange_errors;
    int exchanges;
    enum nccl_pair_verdict collective;
    int collectives;
} fake;

enum gpu_peer gpu_peer_enable(const struct gpu_device *from, const struct gpu_device *to, struct error *err) {
    (void)from, (void)to;
    enum gpu_peer answer = fake.access[fake.asked++ % 2];
    if (answer != GPU_PEER_ON)
        FAIL(err, ERROR_GPU, "peer access was refused");
    return answer;
}

const struct gpu_device *peer_pair_initiator(const struct peer_pair *pair) {
    return pair->read ? pair->to : pair->from;
}

bool peer_pair_make(struct peer_pair *pair, struct case_context *context, struct error *err) {
    (void)context;
    assert_true(pair->from != pair->to && pair->direct && pair->bytes == pair->window);
    return !fake.copy_errors || FAIL(err, ERROR_GPU, "out of memory");
}

void peer_pair_free(struct peer_pair *pair, struct shelf *shelf) {
    (void)pair, (void)shelf;
}

bool peer_pair_poison(struct peer_pair *pair, struct error *err) {
    (void)pair, (void)err;
    return true;
}

bool peer_pair_enqueue(struct peer_pair *pair, gpu_stream stream, int count, struct error *err) {
    (void)pair, (void)stream, (void)count, (void)err;
    return true;
}

bool peer_pair_verify(struct peer_pair *pair, struct verification *out, struct error *err) {
    (void)pair, (void)err;
    out->bad = fake.copies++ == fake.wrong_copy ? 7 : 0;
    snprintf(out->what, sizeof out->what, "memory of %s", pair->to->bdf);
    return true;
}

bool peer_exchange_make(const struct gpu_device *a, const struct gpu_device *b, struct peer_exchange **out,
                        struct error *err) {
    (void)a, (void)b;
    *out = NULL;
    return !fake.exchange_errors || FAIL(err, ERROR_GPU, "cannot launch");
}

void peer_exchange_free(struct peer_exchange *exchange) {
    (void)exchange;
}

bool peer_exchange_run(struct peer_exchange *exchange, const struct pingpong *plan,
                       struct peer_exchange_result *out, struct error *err) {
    (void)exchange, (void)plan;
    fake.exchanges++;
    *out = (struct peer_exchange_result){.ns = 800};
    return !fake.lost || FAIL(err, ERROR_VERIFY, "a number is lost");
}

void nccl_pair_check(struct case_context *context, const struct gpu_device *from, const struct gpu_device *to,
                     struct nccl_pair *out) {
    assert_true(from == &context->gpus[0] && to == &context->gpus[1]);
    fake.collectives++;
    *out = (struct nccl_pair){.verdict = fake.collective, .why = "what NCCL says"};
}

bool gpu_use(const struct gpu_device *device, struct error *err) {
    (void)device, (void)err;
    return true;
}

bool gpu_stream_make(gpu_stream *out, struct error *err) {
    (void)err;
    *out = NULL;
    return true;
}

void gpu_stream_free(gpu_stream stream) {
    (void)stream;
}

bool gpu_stream_wait(gpu_stream stream, struct error *err) {
    (void)stream, (void)err;
    return true;
}

/* ---- not for this test: the plan's part (test_p2p.c) ---- */

void p2p_gather(const struct node *node, struct p2p_party *out) {
    *out = (struct p2p_party){.node = node};
}

int p2p_paths(const struct p2p_party *party, struct p2p_path **out) {
    (void)party;
    *out = NULL;
    return 0;
}

bool p2p_is_judged(const struct p2p_party *party, const struct p2p_path *path) {
    (void)party, (void)path;
    return true;
}

struct instance *p2p_instance(const struct p2p_party *party, const struct p2p_path *path,
                              const struct metric *metric, enum level level, bool read,
                              struct instance_list *out) {
    (void)party, (void)path, (void)metric, (void)level, (void)read, (void)out;
    return NULL;
}

bool p2p_skip_all(const struct p2p_party *party, int gpus, const struct p2p_path *paths, int n_paths,
                  const struct metric *metric, struct instance_list *out) {
    (void)party, (void)gpus, (void)paths, (void)n_paths, (void)metric, (void)out;
    return true;
}

/* ---- climbing ---- */

static struct climb {
    bool good;
    double passed; /* -1: no sample */
    struct error err;
    js *detail;
} result;

/* As a pair that stands for others of its kind or not, in a round. */
static void climb_as(const char *there, const char *back, bool stands, int round) {
    struct gpu_device gpus[2] = {{.ordinal = 0, .bdf = "0000:01:00.0"},
                                 {.ordinal = 1, .bdf = "0000:02:00.0"}};
    struct samples samples = {0};
    js *attributes = js_new_object();
    js_set_string(attributes, "driver_status", there);
    js_set_string(attributes, "driver_status_back", back);
    js_set_bool(attributes, "collective", stands);
    struct case_context context = {.attributes = attributes,
                                   .gpus = gpus,
                                   .n_gpus = 2,
                                   .seed = 5,
                                   .round = round,
                                   .extra = js_new_object()};
    result = (struct climb){.detail = context.extra};
    result.good = sample(&context, &samples, &result.err);
    result.passed = samples.count > 0 ? samples.values[0] : -1;
    free(samples.values);
    js_free(attributes);
}

static void climb_with(const char *there, const char *back) {
    climb_as(there, back, true, 0);
}

static const char *verdict(enum p2p_rung rung) {
    return js_get_string(js_at(js_get(result.detail, "rungs"), (size_t)rung), "verdict", "");
}

static int begin(void **state) {
    (void)state;
    fake = (struct fake){.access = {GPU_PEER_ON, GPU_PEER_ON}, .wrong_copy = -1};
    return 0;
}

static int end(void **state) {
    (void)state;
    js_free(result.detail);
    result.detail = NULL;
    return 0;
}

/* ---- tests ---- */

static void all_is_well(void **state) {
    (void)state;
    climb_with("OK", "OK");
    assert_true(result.good);
    assert_int_equal(fake.copies, 8);
    assert_true(result.passed > 3.5 && result.passed < 4.5); /* the collective is not counted */
    assert_string_equal(verdict(RUNG_COLLECTIVE), "ok");
    assert_null(js_get(result.detail, "finding"));
    assert_string_equal(verdict(RUNG_EXCHANGE), "ok");
}

static void a_driver_that_does_not_say_stops_nobody(void **state) {
    (void)state;
    climb_with(NULL, NULL);
    assert_true(result.good);
    assert_string_equal(verdict(RUNG_STATUS), "unknown");
    assert_string_equal(verdict(RUNG_COPY), "ok");
}

static void no_p2p_is_no_failure(void **state) {
    (void)state;
    climb_with("CNS", "CNS");
    assert_true(result.good);
    assert_string_equal(js_get_string(result.detail, "finding", ""), "p2p.status");
    assert_string_equal(verdict(RUNG_ACCESS), "not reached");
    assert_int_equal(fake.asked + fake.copies + fake.exchanges, 0);
}

static void a_refused_mapping_is_a_finding(void **state) {
    (void)state;
    fake.access[1] = GPU_PEER_REFUSED;
    climb_with("OK", "OK");
    assert_true(result.good);
    assert_string_equal(js_get_string(result.detail, "finding", ""), "p2p.access");
    assert_int_equal(fake.copies, 0);
}

static void a_question_that_goes_wrong_is_an_error(void **state) {
    (void)state;
    fake.access[0] = GPU_PEER_FAILED;
    climb_with("OK", "OK");
    assert_true(!result.good && result.err.kind == ERROR_GPU);
    end(NULL);
    begin(NULL);
    fake.copy_errors = true;
    climb_with("OK", "OK");
    assert_true(!result.good && result.err.kind == ERROR_GPU);
    end(NULL);
    begin(NULL);
    fake.exchange_errors = true;
    climb_with("OK", "OK");
    assert_true(!result.good && result.err.kind == ERROR_GPU);
}

static void each_copy_counts(void **state) {
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        begin(NULL);
        fake.wrong_copy = way;
        climb_with("OK", "OK");
        assert_true(!result.good && result.err.kind == ERROR_VERIFY);
        assert_non_null(strstr(result.err.text, "p2p.copy"));
        assert_non_null(
            strstr(result.err.text, (way & 1) == 0 ? "memory of 0000:02:00.0" : "memory of 0000:01:00.0"));
        assert_int_equal(fake.exchanges, 0);
        assert_string_equal(verdict(RUNG_EXCHANGE), "not reached");
        end(NULL);
    }
    climb_with("OK", "OK");
}

static void a_lost_flag_fails_the_item(void **state) {
    (void)state;
    fake.lost = true;
    climb_with("OK", "OK");
    assert_true(!result.good && result.err.kind == ERROR_VERIFY);
    assert_non_null(strstr(result.err.text, "p2p.exchange: a number is lost"));
    assert_string_equal(verdict(RUNG_COPY), "ok");
}

/* Half a second a pair: not for every pair, nor in every round. */
static void few_pairs_try_the_collective(void **state) {
    (void)state;
    climb_as("OK", "OK", false, 0);
    assert_true(result.good && result.passed > 3.5 && result.passed < 4.5);
    assert_string_equal(verdict(RUNG_COLLECTIVE), "not tried");
    end(NULL);
    climb_as("OK", "OK", true, 1);
    assert_true(result.good);
    assert_string_equal(verdict(RUNG_COLLECTIVE), "not tried");
    end(NULL);
    assert_int_equal(fake.collectives, 0);
    fake.lost = true;
    climb_with("OK", "OK");
    assert_string_equal(verdict(RUNG_COLLECTIVE), "not reached");
    assert_int_equal(fake.collectives, 0);
}

static void what_the_collective_says(void **state) {
    (void)state;
    static const struct {
        enum nccl_pair_verdict says;
        bool good;
        enum error_kind kind;
        const char *verdict, *finding;
    } rows[] = {
        {NCCL_PAIR_ABSENT, true, ERROR_NONE, "unknown", ""},
        {NCCL_PAIR_WRONG, false, ERROR_VERIFY, "fail", "nccl.wrong"},
        {NCCL_PAIR_FAILED, false, ERROR_GPU, "unknown", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fake.collective = rows[i].says;
        climb_with("OK", "OK");
        assert_int_equal(result.good, rows[i].good);
        assert_int_equal(result.err.kind, rows[i].kind);
        assert_true(result.good || strstr(result.err.text, "what NCCL says") != NULL);
        assert_string_equal(verdict(RUNG_COLLECTIVE), rows[i].verdict);
        assert_string_equal(js_get_string(result.detail, "finding", ""), rows[i].finding);
        end(NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_is_well, begin, end),
        cmocka_unit_test_setup_teardown(a_driver_that_does_not_say_stops_nobody, begin, end),
        cmocka_unit_test_setup_teardown(no_p2p_is_no_failure, begin, end),
        cmocka_unit_test_setup_teardown(a_refused_mapping_is_a_finding, begin, end),
        cmocka_unit_test_setup_teardown(a_question_that_goes_wrong_is_an_error, begin, end),
        cmocka_unit_test_setup_teardown(each_copy_counts, begin, end),
        cmocka_unit_test_setup_teardown(a_lost_flag_fails_the_item, begin, end),
        cmocka_unit_test_setup_teardown(few_pairs_try_the_collective, begin, end),
        cmocka_unit_test_setup_teardown(what_the_collective_says, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
