/* SPDX-License-Identifier: Apache-2.0 */
/* Asking in a child: what it answers, and every way in which it does not. */
#include "unit/unit.h"

#include "base/clock.h"
#include "base/forked.h"
#include "base/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t patient = 20 * NS_PER_S;

static js *answers(void *argument) {
    js *o = js_new_object();
    puts("words of a library"); /* to nowhere: the answer has a way of its own */
    fflush(stdout);
    js_set_int(o, "twice", 2 * *(const int *)argument);
    return o;
}

static js *crashes(void *argument) {
    (void)argument;
    signal(SIGSEGV, SIG_DFL); /* the sanitizer's own handler would answer in its way */
    raise(SIGSEGV);
    return js_new_null();
}

static js *hangs(void *argument) {
    (void)argument;
    pause();
    return js_new_null();
}

static js *leaves(void *argument) {
    (void)argument;
    _exit(3);
}

static js *talks_too_much(void *argument) {
    (void)argument;
    js *list = js_new_array();
    char *line = malloc(1 << 20);
    memset(line, 'x', (1 << 20) - 1);
    line[(1 << 20) - 1] = '\0';
    for (int i = 0; i < 6; i++)
        js_append_string(list, line);
    free(line);
    return list;
}

static void refused(js *(*body)(void *), int64_t limit_ns, const char *why) {
    struct error err = {0};
    assert_null(forked_json(body, NULL, limit_ns, &err));
    if (strstr(err.text, why) == NULL)
        fail_msg("'%s' does not say '%s'", err.text, why);
}

static void an_answer(void **state) {
    (void)state;
    int number = 21;
    struct error err = {0};
    js *answer = forked_json(answers, &number, patient, &err);
    assert_non_null(answer);
    assert_int_equal(js_get_int(answer, "twice", 0), 42);
    js_free(answer);
}

static void no_answer(void **state) {
    (void)state;
    refused(crashes, patient, "killed by signal 11");
    refused(hangs, 100 * NS_PER_MS, "no answer within 0.1 s");
    refused(leaves, patient, "status 3 and no answer");
    refused(talks_too_much, patient, "over 4 MiB");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer),
        cmocka_unit_test(no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
