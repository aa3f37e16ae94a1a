/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "run/channel.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pair {
    struct channel channel; /* reads what is written to `feed` */
    int feed;
};

static struct pair make(void) {
    int ends[2];
    struct pair p;
    assert_int_equal(pipe(ends), 0);
    channel_open(&p.channel, ends[0], -1);
    p.feed = ends[1];
    return p;
}

static void feed(struct pair *p, const char *s) {
    assert_int_equal(write(p->feed, s, strlen(s)), (ssize_t)strlen(s));
}

static js *next(struct pair *p, struct error *err) {
    assert_true(channel_fill(&p->channel, err));
    return channel_next(&p->channel, err);
}

static void done(struct pair *p) {
    channel_close(&p->channel);
    close(p->feed);
}

static void whole_and_split_lines(void **state) {
    (void)state;
    struct pair p = make();
    struct error err = {0};
    feed(&p, "{\"type\":\"beat\",\"n\":1}\n{\"type\":\"bye\",");
    js *first = next(&p, &err);
    assert_string_equal(js_get_string(first, "type", ""), "beat");
    js_free(first);
    assert_null(next(&p, &err));
    assert_int_equal(err.kind, ERROR_NONE);
    feed(&p, "\"n\":2}\n");
    js *second = next(&p, &err);
    assert_string_equal(js_get_string(second, "type", ""), "bye");
    js_free(second);
    done(&p);
}

static void refuses(const char *input, const char *words) {
    struct pair p = make();
    struct error err = {0};
    feed(&p, input);
    assert_null(next(&p, &err));
    assert_int_equal(err.kind, ERROR_DATA);
    assert_non_null(strstr(err.text, words));
    done(&p);
}

static void hostile_lines(void **state) {
    (void)state;
    refuses("garbage\n", "no valid JSON");
    refuses("{\"type\":\"beat\",\"n\":2}\n", "message 1");
    refuses("{\"type\":\"beat\"}\n", "message 1");
    refuses("{\"n\":1}\n", "no type");
    refuses("[1]\n", "message 1");
    refuses("\n", "no valid JSON");
}

static void endless_line(void **state) {
    (void)state;
    struct pair p = make();
    struct error err = {0};
    char chunk[4096];
    memset(chunk, 'x', sizeof chunk);
    js *message = NULL;
    for (int i = 0; i < 600 && err.kind == ERROR_NONE; i++) {
        assert_int_equal(write(p.feed, chunk, sizeof chunk), sizeof chunk);
        message = next(&p, &err);
    }
    assert_null(message);
    assert_non_null(strstr(err.text, "longer than 1 MiB"));
    done(&p);
}

static void sends_numbered(void **state) {
    (void)state;
    int ends[2];
    struct channel out;
    struct channel in;
    struct error err = {0};
    assert_int_equal(pipe(ends), 0);
    channel_open(&out, -1, ends[1]);
    channel_open(&in, ends[0], -1);
    for (int i = 0; i < 3; i++) {
        js *m = message_new("beat");
        assert_true(channel_send(&out, m, 1000000000, &err));
        js_free(m);
    }
    assert_true(channel_fill(&in, &err));
    for (int i = 0; i < 3; i++) {
        js *m = channel_next(&in, &err);
        assert_non_null(m);
        assert_int_equal(js_get_int(m, "n", 0), i + 1);
        js_free(m);
    }
    channel_close(&out);
    channel_close(&in);
}

static void gives_up_on_a_peer_that_does_not_read(void **state) {
    (void)state;
    int ends[2];
    struct channel out;
    struct error err = {0};
    assert_int_equal(pipe(ends), 0);
    channel_open(&out, -1, ends[1]);
    bool good = true;
    for (int i = 0; i < 100000 && good; i++) {
        js *m = message_new("beat");
        good = channel_send(&out, m, 1000000, &err);
        js_free(m);
    }
    assert_false(good);
    assert_non_null(strstr(err.text, "does not read"));
    channel_close(&out);
    close(ends[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_and_split_lines),
        cmocka_unit_test(hostile_lines),
        cmocka_unit_test(endless_line),
        cmocka_unit_test(sends_numbered),
        cmocka_unit_test(gives_up_on_a_peer_that_does_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
