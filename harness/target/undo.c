/* SPDX-License-Identifier: Apache-2.0 */
#include "target/undo.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "target/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_LINE = 1 << 20 };
static const int64_t command_limit_ns = 60 * NS_PER_S; /* a batch system may let it wait */
static const int64_t pause_ns = 3 * NS_PER_S;
static const int64_t all_limit_ns = 90 * NS_PER_S;

bool undo_open(struct undo *undo, struct error *err) {
    int ends[2];
    *undo = (struct undo){.to = -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot make a pipe: %s", strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID); /* what ends our group leaves it alone */
    char *argv[] = {"/proc/self/exe", "undo", NULL};
    int failed = posix_spawn(&undo->pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[0]);
    undo->to = ends[1];
    if (failed == 0)
        return true;
    close(ends[1]);
    *undo = (struct undo){.to = -1};
    return FAIL_NATIVE(err, ERROR_SYSTEM, failed, "cannot start the process that tidies up: %s%s",
                       strerror(failed), failed == ENOENT ? " (/proc is missing: mount it)" : "");
}

static js *array_of(const struct strings *list) {
    js *array = js_new_array();
    for (size_t i = 0; list != NULL && i < list->count; i++)
        js_append_string(array, list->items[i]);
    return array;
}

static bool send_line(struct undo *undo, js *line, struct error *err) {
    char *made = js_text(line);
    struct text t = {0};
    text_add(&t, made);
    text_add(&t, "\n");
    bool good = undo->to >= 0 && fd_write_all(undo->to, t.data, t.length, err);
    if (!good && (err->kind == ERROR_NONE || err->native == EPIPE))
        FAIL(err, ERROR_SYSTEM, "the process that tidies up after us is gone: killed, or out of memory?");
    text_free(&t);
    free(made);
    js_free(line);
    return good;
}

long undo_add(struct undo *undo, const struct strings *argv, const struct strings *environment, bool twice,
              struct error *err) {
    js *line = js_new_object();
    js_set_int(line, "id", undo->last_id + 1);
    js_set_bool(line, "twice", twice);
    js_set(line, "argv", array_of(argv));
    js_set(line, "env", array_of(environment));
    if (!send_line(undo, line, err)) {
        RELAY(err);
        return 0;
    }
    return ++undo->last_id;
}

void undo_forget(struct undo *undo, long id) {
    struct error ignored = {0};
    if (id == 0 || undo == NULL)
        return;
    js *line = js_new_object();
    js_set_int(line, "forget", id);
    send_line(undo, line, &ignored);
}

void undo_close(struct undo *undo) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + all_limit_ns;
    if (undo->pid == 0)
        return;
    close(undo->to);
    while (waitpid(undo->pid, NULL, WNOHANG) == 0 && clock_now(&clock) < end)
        clock_sleep(&clock, 2 * NS_PER_MS);
    *undo = (struct undo){.to = -1};
}

/* ---- the process ---- */

struct list {
    js **items;
    size_t count, capacity;
};

static void forget(struct list *list, int64_t id) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (js_get_int(list->items[i], "id", -1) == id)
            js_free(list->items[i]);
        else
            list->items[kept++] = list->items[i];
    list->count = kept;
}

static void take_line(struct list *list, const char *text, size_t length) {
    struct error ignored = {0};
    js *line = js_parse(text, length, &ignored);
    if (line == NULL)
        return;
    if (js_get(line, "forget") != NULL) {
        forget(list, js_get_int(line, "forget", -2));
        js_free(line);
        return;
    }
    list->items = mem_grow(list->items, list->count, &list->capacity, sizeof *list->items);
    list->items[list->count++] = line;
}

/* Line by line as they come: a long run adds and forgets more than anybody would keep until its end. */
static void read_list(struct list *list) {
    struct text rest = {0};
    char chunk[4096];
    ssize_t n;
    while ((n = read(STDIN_FILENO, chunk, sizeof chunk)) != 0) {
        if (n < 0 && errno != EINTR)
            break;
        const char *at = chunk;
        const char *end = n > 0 ? chunk + n : chunk;
        for (const char *stop; (stop = memchr(at, '\n', (size_t)(end - at))) != NULL; at = stop + 1) {
            text_add_bytes(&rest, at, (size_t)(stop - at));
            take_line(list, text_string(&rest), rest.length);
            text_clear(&rest);
        }
        if (rest.length < MAX_LINE)
            text_add_bytes(&rest, at, (size_t)(end - at));
    }
    take_line(list, text_string(&rest), rest.length);
    text_free(&rest);
}

static void take_strings(const js *array, struct strings *out) {
    for (size_t i = 0; i < js_length(array); i++)
        strings_add(out, js_string(js_at(array, i), ""));
}

static void do_one(const js *entry, bool last) {
    struct strings argv = {0};
    struct strings env = {0};
    struct helper_result result = {0};
    struct error err = {0};
    take_strings(js_get(entry, "argv"), &argv);
    take_strings(js_get(entry, "env"), &env);
    struct helper how = {.argv = &argv, .environment = &env, .input = -1, .interrupt_fd = -1};
    how.limit_ns = command_limit_ns;
    if (argv.count > 0 && !helper_must(&how, &result, &err) && last) {
        error_context(&err, "tidying up");
        log_error(&err);
    }
    helper_result_free(&result);
    strings_free(&argv);
    strings_free(&env);
}

int undo_main(void) {
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    struct list list = {0};
    read_list(&list);
    struct clock clock = clock_real();
    bool again = false;
    for (int pass = 0; pass < 2 && (pass == 0 || again); pass++) {
        if (pass > 0)
            clock_sleep(&clock, pause_ns);
        for (size_t i = list.count; i-- > 0;) {
            bool twice = js_get_bool(list.items[i], "twice", false);
            if (pass > 0 && !twice)
                continue;
            again = again || twice;
            do_one(list.items[i], !twice || pass > 0);
        }
    }
    for (size_t i = 0; i < list.count; i++)
        js_free(list.items[i]);
    free(list.items);
    return 0;
}
