/* SPDX-License-Identifier: Apache-2.0 */
#include "run/worker.h"

#include "base/build.h"
#include "base/clock.h"
#include "base/log.h"
#include "gpu/facts_child.h"
#include "run/channel.h"
#include "run/child.h"
#include "run/probe.h"
#include "run/where.h"
#include "run/who.h"
#include "system/activity.h"
#include "target/helper.h"
#include "target/parts.h"
#include "target/view.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OUTPUT_KEPT = 16384, DOCTOR_KEPT = 768 << 10, MAX_DEADLINE_MS = 24 * 3600 * 1000 };
static const int64_t beat_every_ns = NS_PER_S;
static const int64_t silence_limit_ns = 5 * NS_PER_S;
static const int64_t send_limit_ns = 5 * NS_PER_S;
static const int64_t parked_limit_ns = 3600 * NS_PER_S;
static const int64_t doctor_limit_ns = 60 * NS_PER_S;
static const int64_t reap_limit_ns = 3 * NS_PER_S / 2;
/* After a hang the verdict is out already, and giving up on a process costs its GPUs the rest of the run. */
static const int64_t reap_hung_ns = 5 * NS_PER_S;
static const int64_t first_look_ns = 5 * NS_PER_S;
static const int64_t next_look_ns = 2 * NS_PER_S;
enum { LOOKS = 3 };

struct supervisor {
    struct channel coordinator;
    struct child child;
    struct clock clock;
    js *item;           /* being measured, owned; NULL: none */
    bool quiet;         /* it asks for silence */
    int64_t deadline;   /* of it */
    int64_t last_said;  /* to the coordinator */
    int64_t last_heard; /* from it */
    struct text output; /* of the child during this item */
    bool output_cut;
    bool stays;           /* the child ended its side, and cannot be killed */
    int64_t throttled_ns; /* by the CPU quota, when the item began; -1 unknown */
    bool over;
    bool park; /* over, but to begin anew in this very process */
};

static bool say(struct supervisor *s, js *message, struct error *err) {
    s->last_said = clock_now(&s->clock);
    return channel_send(&s->coordinator, message, send_limit_ns, err);
}

static void keep_output(struct supervisor *s) {
    char chunk[4096];
    ssize_t n = -1;
    while (s->child.output >= 0 && (n = read(s->child.output, chunk, sizeof chunk)) > 0) {
        size_t room = OUTPUT_KEPT - s->output.length;
        s->output_cut = s->output_cut || (size_t)n > room;
        text_add_bytes(&s->output, chunk, (size_t)n < room ? (size_t)n : room);
    }
    if (s->child.output >= 0 && n == 0) {
        close(s->child.output);
        s->child.output = -1;
    }
}

/* Ends the item: tells the coordinator, with what the child printed meanwhile. */
static bool finish_item(struct supervisor *s, js *done, struct error *err) {
    keep_output(s);
    if (s->output.length > 0) {
        if (s->output_cut)
            text_add(&s->output, "\n[cut]");
        js_set_string(done, "stderr", text_string(&s->output));
    }
    int64_t throttled_ns = s->throttled_ns >= 0 ? activity_throttled_ns("") : -1;
    if (throttled_ns > s->throttled_ns) {
        char who[200];
        who_throttles(who, sizeof who);
        js_set_int(done, "quota_us", (throttled_ns - s->throttled_ns) / NS_PER_US);
        js_set_string(done, "quota", who);
    }
    if (s->stays)
        js_set_bool(done, "unkillable", true);
    s->stays = false;
    text_clear(&s->output);
    s->output_cut = false;
    js_free(s->item);
    s->item = NULL;
    /* Nobody beat while a quiet one ran, however long it took. */
    s->last_heard = s->quiet ? clock_now(&s->clock) : s->last_heard;
    return say(s, done, err);
}

static bool finish_with(struct supervisor *s, const char *outcome, const char *reason, struct error *err) {
    js *done = message_new("done");
    js_set(done, "id", js_copy(js_get(s->item, "id")));
    js_set_string(done, "outcome", outcome);
    js_set_string(done, "reason", reason);
    bool good = finish_item(s, done, err);
    js_free(done);
    return good;
}

/* {"GPU-…": 100}: how busy each GPU is that answers; null where NVML does not say. */
static js *busy_by_uuid(const js *activity) {
    js *busy = js_new_object();
    for (size_t i = 0; i < js_length(activity); i++) {
        const char *uuid = js_get_string(js_at(activity, i), "uuid", NULL);
        const js *percent = js_get(js_at(activity, i), "utilization_percent");
        if (uuid != NULL)
            js_set(busy, uuid, percent == NULL ? js_new_null() : js_copy(percent));
    }
    return busy;
}

static bool still_busy(const js *busy, const struct strings *uuids) {
    for (size_t i = 0; i < uuids->count; i++)
        if (js_get_int(busy, uuids->items[i], 0) >= WORKER_STILL_BUSY_PERCENT)
            return true;
    return false;
}

/* Do the GPUs still answer, and is one of the item's still busy although its process is dead? NVML means the
 * second just past with "now": one look at work that is over would lie. */
static void look_at_gpus(const js *item, js *node) {
    struct strings uuids = {0};
    struct clock clock = clock_real();
    where_gpus(js_get(item, "where"), &uuids);
    for (int i = 0; i < LOOKS && uuids.count > 0; i++) {
        struct error err = {0};
        js *activity = gpu_activity_child(i == 0 ? first_look_ns : next_look_ns, &err);
        js *busy = busy_by_uuid(activity);
        js_remove(node, "reason");
        js_set_int(node, "gpus_answering", (int64_t)js_length(activity));
        js_set(node, "utilization_percent", busy);
        if (activity == NULL)
            js_set_string(node, "reason", err.text);
        bool again = activity != NULL && still_busy(busy, &uuids);
        js_free(activity);
        if (!again)
            break;
        if (i + 1 < LOOKS)
            clock_sleep(&clock, NS_PER_S);
    }
    strings_free(&uuids);
}

/* The verdict is out; now what takes its time: is the process gone, and does the node still answer? Nobody
 * beats meanwhile. */
static bool look_after_hang(struct supervisor *s, const js *item, struct error *err) {
    int status = 0;
    js *message = message_new("node");
    js *node = js_new_object();
    js_set(message, "id", js_copy(js_get(item, "id")));
    js_set_bool(message, "unkillable", !child_end(&s->child, reap_hung_ns, &status));
    look_at_gpus(item, node);
    js_set(message, "node", node);
    bool good = say(s, message, err);
    js_free(message);
    s->last_heard = clock_now(&s->clock);
    return good;
}

static bool on_deadline(struct supervisor *s, struct error *err) {
    struct text reason = {0};
    js *item = js_keep(s->item);
    keep_output(s);
    text_addf(&reason, "no end within %lld ms while running %s",
              (long long)js_get_int(item, "deadline_ms", 0), js_get_string(item, "case", "?"));
    child_explain(&s->child, &reason);
    child_kill(&s->child);
    bool good = finish_with(s, "hang", text_string(&reason), err) && look_after_hang(s, item, err);
    text_free(&reason);
    js_free(item);
    return good;
}

static bool on_child_death(struct supervisor *s, struct error *err) {
    char fate[128];
    int status = 0;
    keep_output(s);
    s->stays =
        !child_collect(&s->child, reap_limit_ns, &status) && !child_end(&s->child, reap_limit_ns, &status);
    if (s->stays) /* on its way out, in the driver's hands */
        snprintf(fate, sizeof fate, "ended its side and does not end itself");
    else
        child_fate(status, fate, sizeof fate);
    if (s->item == NULL) {
        s->stays = false;
        return true; /* between items: a sticky error made it end itself */
    }
    struct text reason = {0};
    text_addf(&reason, "the measuring process %s while running %s", fate,
              js_get_string(s->item, "case", "?"));
    bool good = finish_with(s, "error", text_string(&reason), err);
    text_free(&reason);
    return good;
}

/* A silent coordinator or a lost one: nothing that runs here may outlive it. */
static void give_up(struct supervisor *s) {
    int status = 0;
    child_end(&s->child, reap_limit_ns, &status);
    s->over = true;
}

static bool start_item(struct supervisor *s, js *item, struct error *err) {
    s->item = js_keep(item);
    s->quiet = js_get_bool(item, "quiet", false);
    s->throttled_ns = activity_throttled_ns("");
    int64_t limit_ms = js_get_int(item, "deadline_ms", 60000);
    limit_ms = limit_ms < 0 ? 0 : limit_ms > MAX_DEADLINE_MS ? MAX_DEADLINE_MS : limit_ms;
    s->deadline = clock_now(&s->clock) + limit_ms * NS_PER_MS;
    const js *env = js_get(item, "env");
    int status = 0;
    if (s->child.pid != 0 && !js_equal(env, s->child.env))
        child_end(&s->child, reap_limit_ns, &status); /* libraries read their variables once */
    struct error why = {0};
    if (s->child.pid == 0 && !child_start(&s->child, env, &why))
        return finish_with(s, "error", why.text, err);
    if (!channel_send(&s->child.channel, item, send_limit_ns, &why))
        return on_child_death(s, err);
    return true;
}

/* The rules look at this place from inside, in a process of their own. */
static bool answer_doctor(struct supervisor *s, struct error *err) {
    struct strings argv = {0};
    struct helper_result result = {0};
    struct error why = {0};
    strings_add(&argv, "/proc/self/exe");
    strings_add(&argv, "doctor");
    strings_add(&argv, "--json");
    struct helper how = {.argv = &argv, .input = -1, .interrupt_fd = -1};
    how.limit_ns = doctor_limit_ns;
    how.max_output = DOCTOR_KEPT;
    js *answer = message_new("doctor");
    js *found = NULL;
    if (helper_run(&how, &result, &why))
        found = js_parse(text_string(&result.output), result.output.length, &why);
    js_set(answer, "doctor", found != NULL ? found : js_new_null());
    js_set_string(answer, "reason", found == NULL ? why.text : NULL);
    bool good = say(s, answer, err);
    s->last_heard = clock_now(&s->clock);
    js_free(answer);
    helper_result_free(&result);
    strings_free(&argv);
    return good;
}

static bool from_coordinator(struct supervisor *s, js *message, struct error *err) {
    const char *type = js_get_string(message, "type", "");
    s->last_heard = clock_now(&s->clock);
    if (strcmp(type, "beat") == 0)
        return true;
    bool park = strcmp(type, "park") == 0;
    if (park || strcmp(type, "bye") == 0) {
        give_up(s);
        s->park = park;
        return true;
    }
    if (strcmp(type, "doctor") == 0 && s->item == NULL)
        return answer_doctor(s, err);
    if (strcmp(type, "item") != 0)
        return FAIL(err, ERROR_DATA, "unknown message type '%s'", type);
    if (s->item != NULL)
        return FAIL(err, ERROR_DATA, "an item while another is running");
    return start_item(s, message, err);
}

static bool from_child(struct supervisor *s, js *message, struct error *err) {
    const char *type = js_get_string(message, "type", "");
    js_remove(message, "n");
    if (s->item == NULL)
        return true; /* late words of a child whose item is over */
    if (strcmp(type, "done") == 0) {
        bool good = finish_item(s, message, err);
        int status = 0;
        if (js_get_bool(message, "sticky", false))
            child_end(&s->child, reap_limit_ns,
                      &status); /* CUDA is broken in it: the next item gets a fresh one */
        return good;
    }
    return say(s, message, err);
}

static bool pump(struct supervisor *s, struct channel *channel,
                 bool (*handle)(struct supervisor *, js *, struct error *), struct error *err) {
    js *message;
    while ((message = channel_next(channel, err)) != NULL) {
        bool good = handle(s, message, err);
        js_free(message);
        if (!good)
            return RELAY(err);
        if (channel->in < 0)
            return true; /* handling it ended the child */
    }
    return err->kind == ERROR_NONE;
}

static bool on_child_readable(struct supervisor *s, struct error *err) {
    struct error why = {0};
    if (!channel_fill(&s->child.channel, &why) || !pump(s, &s->child.channel, from_child, &why)) {
        int status = 0;
        bool peer_lost = s->child.pid == 0;
        child_end(&s->child, reap_limit_ns, &status);
        if (peer_lost || s->item == NULL)
            return true;
        return finish_with(s, "error", why.text, err);
    }
    return s->child.pid == 0 || !s->child.channel.ended || on_child_death(s, err);
}

static int wait_ms(const struct supervisor *s) {
    int64_t now = clock_now(&s->clock);
    int64_t next = s->item != NULL ? s->deadline : INT64_MAX;
    if (s->item == NULL || !s->quiet) {
        if (s->last_said + beat_every_ns < next)
            next = s->last_said + beat_every_ns;
        if (s->last_heard + silence_limit_ns < next)
            next = s->last_heard + silence_limit_ns;
    }
    int64_t ms = (next - now) / NS_PER_MS + 1;
    return ms < 0 ? 0 : ms > 3600000 ? 3600000 : (int)ms;
}

static bool on_time(struct supervisor *s, struct error *err) {
    int64_t now = clock_now(&s->clock);
    if (s->item != NULL && now >= s->deadline)
        return on_deadline(s, err);
    if (s->item != NULL && s->quiet)
        return true;
    if (now - s->last_heard >= silence_limit_ns)
        return FAIL(err, ERROR_SYSTEM, "the coordinator has been silent for %.0f s",
                    (double)silence_limit_ns / 1e9);
    if (now - s->last_said < beat_every_ns)
        return true;
    js *beat = message_new("beat");
    bool good = say(s, beat, err);
    js_free(beat);
    return good;
}

static bool turn(struct supervisor *s, struct error *err) {
    struct pollfd p[3] = {
        {.fd = s->coordinator.in, .events = POLLIN},
        {.fd = s->child.pid != 0 ? s->child.channel.in : -1, .events = POLLIN},
        {.fd = s->child.pid != 0 ? s->child.output : -1, .events = POLLIN},
    };
    poll(p, 3, wait_ms(s));
    if (p[2].revents != 0)
        keep_output(s);
    if (p[1].revents != 0 && !on_child_readable(s, err))
        return RELAY(err);
    if (p[0].revents != 0) {
        if (!channel_fill(&s->coordinator, err) || !pump(s, &s->coordinator, from_coordinator, err))
            return RELAY(err);
        if (s->coordinator.ended && !s->over)
            return FAIL(err, ERROR_SYSTEM, "the coordinator is gone");
    }
    return s->over || on_time(s, err);
}

/* Libraries print to stdout: the protocol gets descriptors of its own, and stdout becomes stderr. */
static void take_protocol(struct channel *channel) {
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    channel_open(channel, in, out);
}

static bool greet(struct supervisor *s, bool facts, struct error *err) {
    js *hello = message_new("hello");
    js_set_int(hello, "protocol", WORKER_PROTOCOL);
    js_set_string(hello, "build_id", build_id());
    js_set_int(hello, "pid", getpid());
    if (facts)
        js_set(hello, "facts", probe_node());
    bool good = say(s, hello, err);
    js_free(hello);
    return good;
}

/* The next round's worker is a fresh one, as on the host; but the way in is dear (ssh, srun, a file brought
 * in) and the file is gone: the process starts its own program again and waits, silent. */
static void begin_anew(struct supervisor *s) {
    struct error ignored = {0};
    char *argv[] = {"gpuvet", "worker", "--parked", NULL};
    js *parking = message_new("parking");
    bool told = say(s, parking, &ignored);
    js_free(parking);
    int ends[] = {s->coordinator.in, s->coordinator.out};
    for (int i = 0; i < 2 && told; i++) {
        fcntl(ends[i], F_SETFL, fcntl(ends[i], F_GETFL) & ~O_NONBLOCK);
        dup2(ends[i], i == 0 ? STDIN_FILENO : STDOUT_FILENO);
    }
    if (told)
        execv("/proc/self/exe", argv);
}

/* Until the coordinator wants the next round. False: it is gone, or wants none. */
static bool wait_parked(struct supervisor *s, struct error *err) {
    int64_t end = clock_now(&s->clock) + parked_limit_ns;
    js *message = message_new("parked");
    bool good = say(s, message, err);
    js_free(message);
    message = NULL;
    while (good && (message = channel_next(&s->coordinator, err)) == NULL) {
        int64_t left = end - clock_now(&s->clock);
        struct pollfd p = {.fd = s->coordinator.in, .events = POLLIN};
        good = err->kind == ERROR_NONE && !s->coordinator.ended && left > 0;
        if (good)
            poll(&p, 1, (int)(left / NS_PER_MS) + 1);
        good = good && channel_fill(&s->coordinator, err);
    }
    good = good && strcmp(js_get_string(message, "type", ""), "wake") == 0;
    js_free(message);
    return good;
}

/* Only a file that was brought in for us, never the program of somebody who tries this option. */
static void unlink_own_file(void) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return;
    path[n] = '\0';
    char *name = strrchr(path, '/');
    if (name == NULL)
        return;
    *name = '\0';
    const char *folder = strrchr(path, '/');
    bool ours = folder != NULL && text_starts(folder + 1, TARGET_FOLDER_PREFIX);
    *name = '/';
    if (ours && unlink(path) == 0) {
        *name = '\0';
        rmdir(path);
    }
}

int worker_main(const struct worker_options *options) {
    struct supervisor s = {.clock = clock_real(), .child = {.output = -1, .channel = {.in = -1, .out = -1}}};
    struct error err = {0};
    if (options->unlink)
        unlink_own_file();
    if (options->limits_of_init)
        view_take_init_limits();
    signal(SIGPIPE, SIG_IGN);
    take_protocol(&s.coordinator);
    if (options->parked && !wait_parked(&s, &err)) {
        channel_close(&s.coordinator);
        return err.kind == ERROR_NONE ? 0 : 1;
    }
    bool good = greet(&s, options->facts, &err);
    s.last_heard = clock_now(&s.clock);
    while (good && !s.over)
        good = turn(&s, &err);
    if (!good) {
        give_up(&s);
        log_error(&err);
    }
    if (good && s.park)
        begin_anew(&s);
    channel_close(&s.coordinator);
    js_free(s.item);
    text_free(&s.output);
    return good && !s.park ? 0 : 1;
}
