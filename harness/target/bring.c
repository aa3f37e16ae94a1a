/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing this very program into a place: a private folder (mkdir: new, mode 0700, under a name of ours),
 * filled by dd from our own executable, made executable, started, and removed by the program itself as its
 * first act. The removal is on the list of what a sudden end leaves before anything is made. Where no folder
 * lets programs run, or there is no dd, a local container is entered by its first process's namespaces
 * instead, which needs no file at all; elsewhere (ssh, Slurm, a command) perl takes the program from its
 * stdin into memory that no mount option concerns (memfd), and becomes it.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "target/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const folders[] = {"/tmp", "/dev/shm", "/var/tmp", "/run"};
enum { N_FOLDERS = sizeof folders / sizeof *folders };
static const int64_t copy_limit_ns = 180 * NS_PER_S;

void target_start_free(struct target_start *start) {
    strings_free(&start->argv);
    free(start->file);
    free(start->script);
    *start = (struct target_start){0};
}

static bool needs_no_file(const struct target *t) {
    return t->kind == TARGET_HOST || t->kind == TARGET_LIKE;
}

int target_ways(const struct target *target) {
    if (needs_no_file(target))
        return 1;
    return N_FOLDERS + 1;
}

static void add_all(struct strings *list, const struct strings *more) {
    for (size_t i = 0; more != NULL && i < more->count; i++)
        strings_add(list, more->items[i]);
}

static void add_worker(const struct target *t, bool file, const struct strings *options,
                       struct strings *argv) {
    strings_add(argv, "worker");
    if (file)
        strings_add(argv, "--unlink");
    /* lxc-attach leaves us the host's limits; the engines give a process those of the container. */
    if (file && (t->kind == TARGET_LXC || t->kind == TARGET_PCT))
        strings_add(argv, "--limits-of-init");
    add_all(argv, options);
}

static bool run_there(const struct target *t, const char *const *words, int input, int64_t limit_ns,
                      struct helper_result *out, struct error *err) {
    struct strings argv = {0};
    add_all(&argv, &t->prefix);
    for (size_t i = 0; words[i] != NULL; i++)
        strings_add(&argv, words[i]);
    struct helper how = target_helper(t, &argv);
    how.input = input;
    how.limit_ns = limit_ns;
    bool good = helper_must(&how, out, err);
    strings_free(&argv);
    return good;
}

static bool make_file(const struct target *t, const char *folder, struct target_start *out,
                      struct error *err) {
    struct text own = {0};
    struct helper_result r = {0};
    char name[TARGET_NAME_SIZE];
    if (!target_random_name(name, err))
        return RELAY(err);
    text_addf(&own, "%s/.%s", folder, name);
    struct strings rm = {0};
    add_all(&rm, &t->prefix);
    strings_add(&rm, "rm");
    strings_add(&rm, "-rf");
    strings_add(&rm, own.data);
    bool good = t->undo == NULL || (out->undo_id = undo_add(t->undo, &rm, &t->environment, true, err)) != 0;
    good = good && run_there(t, (const char *const[]){"mkdir", "-m", "0700", own.data, NULL}, -1,
                             60 * NS_PER_S, &r, err);
    /* mkdir, or the way there, said no by itself: nothing was made. One that we ended may have been through.
     */
    if (!good && err->native > 0 && (err->native < 128 || err->native == 255)) {
        undo_forget(t->undo, out->undo_id);
        out->undo_id = 0;
    }
    text_add(&own, "/gpuvet");
    out->file = text_take(&own);
    helper_result_free(&r);
    strings_free(&rm);
    return good;
}

void target_withdraw(const struct target *target, struct target_start *start, const struct error *why) {
    bool asked = target->undo != NULL && start->undo_id != 0 && start->file != NULL;
    /* Where nobody answers, or nobody wants to wait, it stays on the list of what is done at the end. */
    if (!asked || why->kind == ERROR_INTERRUPTED || why->native == HELPER_TOO_LATE)
        return;
    char *folder = mem_copy_bytes(start->file, (size_t)(strrchr(start->file, '/') - start->file));
    struct helper_result r = {0};
    struct error ignored = {0};
    if (run_there(target, (const char *const[]){"rm", "-rf", folder, NULL}, -1, 30 * NS_PER_S, &r,
                  &ignored)) {
        undo_forget(target->undo, start->undo_id);
        start->undo_id = 0;
    }
    helper_result_free(&r);
    free(folder);
}

/* dd ends with how much it copied, also when it failed: the reason stands before that. */
static void say_why(struct helper_result *r, struct error *err) {
    struct strings lines = {0};
    long native = err->native;
    strings_split(&lines, text_string(&r->errors), '\n');
    for (size_t i = 0; i < lines.count; i++)
        if (text_starts(lines.items[i], "dd: ")) {
            FAIL_NATIVE(err, ERROR_SYSTEM, native, "%.600s", lines.items[i]);
            break;
        }
    strings_free(&lines);
}

static bool fill_file(const struct target *t, const char *file, struct error *err) {
    struct helper_result r = {0};
    struct text of = {0};
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (self < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot read this program: %s", strerror(errno));
    text_addf(&of, "of=%s", file);
    bool good = run_there(t, (const char *const[]){"dd", text_string(&of), "bs=65536", NULL}, self,
                          copy_limit_ns, &r, err);
    close(self);
    if (!good && err->kind != ERROR_INTERRUPTED)
        say_why(&r, err);
    helper_result_free(&r);
    text_free(&of);
    if (!good)
        return RELAY(err);
    good = run_there(t, (const char *const[]){"chmod", "0700", file, NULL}, -1, 60 * NS_PER_S, &r, err);
    helper_result_free(&r);
    return good || RELAY(err);
}

/* Without a file: our own program, handed over as an open descriptor. */
static void enter(const struct target *t, const struct strings *options, struct strings *argv) {
    strings_add(argv, "/proc/self/exe");
    strings_add(argv, "enter");
    strings_addf(argv, "%ld", (long)t->init);
    strings_add(argv, "--");
    add_worker(t, false, options, argv);
}

/* The script comes by stdin too: no shell on the way, ssh's least of all, has a word of it to change. perl
 * reads it up to its end and leaves the rest to it; what is behind the program comes only after our greeting,
 * so that nothing is lost in its buffer. */
static bool through_memory(const struct target *t, const struct strings *options, struct target_start *out,
                           struct error *err) {
    struct stat self;
    struct text script = {0};
    if (stat("/proc/self/exe", &self) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot look at this program: %s", strerror(errno));
    text_addf(&script, "my ($left, $name) = (%lld, 'gpuvet');\n", (long long)self.st_size);
    /* Closed on exec; MFD_EXEC, where the kernel knows it (6.3), for vm.memfd_noexec = 1 asks for the word.
     */
    text_addf(&script, "my $memory = syscall(%ld, $name, 0x11);\n", (long)SYS_memfd_create);
    text_addf(&script, "$memory = syscall(%ld, $name, 1) if $memory < 0;\n", (long)SYS_memfd_create);
    text_add(&script, "$memory >= 0 or die \"memfd_create: $!\\n\";\n"
                      "open(my $out, '>&=', $memory) or die \"memfd: $!\\n\";\n"
                      "binmode(DATA);\n"
                      "binmode($out);\n"
                      "select($out);\n"
                      "$| = 1;\n"
                      "while ($left > 0) {\n"
                      "  my $n = read(DATA, my $part, $left < 65536 ? $left : 65536);\n"
                      "  $n or die \"the program did not come whole\\n\";\n"
                      "  print($part) or die \"memory: $!\\n\";\n"
                      "  $left -= $n;\n"
                      "}\n"
                      "exec {\"/proc/self/fd/$memory\"} 'gpuvet', @ARGV;\n"
                      "die \"exec: $!\\n\";\n"
                      "__END__\n");
    out->script = text_take(&script);
    add_all(&out->argv, &t->prefix);
    strings_add(&out->argv, "perl");
    strings_add(&out->argv, "-");
    add_worker(t, false, options, &out->argv);
    return true;
}

bool target_bring(const struct target *target, int way, const struct strings *options,
                  struct target_start *out, struct error *err) {
    *out = (struct target_start){0};
    if (target->kind == TARGET_HOST)
        /* The very file that runs, also when a newer build has replaced it on disk meanwhile. */
        strings_add(&out->argv, "/proc/self/exe");
    else if (target->kind == TARGET_LIKE)
        add_all(&out->argv, &target->prefix);
    if (needs_no_file(target)) {
        add_worker(target, false, options, &out->argv);
        return true;
    }
    if (way >= N_FOLDERS && target->init <= 0)
        return through_memory(target, options, out, err);
    if (way >= N_FOLDERS) {
        enter(target, options, &out->argv);
        return true;
    }
    if (!make_file(target, folders[way], out, err) || !fill_file(target, out->file, err)) {
        target_withdraw(target, out, err);
        target_start_free(out);
        return error_context(err, "bringing the program in");
    }
    add_all(&out->argv, &target->prefix);
    strings_add(&out->argv, out->file);
    add_worker(target, true, options, &out->argv);
    return true;
}
