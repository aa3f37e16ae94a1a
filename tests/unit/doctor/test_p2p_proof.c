/* SPDX-License-Identifier: Apache-2.0 */
/* What records of P2P items prove, and what they do not. */
#include "unit/unit.h"

#include "cli/p2p_proof.c"

#include <stdlib.h>

bool doctor_view_open(const struct doctor_view_options *options, struct doctor_view *out, struct error *err) {
    (void)options;
    *out = (struct doctor_view){0};
    return FAIL(err, ERROR_SYSTEM, "not here");
}

void doctor_view_close(struct doctor_view *view) {
    (void)view;
}

static int written;

bool run_writer_add(struct run_writer *writer, const js *line, bool sync, struct error *err) {
    (void)writer, (void)line, (void)sync, (void)err;
    written++;
    return true;
}

static js *parse(const char *text) {
    struct error err = {0};
    js *value = js_parse(text, strlen(text), &err);
    assert_non_null(value);
    return value;
}

/* The finding that one record proves; "" none. */
static const char *proved_by(const char *text, js *proof) {
    js *record = parse(text);
    p2p_proof_take(proof, record);
    js_free(record);
    return js_length(proof) == 0 ? "" : js_get_string(js_at(proof, js_length(proof) - 1), "finding", "");
}

#define PLACE "\"attributes\":{\"from_bdf\":\"0000:01:00.0\",\"to_bdf\":\"0000:02:00.0\"},"

static void each_record_proves_its_own(void **state) {
    (void)state;
    static const struct {
        const char *record, *finding;
    } rows[] = {
        {"{\"case\":\"p2p.write\"," PLACE "\"outcome\":\"ok\",\"verify\":{\"bad_words\":0}}", ""},
        {"{\"case\":\"p2p.write\"," PLACE "\"outcome\":\"fail\",\"verify\":{\"bad_words\":4}}", "p2p.copy"},
        {"{\"case\":\"p2p.write\"," PLACE
         "\"params\":{\"corrupt\":\"word\"},\"outcome\":\"fail\",\"verify\":{\"bad_words\":4}}",
         ""},
        {"{\"case\":\"p2p.write\"," PLACE "\"outcome\":\"fail\",\"reason\":\"impossible\"}", ""},
        {"{\"case\":\"p2p.read\"," PLACE "\"outcome\":\"hang\",\"reason\":\"no end\"}", "p2p.hang"},
        {"{\"case\":\"copy.h2d\",\"outcome\":\"hang\"}", ""},
        {"{\"case\":\"nccl.all_reduce\"," PLACE "\"outcome\":\"hang\",\"reason\":\"no end\"}", "nccl.hang"},
        {"{\"case\":\"decode.step\"," PLACE "\"outcome\":\"hang\",\"reason\":\"no end\"}", "nccl.hang"},
        {"{\"case\":\"nccl.fault\",\"where\":{},\"outcome\":\"hang\",\"reason\":\"no end\"}", ""},
        {"{\"case\":\"nccl.fault\",\"where\":{\"gpus\":\"GPU-a+GPU-b\"},\"outcome\":\"hang\"}", "nccl.hang"},
        {"{\"case\":\"nccl.reduce\"," PLACE "\"outcome\":\"fail\",\"verify\":{\"bad_words\":4}}",
         "nccl.wrong"},
        {"{\"case\":\"nccl.reduce\"," PLACE
         "\"outcome\":\"error\",\"reason\":\"NCCL: x; out of space in /dev/shm (64 MiB)\"}",
         "nccl.no-space"},
        {"{\"case\":\"nccl.reduce\"," PLACE "\"outcome\":\"skip\",\"reason\":\"NCCL is not installed\"}", ""},
        {"{\"case\":\"p2p.latency\"," PLACE "\"metric\":\"flag\",\"outcome\":\"fail\",\"reason\":\"lost\"}",
         "p2p.exchange"},
        {"{\"case\":\"p2p.ladder\"," PLACE "\"outcome\":\"fail\",\"detail\":{\"finding\":\"p2p.copy\"}}",
         "p2p.copy"},
        {"{\"case\":\"p2p.ladder\"," PLACE "\"outcome\":\"ok\",\"detail\":{\"finding\":\"p2p.access\"}}",
         "p2p.access"},
        {"{\"case\":\"p2p.ladder\"," PLACE "\"outcome\":\"ok\",\"detail\":{\"finding\":\"p2p.status\"}}", ""},
        {"{\"case\":\"p2p.all\",\"params\":{\"access\":\"write\"},\"outcome\":\"ok\",\"detail\":{\"collapsed\":true}}",
         "p2p.write-collapse"},
        {"{\"case\":\"p2p.all\",\"params\":{\"access\":\"read\"},\"outcome\":\"ok\",\"detail\":{\"collapsed\":true}}",
         ""},
        {"{\"case\":\"p2p.write\"," PLACE "\"outcome\":\"skip\",\"reason\":\"CNS\"}", ""},
        {"{\"case\":\"p2p.write\",\"outcome\":7,\"detail\":[],\"verify\":3}", ""},
        {"{\"case\":\"p2p.write\"," PLACE "\"outcome\":\"error\",\"reason\":\"no P2P: refused\"}",
         "p2p.access"},
        {"{\"case\":\"p2p.write\"," PLACE
         "\"outcome\":\"skip\",\"reason\":\"the driver offers no P2P: CNS\"}",
         ""},
        {"[]", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        js *proof = js_new_array();
        const char *finding = proved_by(rows[i].record, proof);
        if (strcmp(finding, rows[i].finding) != 0)
            fail_msg("row %zu proves '%s', not '%s'", i, finding, rows[i].finding);
        js_free(proof);
    }
}

/* What was asked to go wrong is never taken for a fault of the machine unseen. */
static void a_fault_on_purpose_says_so(void **state) {
    (void)state;
    js *proof = js_new_array();
    proved_by(
        "{\"case\":\"nccl.fault\",\"where\":{\"gpus\":\"GPU-a+GPU-b\"},\"params\":{\"how\":\"missing-rank\"},"
        "\"attributes\":{\"bdfs\":[\"0000:01:00.0\",\"0000:02:00.0\"]},\"outcome\":\"hang\",\"reason\":\"no end\","
        "\"node\":{\"utilization_percent\":{\"GPU-a\":null,\"GPU-b\":100}}}",
        proof);
    assert_string_equal(js_get_string(js_at(proof, 0), "why", ""),
                        "nccl.fault (asked to go wrong: missing-rank): no end; a GPU is still 100 % busy");
    assert_string_equal(js_get_string(js_at(proof, 0), "from", ""), "0000:01:00.0");
    js_free(proof);
}

static void a_pair_is_told_once(void **state) {
    (void)state;
    js *proof = js_new_array();
    for (int round = 0; round < 3; round++)
        proved_by("{\"case\":\"p2p.write\"," PLACE "\"outcome\":\"hang\",\"reason\":\"no end\"}", proof);
    assert_int_equal(js_length(proof), 1);
    assert_string_equal(js_get_string(js_at(proof, 0), "from", ""), "0000:01:00.0");
    assert_string_equal(js_get_string(js_at(proof, 0), "why", ""), "p2p.write: no end");
    proved_by(
        "{\"case\":\"p2p.write\",\"attributes\":{\"from_bdf\":\"0000:02:00.0\",\"to_bdf\":\"0000:01:00.0\"},"
        "\"outcome\":\"hang\"}",
        proof);
    assert_int_equal(js_length(proof), 2);
    js_free(proof);
}

static void no_proof_asks_nobody(void **state) {
    (void)state;
    struct error err = {0};
    js *proof = js_new_array();
    assert_true(p2p_proof_find(proof, "host", NULL, &err));
    proved_by("{\"case\":\"p2p.write\"," PLACE "\"outcome\":\"hang\"}", proof);
    assert_true(p2p_proof_find(proof, "host", NULL, &err)); /* this machine cannot be read: the run goes on */
    assert_int_equal(written, 0);
    js_free(proof);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_record_proves_its_own),
        cmocka_unit_test(a_fault_on_purpose_says_so),
        cmocka_unit_test(a_pair_is_told_once),
        cmocka_unit_test(no_proof_asks_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
