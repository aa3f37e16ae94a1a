/* SPDX-License-Identifier: Apache-2.0 */
/* Claims and places as the page shows them, from data as compare gives it. */
#include "report/report.h"

#include "base/files.h"
#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char run_text[] =
    "{\"type\":\"header\",\"schema\":\"gpuvet.run/1\",\"node\":\"node1\",\"series\":[{\"key\":\"a.b@1/c{;}@host\",\"unit\":\"us\","
    "\"better\":\"lower\",\"statistic\":\"\",\"n\":1,\"delta_rel\":0.02,\"delta_abs\":0,\"between_rel\":0,\"class\":\"primary\"}]}\n"
    "{\"type\":\"record\",\"target\":\"host\",\"round\":0,\"case\":\"a.b\",\"version\":1,\"metric\":\"c\",\"where\":{},\"params\":{},"
    "\"outcome\":\"ok\",\"samples\":[2.0]}\n";

static const char comparison_text[] =
    "{\"schema\":\"gpuvet.compare/1\",\"exit_status\":0,\"verdicts\":{\"same\":1},\"family\":{\"size\":1},\"series\":[],"
    "\"claims\":[{\"name\":\"C-states <1>\",\"verdict\":\"confirmed\",\"ratio\":0.5,\"low\":0.4,\"high\":0.6},"
    "{\"name\":\"MaxReadReq\",\"verdict\":\"not visible\",\"reason\":\"only root can see it\"}]}";

static const char places_text[] =
    "[{\"target\":\"lxc:<b>\",\"against\":\"host\",\"rounds\":12,\"differs\":[\"cpuset\"],\"series\":[{\"key\":\"k\",\"label\":\"a.b in "
    "lxc\",\"unit\":\"us\",\"class\":\"primary\",\"verdict\":\"regressed\",\"ratio\":1.25,\"low\":1.2,\"high\":1.3,\"delta\":0.02,"
    "\"here\":2,\"there\":2.5,\"cause\":\"its cpuset is of the other node\"}]}]";

static js *parse(const char *text) {
    struct error err = {0};
    js *value = js_parse(text, strlen(text), &err);
    assert_non_null(value);
    return value;
}

/* A page of the run above; release with free. */
static char *page_of(const js *comparison, const js *places, int *status) {
    struct error err = {0};
    struct text page = {0};
    struct strings notes = {0};
    struct run run;
    char folder[] = "/tmp/gpuvet-report-XXXXXX";
    char path[64];
    char command[80];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.jsonl", folder);
    assert_true(file_replace(path, run_text, strlen(run_text), &err));
    assert_true(run_read(path, &run, &err));
    struct report_input input = {
        .after = &run, .n_after = 1, .comparison = comparison, .places = places, .folder = folder};
    assert_true(report_write(&input, status, &notes, &err));
    snprintf(path, sizeof path, "%s/index.html", folder);
    assert_true(file_read(path, 1 << 24, &page, &err));
    run_free(&run);
    strings_free(&notes);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    return text_take(&page);
}

static void has(const char *page, const char *words) {
    if (strstr(page, words) == NULL)
        fail_msg("'%s' is not in the page", words);
}

static void test_claims(void **state) {
    (void)state;
    js *comparison = parse(comparison_text);
    int status = -1;
    char *page = page_of(comparison, NULL, &status);
    assert_int_equal(status, 0);
    has(page, "C-states &lt;1&gt;");
    has(page, "<span class=\"pill good\">confirmed</span>");
    has(page, "only root can see it");
    assert_null(strstr(page, "None is judged here"));
    free(page);
    js_remove(comparison, "claims");
    page = page_of(comparison, NULL, &status);
    has(page, "None is judged here");
    free(page);
    js_free(comparison);
}

static void test_places(void **state) {
    (void)state;
    js *places = parse(places_text);
    int status = -1;
    char *page = page_of(NULL, places, &status);
    has(page, "lxc:&lt;b&gt;");
    has(page, "its cpuset is of the other node");
    has(page, "+25.00 %");
    assert_null(strstr(page, "This run has one place only"));
    free(page);
    js_free(places);
}

static void test_nothing_known(void **state) {
    (void)state;
    js *comparison =
        parse("{\"exit_status\":\"x\",\"series\":[1,null,{}],\"failures\":7,\"claims\":[3],\"verdicts\":[]}");
    js *places = parse("[1,{},{\"series\":[null]}]");
    int status = -1;
    char *page = page_of(comparison, places, &status);
    has(page, "id=\"verdict\"");
    free(page);
    js_free(comparison);
    js_free(places);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_nothing_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
