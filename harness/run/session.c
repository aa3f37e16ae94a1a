/* SPDX-License-Identifier: Apache-2.0 */
#include "run/session.h"

#include "base/build.h"
#include "base/clock.h"
#include "run/who.h"
#include "run/worker.h"
#include "system/activity.h"
#include "target/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ERRORS_KEPT = 8192, READS_AT_ONCE = 256 };
static const int64_t hello_limit_ns = 90 * NS_PER_S; /* facts include starting CUDA on every GPU */
static const int64_t beat_every_ns = NS_PER_S;
static const int64_t silence_limit_ns = 8 * NS_PER_S;
/* A verdict may take two seconds; the supervisor gives its own right at the deadline. */
static const int64_t verdict_grace_ns = 2 * NS_PER_S - 50 * NS_PER_MS;
static const int64_t after_hang_limit_ns = 30 * NS_PER_S; /* reaping, and asking a driver that may be sick */
static const int64_t send_limit_ns = 5 * NS_PER_S;
static const int64_t chunk_limit_ns = 30 * NS_PER_S; /* of the program, over a slow line */
static const int64_t park_limit_ns = 15 * NS_PER_S;
static const int64_t doctor_limit_ns = 75 * NS_PER_S;

void item_answer_free(struct item_answer *answer) {
    js_free(answer->record);
    js_free(answer->node);
    free(answer->output);
    *answer = (struct item_answer){0};
}

static void keep_errors(struct session *s) {
    char chunk[4096];
    ssize_t n = -1;
    /* One that never stops must not keep us from looking at the clock. */
    for (int i = 0; i < READS_AT_ONCE && s->process.errors >= 0 &&
                    (n = read(s->process.errors, chunk, sizeof chunk)) > 0;
         i++) {
        size_t room = ERRORS_KEPT - s->errors.length;
        text_add_bytes(&s->errors, chunk, (size_t)n < room ? (size_t)n : room);
    }
    if (s->process.errors >= 0 && n == 0) {
        close(s->process.errors);
        s->process.errors = -1;
    }
}

/* The worker's last words, for an error's text. */
static const char *last_words(struct session *s) {
    keep_errors(s);
    char *text = s->errors.data;
    if (text == NULL)
        return "";
    text = text_trim(text);
    const char *line = strrchr(text, '\n');
    return line != NULL ? line + 1 : text;
}

enum wait_outcome { WAIT_MESSAGE, WAIT_TIMEOUT, WAIT_ENDED, WAIT_BROKEN, WAIT_INTERRUPTED };

/* Waits for one message until `end` (monotonic ns). */
static enum wait_outcome next_message(struct session *s, int64_t end, struct interrupt *interrupt,
                                      js **message, struct error *err) {
    struct clock clock = clock_real();
    for (;;) {
        *message = channel_next(&s->channel, err);
        if (*message != NULL)
            return WAIT_MESSAGE;
        if (err->kind != ERROR_NONE)
            return WAIT_BROKEN;
        if (s->channel.ended)
            return WAIT_ENDED;
        int64_t left = end - clock_now(&clock);
        if (left <= 0)
            return WAIT_TIMEOUT;
        struct pollfd p[3] = {{.fd = s->channel.in, .events = POLLIN},
                              {.fd = s->process.errors, .events = POLLIN},
                              {.fd = interrupt->fd, .events = POLLIN}};
        poll(p, 3, (int)(left / NS_PER_MS) + 1);
        if (interrupt_came(interrupt))
            return WAIT_INTERRUPTED;
        keep_errors(s);
        if (!channel_fill(&s->channel, err))
            return WAIT_BROKEN;
    }
}

static void end_session(struct session *s, int64_t patience_ns) {
    channel_close(&s->channel);
    s->process.to = s->process.from = -1; /* the channel owned them */
    spawned_end(&s->process, patience_ns, NULL);
    text_free(&s->errors);
    js_free(s->facts);
    *s = (struct session){0};
}

/* The next message as one of `type`; anything else, or none, is a failure. Owned. */
static js *expect_message(struct session *s, const char *type, int64_t limit_ns, struct interrupt *interrupt,
                          struct error *err) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + limit_ns;
    for (;;) {
        js *message = NULL;
        enum wait_outcome got = next_message(s, end, interrupt, &message, err);
        if (got == WAIT_MESSAGE && strcmp(js_get_string(message, "type", ""), type) == 0)
            return message;
        bool beat = got == WAIT_MESSAGE && strcmp(js_get_string(message, "type", ""), "beat") == 0;
        js_free(message);
        if (beat)
            continue;
        if (got == WAIT_INTERRUPTED)
            FAIL(err, ERROR_INTERRUPTED, "interrupted");
        else if (got == WAIT_TIMEOUT)
            FAIL(err, ERROR_SYSTEM, "the worker did not answer within %.0f s", (double)limit_ns / 1e9);
        else if (got == WAIT_ENDED)
            FAIL(err, ERROR_SYSTEM, "the worker is gone: %s", last_words(s));
        else
            FAIL(err, ERROR_DATA, "the worker broke the protocol while '%s' was waited for", type);
        return NULL;
    }
}

static bool send_word(struct session *s, const char *word, struct error *err) {
    js *message = message_new(word);
    bool good = channel_send(&s->channel, message, send_limit_ns, err);
    js_free(message);
    return good;
}

static bool greet(struct session *s, bool facts, struct interrupt *interrupt, struct error *err) {
    struct clock clock = clock_real();
    js *hello = NULL;
    enum wait_outcome got = next_message(s, clock_now(&clock) + hello_limit_ns, interrupt, &hello, err);
    if (got == WAIT_INTERRUPTED)
        return FAIL(err, ERROR_INTERRUPTED, "interrupted");
    if (got == WAIT_TIMEOUT)
        return FAIL(err, ERROR_SYSTEM, "the worker did not greet within %.0f s",
                    (double)hello_limit_ns / 1e9);
    if (got == WAIT_BROKEN) {
        struct error broken = *err;
        return FAIL(err, ERROR_DATA, "the worker breaks the protocol as it greets: %.900s", broken.text);
    }
    if (got != WAIT_MESSAGE)
        return FAIL(err, ERROR_SYSTEM, "the worker ended before it greeted: %s", last_words(s));
    bool good = strcmp(js_get_string(hello, "type", ""), "hello") == 0 &&
                js_get_int(hello, "protocol", 0) == WORKER_PROTOCOL;
    if (!good)
        FAIL(err, ERROR_DATA, "the worker does not speak protocol %d", WORKER_PROTOCOL);
    else if (strcmp(js_get_string(hello, "build_id", ""), build_id()) != 0)
        good = FAIL(err, ERROR_DATA, "the worker is another build (%s, this is %s)",
                    js_get_string(hello, "build_id", "?"), build_id());
    if (good && facts)
        s->facts = js_copy(js_get(hello, "facts"));
    js_free(hello);
    return good;
}

/* Where no file could be made: what takes the program from its stdin, then the program. True also when the
 * other side is gone, whose last words say more. */
static bool send_program(struct session *s, const char *script, struct interrupt *interrupt,
                         struct error *err) {
    char chunk[65536];
    ssize_t n = 0;
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (self < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot read this program: %s", strerror(errno));
    bool good = channel_send_bytes(&s->channel, script, strlen(script), chunk_limit_ns, err);
    while (good && (n = read(self, chunk, sizeof chunk)) > 0) {
        good = channel_send_bytes(&s->channel, chunk, (size_t)n, chunk_limit_ns, err);
        if (good && interrupt_came(interrupt))
            good = FAIL(err, ERROR_INTERRUPTED, "interrupted");
    }
    if (good && n < 0)
        good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot read this program: %s", strerror(errno));
    close(self);
    if (!good && err->native == EPIPE) {
        error_clear(err);
        good = true;
    }
    return good;
}

/* A way that ends in "Permission denied" (a folder without exec) says nothing against the next one. */
static bool start_one_way(struct session *s, const struct target *target, int way, bool facts,
                          struct interrupt *interrupt, bool *final, struct error *err) {
    struct target_start start;
    struct strings options = {0};
    if (facts)
        strings_add(&options, "--facts");
    bool good = target_bring(target, way, &options, &start, err);
    strings_free(&options);
    /* ssh's own status for a connection that does not come about, or no answer at all: another folder would
     * not help. */
    bool unreachable =
        !good && (err->native == HELPER_TOO_LATE || (target->kind == TARGET_SSH && err->native == 255));
    *final = !good && (err->kind == ERROR_INTERRUPTED || unreachable);
    if (!good)
        return RELAY(err);
    bool host = target->kind == TARGET_HOST || target->kind == TARGET_LIKE;
    good = spawn_with(&start.argv, host ? NULL : &target->environment, &s->process, err);
    if (good) {
        channel_open(&s->channel, s->process.from, s->process.to);
        s->open = true;
        good = (start.script == NULL || send_program(s, start.script, interrupt, err)) &&
               greet(s, facts, interrupt, err);
        *final = good || err->kind != ERROR_SYSTEM || !s->channel.ended;
        if (!good)
            end_session(s, 0);
    }
    if (good) /* it removed its file before it said a word */
        undo_forget(target->undo, start.undo_id);
    else
        target_withdraw(target, &start, err);
    target_start_free(&start);
    return good || RELAY(err);
}

static bool wake(struct session *s, struct interrupt *interrupt, struct error *err) {
    s->parked = false;
    if (send_word(s, "wake", err) && greet(s, false, interrupt, err))
        return true;
    end_session(s, 0);
    return RELAY(err);
}

/* The way that led in last time first: what refused before would only cost its time again. */
static bool start_some_way(struct session *s, struct target *target, bool facts, struct interrupt *interrupt,
                           struct error *err) {
    struct error folder = {0};
    struct error without = {0};
    int n = target_ways(target);
    bool final = false;
    for (int i = 0; i < n && !final; i++) {
        int way = i == 0 ? target->way : i <= target->way ? i - 1 : i;
        error_clear(err);
        if (start_one_way(s, target, way, facts, interrupt, &final, err)) {
            target->way = way;
            return true;
        }
        bool last = way + 1 == n;
        *(last ? &without : &folder) = *err;
        if (final && !last)
            return RELAY(err);
    }
    /* The last way needs no folder: what was wrong with those is the first to mend. */
    if (folder.kind == ERROR_SYSTEM && without.kind == ERROR_SYSTEM)
        FAIL_NATIVE(err, ERROR_SYSTEM, without.native, "%.400s; nor without a file: %.400s", folder.text,
                    without.text);
    return RELAY(err);
}

bool session_open(struct session *s, struct target *target, bool facts, struct interrupt *interrupt,
                  struct error *err) {
    if (s->parked && (wake(s, interrupt, err) || err->kind == ERROR_INTERRUPTED))
        return err->kind == ERROR_NONE;
    *s = (struct session){0};
    return start_some_way(s, target, facts, interrupt, err) || error_context(err, "%s", target->name);
}

void session_park(struct session *s, struct interrupt *interrupt) {
    struct error err = {0};
    if (!s->open || s->parked)
        return;
    js *answer = NULL;
    if (send_word(s, "park", &err))
        answer = expect_message(s, "parking", park_limit_ns, interrupt, &err);
    js_free(answer);
    answer = NULL;
    if (err.kind == ERROR_NONE) {
        s->channel.next_in = s->channel.next_out = 1; /* a new process begins to count */
        answer = expect_message(s, "parked", park_limit_ns, interrupt, &err);
    }
    s->parked = answer != NULL;
    js_free(answer);
    if (!s->parked)
        end_session(s, 0);
}

js *session_doctor(struct session *s, struct interrupt *interrupt, struct error *err) {
    if (!send_word(s, "doctor", err))
        return NULL;
    js *answer = expect_message(s, "doctor", doctor_limit_ns, interrupt, err);
    js *found = js_is_object(js_get(answer, "doctor")) ? js_copy(js_get(answer, "doctor")) : NULL;
    if (answer != NULL && found == NULL)
        FAIL(err, ERROR_DATA, "%s", js_get_string(answer, "reason", "doctor gave no findings"));
    js_free(answer);
    return found;
}

static void fail_answer(struct item_answer *answer, const char *outcome, const char *reason) {
    snprintf(answer->outcome, sizeof answer->outcome, "%s", outcome);
    snprintf(answer->reason, sizeof answer->reason, "%s", reason);
}

static void take_done(struct item_answer *answer, const js *done) {
    fail_answer(answer, js_get_string(done, "outcome", "error"), js_get_string(done, "reason", ""));
    const char *output = js_get_string(done, "stderr", NULL);
    if (output != NULL)
        answer->output = text_printable(output);
    answer->quota_us = js_get_int(done, "quota_us", 0);
    answer->unkillable = js_get_bool(done, "unkillable", false);
    char *quota = text_printable(js_get_string(done, "quota", ""));
    snprintf(answer->quota, sizeof answer->quota, "%s", quota);
    free(quota);
}

/* Handles one message of the item. True when it was the last. */
static bool take_message(struct item_answer *answer, js *message, int64_t id, struct error *err) {
    const char *type = js_get_string(message, "type", "");
    static const char *const harmless[] = {"beat", "started", "progress"};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (strcmp(type, harmless[i]) == 0)
            return false;
    if (js_get_int(message, "id", -1) != id)
        return FAIL(err, ERROR_DATA, "the worker speaks of an item that does not run");
    if (strcmp(type, "record") == 0) {
        js_free(answer->record);
        answer->record = js_keep(message);
        return false;
    }
    if (strcmp(type, "done") != 0)
        return FAIL(err, ERROR_DATA, "the worker sent an unknown message '%s'", type);
    take_done(answer, message);
    return true;
}

/* How the wait for an item ended, when not with "done". */
static void judge_loss(struct session *s, enum wait_outcome got, const struct error *err,
                       struct item_answer *answer) {
    char text[1024];
    if (got == WAIT_INTERRUPTED) {
        fail_answer(answer, "error", "interrupted");
    } else if (got == WAIT_TIMEOUT) {
        fail_answer(answer, "hang", "the worker itself no longer answers");
    } else if (got == WAIT_BROKEN) {
        snprintf(text, sizeof text, "the worker broke the protocol: %.900s", err->text);
        fail_answer(answer, "error", text);
    } else {
        snprintf(text, sizeof text, "the worker ended in the middle: %.900s", last_words(s));
        fail_answer(answer, "error", text);
    }
    s->lost = got == WAIT_TIMEOUT;
    if (!s->lost)
        end_session(s, got == WAIT_INTERRUPTED ? 2 * NS_PER_S : 0);
}

void session_after_hang(struct session *s, const js *item, struct interrupt *interrupt,
                        struct item_answer *answer) {
    struct error err = {0};
    if (s->lost) {
        end_session(s, 0);
        return;
    }
    js *said = expect_message(s, "node", after_hang_limit_ns, interrupt, &err);
    if (said != NULL && js_get_int(said, "id", -1) == js_get_int(item, "id", -1) &&
        js_is_object(js_get(said, "node"))) {
        answer->node = js_copy(js_get(said, "node"));
        answer->unkillable = js_get_bool(said, "unkillable", false);
        js_free(said);
        return;
    }
    answer->node = js_new_object();
    js_set_string(answer->node, "reason",
                  said != NULL ? "the worker speaks of another item than the one that hung" : err.text);
    js_free(said);
    end_session(s, 0);
}

/* How long ago the deadline of an item begun at `start` was. */
static double ms_after_deadline(const js *item, int64_t start) {
    struct clock clock = clock_real();
    return (double)(clock_now(&clock) - start) / 1e6 - (double)js_get_int(item, "deadline_ms", 0);
}

/* Of a worker that was lost nobody else can say it: what held this process back. */
static void look_at_own_quota(int64_t throttled_ns, struct item_answer *answer) {
    int64_t now = throttled_ns >= 0 ? activity_throttled_ns("") : -1;
    if (now <= throttled_ns)
        return;
    answer->quota_us = (now - throttled_ns) / NS_PER_US;
    who_throttles(answer->quota, sizeof answer->quota);
}

bool session_run(struct session *s, js *item, struct interrupt *interrupt, struct item_answer *answer) {
    struct clock clock = clock_real();
    struct error err = {0};
    bool quiet = js_get_bool(item, "quiet", false);
    int64_t id = js_get_int(item, "id", -1);
    *answer = (struct item_answer){0};
    int64_t throttled_ns = activity_throttled_ns("");
    int64_t start = clock_now(&clock);
    enum wait_outcome got = channel_send(&s->channel, item, send_limit_ns, &err) ? WAIT_MESSAGE : WAIT_ENDED;
    int64_t end = start + js_get_int(item, "deadline_ms", 0) * NS_PER_MS + verdict_grace_ns;
    int64_t heard = start;
    int64_t said = heard;
    while (got == WAIT_MESSAGE) {
        js *message = NULL;
        int64_t until = quiet || said + beat_every_ns > end ? end : said + beat_every_ns;
        got = next_message(s, until, interrupt, &message, &err);
        int64_t now = clock_now(&clock);
        if (got == WAIT_MESSAGE) {
            heard = now;
            bool last = take_message(answer, message, id, &err);
            js_free(message);
            answer->verdict_ms = ms_after_deadline(item, start);
            if (last)
                return true;
            if (err.kind != ERROR_NONE)
                got = WAIT_BROKEN;
        } else if (got == WAIT_TIMEOUT && now < end && (quiet || now - heard < silence_limit_ns)) {
            got = WAIT_MESSAGE;
        }
        /* Also while the other side speaks: its beats say nothing about ours. */
        if (got == WAIT_MESSAGE && !quiet && now - said >= beat_every_ns) {
            said = now;
            got = send_word(s, "beat", &err) ? WAIT_MESSAGE : WAIT_ENDED;
        }
    }
    answer->verdict_ms = ms_after_deadline(item, start);
    judge_loss(s, got, &err, answer);
    if (got != WAIT_INTERRUPTED)
        look_at_own_quota(throttled_ns, answer);
    return false;
}

void session_close(struct session *s) {
    if (!s->open)
        return;
    struct error ignored = {0};
    js *bye = message_new("bye");
    channel_send(&s->channel, bye, NS_PER_S, &ignored);
    js_free(bye);
    end_session(s, 5 * NS_PER_S);
}
