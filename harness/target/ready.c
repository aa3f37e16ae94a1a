/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a place is there and running; starting it when that was asked for. */
#include "base/clock.h"
#include "base/mem.h"
#include "target/parts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t limit_ns = 60 * NS_PER_S;
static const int64_t start_limit_ns = 300 * NS_PER_S; /* an image may have to be unpacked first */

struct helper target_helper(const struct target *target, const struct strings *argv) {
    return (struct helper){.argv = argv,
                           .environment = &target->environment,
                           .input = -1,
                           .interrupt_fd = target->interrupt_fd,
                           .limit_ns = limit_ns};
}

static bool ask(const struct target *t, const char *const *words, bool must, int64_t limit,
                struct helper_result *out, struct error *err) {
    struct strings argv = {0};
    for (size_t i = 0; words[i] != NULL; i++)
        strings_add(&argv, words[i]);
    struct helper how = target_helper(t, &argv);
    how.limit_ns = limit;
    bool good = must ? helper_must(&how, out, err) : helper_run(&how, out, err);
    strings_free(&argv);
    return good;
}

enum state { STATE_ABSENT, STATE_STOPPED, STATE_RUNNING };

/* The first line that is a number and nothing else, but for lxc-info's "PID:". */
static pid_t find_pid(const char *output) {
    struct strings lines = {0};
    int64_t found = 0;
    strings_split(&lines, output, '\n');
    for (size_t i = 0; i < lines.count && found == 0; i++) {
        int64_t value = 0;
        char *line = text_trim(lines.items[i] + (text_starts(lines.items[i], "PID:") ? 4 : 0));
        if (isdigit((unsigned char)line[0]) && text_to_int(line, &value) && value > 0 && value < 1 << 30)
            found = value;
    }
    strings_free(&lines);
    return (pid_t)found;
}

static bool look_lxc(struct target *t, enum state *state, struct helper_result *r, struct error *err) {
    if (!ask(t, (const char *const[]){"lxc-info", "-n", t->id, "-s", "-p", "-H", NULL}, false, limit_ns, r,
             err))
        return RELAY(err);
    if (r->status == 0)
        *state = strstr(text_string(&r->output), "RUNNING") != NULL ? STATE_RUNNING : STATE_STOPPED;
    t->init = *state == STATE_RUNNING ? find_pid(text_string(&r->output)) : 0;
    return true;
}

static bool look_pct(struct target *t, enum state *state, struct helper_result *r, struct error *err) {
    if (!ask(t, (const char *const[]){"pct", "status", t->id, NULL}, false, limit_ns, r, err))
        return RELAY(err);
    if (r->status == 0)
        *state = strstr(text_string(&r->output), "running") != NULL ? STATE_RUNNING : STATE_STOPPED;
    struct helper_result info = {0};
    struct error ignored = {0};
    enum state lxc = STATE_ABSENT;
    if (*state == STATE_RUNNING)
        look_lxc(t, &lxc, &info, &ignored); /* for its first process only */
    helper_result_free(&info);
    return true;
}

static const char *engine(const struct target *t) {
    return t->kind == TARGET_DOCKER ? "docker" : "podman";
}

static bool look_engine(struct target *t, enum state *state, struct helper_result *r, struct error *err) {
    if (!ask(t,
             (const char *const[]){engine(t), "inspect", "--type", "container", "-f",
                                   "{{.State.Running}}\n{{.State.Pid}}", t->id, NULL},
             false, limit_ns, r, err))
        return RELAY(err);
    if (r->status == 0)
        *state = text_starts(text_string(&r->output), "true") ? STATE_RUNNING : STATE_STOPPED;
    t->init = *state == STATE_RUNNING ? find_pid(text_string(&r->output)) : 0;
    return true;
}

static bool look(struct target *t, enum state *state, struct helper_result *r, struct error *err) {
    *state = STATE_ABSENT;
    if (t->kind == TARGET_LXC)
        return look_lxc(t, state, r, err);
    return t->kind == TARGET_PCT ? look_pct(t, state, r, err) : look_engine(t, state, r, err);
}

/* The undoing is put down first: we may be killed between the two. */
static bool start_with_undo(struct target *t, const char *const *start, const char *const *stop,
                            struct error *err) {
    struct strings argv = {0};
    struct helper_result r = {0};
    for (size_t i = 0; stop[i] != NULL; i++)
        strings_add(&argv, stop[i]);
    bool good = t->undo != NULL && undo_add(t->undo, &argv, &t->environment, false, err) != 0;
    good = good && ask(t, start, true, start_limit_ns, &r, err);
    helper_result_free(&r);
    strings_free(&argv);
    return good || error_context(err, "starting %s", t->name);
}

static bool start_stopped(struct target *t, struct error *err) {
    if (t->kind == TARGET_LXC)
        return start_with_undo(t, (const char *const[]){"lxc-start", "-n", t->id, NULL},
                               (const char *const[]){"lxc-stop", "-n", t->id, "-t", "10", NULL}, err);
    if (t->kind == TARGET_PCT)
        return start_with_undo(t, (const char *const[]){"pct", "start", t->id, NULL},
                               (const char *const[]){"pct", "stop", t->id, NULL}, err);
    return start_with_undo(t, (const char *const[]){engine(t), "start", t->id, NULL},
                           (const char *const[]){engine(t), "stop", "-t", "5", t->id, NULL}, err);
}

bool target_random_name(char out[TARGET_NAME_SIZE], struct error *err) {
    unsigned char bytes[8];
    if (getentropy(bytes, sizeof bytes) != 0)
        return FAIL(err, ERROR_SYSTEM, "no random numbers from the kernel");
    snprintf(out, TARGET_NAME_SIZE, "gpuvet-%02x%02x%02x%02x%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2],
             bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]);
    return true;
}

/* A container of its own from the image, under a name of ours, that only sleeps. */
static bool start_image(struct target *t, struct error *err) {
    char name[TARGET_NAME_SIZE];
    char *image = t->id;
    if (!target_random_name(name, err))
        return false;
    const char *words[64] = {engine(t), "run", "-d", "--rm", "--name", name, "--entrypoint", "sleep"};
    size_t n = 8;
    for (size_t i = 0; i < t->extra.count && n < 60; i++)
        words[n++] = t->extra.items[i];
    words[n++] = image;
    words[n++] = "infinity";
    bool good = start_with_undo(t, words, (const char *const[]){engine(t), "rm", "-f", name, NULL}, err);
    if (!good)
        return false;
    t->id = mem_copy_string(name);
    free(image);
    free(t->prefix.items[t->prefix.count - 1]); /* docker exec -i NAME */
    t->prefix.items[t->prefix.count - 1] = mem_copy_string(name);
    return true;
}

static bool ready_container(struct target *t, bool may_start, struct error *err) {
    struct helper_result r = {0};
    enum state state;
    bool image = t->kind == TARGET_DOCKER || t->kind == TARGET_PODMAN;
    bool good = look(t, &state, &r, err);
    if (good && state == STATE_ABSENT && !(image && may_start)) {
        const char *words = helper_last_words(&r);
        good = FAIL(err, ERROR_USAGE, "there is no such container%s%s%.300s%s", words[0] != '\0' ? " (" : "",
                    words, words[0] != '\0' ? ")" : "",
                    image ? "; --start makes one from an image of that name" : "");
    } else if (good && state == STATE_STOPPED && !may_start) {
        good = FAIL(err, ERROR_USAGE, "it is not running; --start starts it and stops it afterwards");
    } else if (good && state != STATE_RUNNING) {
        helper_result_free(&r);
        good = (state == STATE_ABSENT ? start_image(t, err) : start_stopped(t, err)) &&
               look(t, &state, &r, err) &&
               (state == STATE_RUNNING || FAIL(err, ERROR_SYSTEM, "it was started and does not run"));
    }
    helper_result_free(&r);
    return good || error_context(err, "--in %s", t->name);
}

bool target_ready(struct target *target, bool may_start, struct error *err) {
    char path[64];
    switch (target->kind) {
    case TARGET_LXC:
    case TARGET_PCT:
    case TARGET_DOCKER:
    case TARGET_PODMAN:
        return ready_container(target, may_start, err);
    case TARGET_LIKE:
        snprintf(path, sizeof path, "/proc/%.10s", target->id);
        return access(path, F_OK) == 0 ||
               FAIL(err, ERROR_USAGE, "--in %s: there is no such process", target->name);
    default:
        return true; /* what cannot be reached shows when the program is brought in */
    }
}
