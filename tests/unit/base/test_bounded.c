/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that hang or kill who asks them do not stop the others. */
#include "base/bounded.h"

#include "base/clock.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/unit.h"

enum { HANGS = 2, DIES = 4, EXITS = 5, COUNT = 8 };

static void one(void *argument, size_t index, struct text *answer) {
    const int *misbehave = argument;
    if (*misbehave && index == HANGS)
        for (;;)
            pause();
    if (*misbehave && index == DIES) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (*misbehave && index == EXITS)
        _exit(0);
    text_addf(answer, "%zu", index * index);
}

static void check(int misbehave) {
    struct bounded_answer *answers = bounded_each(one, &misbehave, COUNT, 300 * NS_PER_MS, 20 * NS_PER_S);
    for (size_t i = 0; i < COUNT; i++) {
        bool bad = misbehave && (i == HANGS || i == DIES || i == EXITS);
        assert_true(answers[i].tried);
        if (bad) {
            assert_null(answers[i].text);
            assert_int_equal(answers[i].how, i == HANGS ? BOUNDED_LATE : BOUNDED_DIED);
        } else {
            assert_non_null(answers[i].text);
            assert_int_equal(atoi(answers[i].text), (int)(i * i));
        }
    }
    bounded_answers_free(answers, COUNT);
}

static void well(void **state) {
    (void)state;
    check(0);
}

static void ill(void **state) {
    (void)state;
    check(1);
}

static void all_hang(void *argument, size_t index, struct text *answer) {
    (void)argument, (void)index, (void)answer;
    for (;;)
        pause();
}

/* The time in all holds, and what had no turn is not called a hang. */
static void no_time(void **state) {
    (void)state;
    struct bounded_answer *answers = bounded_each(all_hang, NULL, 3, 200 * NS_PER_MS, 250 * NS_PER_MS);
    assert_true(answers[0].tried);
    assert_int_equal(answers[0].how, BOUNDED_LATE);
    assert_false(answers[2].tried);
    bounded_answers_free(answers, 3);
    answers = bounded_each(all_hang, NULL, 0, 1, 1);
    bounded_answers_free(answers, 0);
}

static void talk(void *argument, int fd) {
    (void)argument;
    for (;;)
        if (write(fd, "0123456789", 10) != 10)
            _exit(0);
}

/* One that says too much is cut off, and what it said until then is there. */
static void talkative(void **state) {
    (void)state;
    struct text said = {0};
    struct bounded_end end = bounded_ask(talk, NULL, 5 * NS_PER_S, 20 * NS_PER_S, BOUNDED_MOST, &said);
    assert_int_equal(end.how, BOUNDED_TOO_MUCH);
    assert_true(said.length > 0 && said.length < 64 << 20);
    text_free(&said);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(well),
        cmocka_unit_test(ill),
        cmocka_unit_test(no_time),
        cmocka_unit_test(talkative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
