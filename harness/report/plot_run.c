/* SPDX-License-Identifier: Apache-2.0 */
/* Has gnuplot draw the plots: by argument vector, no shell, in a folder of its own, bounded in time. */
#include "base/clock.h"
#include "base/files.h"
#include "report/embedded.h"
#include "report/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 4, MAX_DRAWING = 4 << 20, MOST_SVG = 400 << 10 };
static const int64_t time_limit = 20 * NS_PER_S;

struct drawing {
    struct plot *plot;
    pid_t pid;
    int64_t deadline;
};

/* Unlike file_replace it does not wait for the disk: what is drawn can be drawn again. */
static bool write_plain(const char *folder, const char *name, const char *suffix, const char *data,
                        size_t length, struct error *err) {
    struct text path = {0};
    text_addf(&path, "%s/%s%s", folder, name, suffix);
    unlink(text_string(&path)); /* never through a link that somebody put there */
    int fd = open(text_string(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    bool good = fd >= 0 ? fd_write_all(fd, data, length, err) || error_context(err, "%s", text_string(&path))
                        : FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot write %s: %s", text_string(&path),
                                      strerror(errno));
    if (fd >= 0)
        close(fd);
    text_free(&path);
    return good;
}

static bool write_file(const char *folder, const char *name, const char *suffix, const char *text,
                       struct error *err) {
    return write_plain(folder, name, suffix, text, strlen(text), err);
}

static bool write_inputs(const struct report *r, const char *folder, struct error *err) {
    for (const struct embedded_file *f = embedded_files; f->name != NULL; f++)
        if (text_ends(f->name, ".gp") && !write_file(folder, f->name, "", f->text, err))
            return RELAY(err);
    for (size_t i = 0; i < r->n_plots; i++)
        if (!write_file(folder, r->plots[i].name, ".tsv", text_string(&r->plots[i].data), err) ||
            !write_file(folder, r->plots[i].name, ".var", text_string(&r->plots[i].variables), err))
            return RELAY(err);
    return true;
}

/* 0, or an errno. */
static int start(struct drawing *d, const char *folder) {
    struct text script = {0};
    struct text home = {0};
    struct text path = {0};
    text_addf(&script, "name='%s'; format='svg'; load '%s'; reset; format='png'; load '%s'", d->plot->name,
              d->plot->script, d->plot->script);
    text_addf(&home, "HOME=%s", folder);
    text_addf(&path, "PATH=%s", getenv("PATH") != NULL ? getenv("PATH") : "/usr/bin:/bin");
    /* -d: no start-up files. Nothing of the user's environment changes a drawing. */
    char *argv[] = {(char[]){"gnuplot"}, (char[]){"-d"}, (char[]){"-e"},
                    (char *)(uintptr_t)text_string(&script), NULL};
    char *environment[] = {(char *)(uintptr_t)text_string(&path), (char *)(uintptr_t)text_string(&home),
                           (char[]){"LC_ALL=C.UTF-8"}, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    sigset_t none;
    sigemptyset(&none);
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    /* A group of its own: what "gnuplot" starts (it may be a wrapper) ends with it. */
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int code = posix_spawnp(&d->pid, "gnuplot", &actions, &attributes, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    text_free(&script);
    text_free(&home);
    text_free(&path);
    d->deadline = clock_raw() + time_limit;
    return code;
}

static void read_drawing(struct plot *p, const char *folder) {
    struct error err = {0};
    struct text path = {0};
    struct text svg = {0};
    text_addf(&path, "%s/%s.svg", folder, p->name);
    if (!file_read(text_string(&path), MAX_DRAWING, &svg, &err)) {
        if (p->why[0] == '\0')
            snprintf(p->why, sizeof p->why, "gnuplot drew nothing");
    } else if ((p->svg = svg_clean(text_string(&svg), p->name, &err)) == NULL)
        snprintf(p->why, sizeof p->why, "%.190s", err.text);
    else if (strlen(p->svg) > MOST_SVG) {
        free(p->svg);
        p->svg = NULL;
        snprintf(p->why, sizeof p->why, "too large for the page; the files are in plots/");
    }
    text_free(&svg);
    text_free(&path);
}

/* True when it is done, one way or another. */
static bool look_after(struct drawing *d, const char *folder, bool *hung) {
    int status = 0;
    pid_t got = waitpid(d->pid, &status, WNOHANG);
    if (got == 0 && clock_raw() < d->deadline)
        return false;
    if (got == 0) {
        kill(-d->pid, SIGKILL);
        waitpid(d->pid, &status, 0);
        *hung = true;
        snprintf(d->plot->why, sizeof d->plot->why, "gnuplot did not end within %d s",
                 (int)(time_limit / NS_PER_S));
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        snprintf(d->plot->why, sizeof d->plot->why,
                 "gnuplot failed (to see how: cd plots, gnuplot -e \"name='%s'\" %s)", d->plot->name,
                 d->plot->script);
    }
    read_drawing(d->plot, folder); /* it may have drawn the SVG before it failed */
    return true;
}

/* The signals that end us are held back while there is something to tidy up. */
static void ending_signals(sigset_t *out) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction how;
    sigemptyset(out);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &how) == 0 && how.sa_handler != SIG_IGN)
            sigaddset(out, numbers[i]);
}

static void end_all(struct drawing *running, size_t n) {
    for (size_t i = 0; i < n; i++)
        kill(-running[i].pid, SIGKILL);
    for (size_t i = 0; i < n; i++)
        waitpid(running[i].pid, NULL, 0);
}

/* The signal that came, 0: none. */
static int draw_all(struct report *r, const char *folder, const sigset_t *ending) {
    struct drawing running[AT_ONCE];
    size_t n = 0;
    size_t next = 0;
    bool hung = false; /* what hangs once hangs again: the rest is not tried */
    while ((next < r->n_plots && !r->gnuplot_absent && !hung) || n > 0) {
        while (n < AT_ONCE && next < r->n_plots && !r->gnuplot_absent && !hung) {
            running[n] = (struct drawing){.plot = &r->plots[next++]};
            int code = start(&running[n], folder);
            n += code == 0 ? 1 : 0;
            r->gnuplot_absent = code == ENOENT;
            if (code != 0)
                snprintf(r->plots[next - 1].why, sizeof r->plots[0].why,
                         "gnuplot could not be started: %.100s", strerror(code));
        }
        for (size_t i = 0; i < n;)
            if (look_after(&running[i], folder, &hung))
                running[i] = running[--n];
            else
                i++;
        int came = sigtimedwait(ending, NULL, &(struct timespec){.tv_nsec = 2 * NS_PER_MS});
        if (came > 0) {
            end_all(running, n);
            return came;
        }
    }
    for (; hung && next < r->n_plots; next++)
        snprintf(r->plots[next].why, sizeof r->plots[next].why, "not tried, since gnuplot hung before");
    return 0;
}

/* Files of one kind go to the report's folder; the temporary ones are removed. */
static bool collect(const char *from, const char *to, struct error *err) {
    DIR *dir = opendir(from);
    bool good = dir != NULL;
    for (struct dirent *e; good && (e = readdir(dir)) != NULL;) {
        static const char *const kinds[] = {".svg", ".png", ".tsv", ".var", ".gp"};
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            struct text source = {0};
            struct text content = {0};
            text_addf(&source, "%s/%s", from, e->d_name);
            if (text_ends(e->d_name, kinds[i]) &&
                file_read(text_string(&source), MAX_DRAWING, &content, err)) {
                good = write_plain(to, e->d_name, "", text_string(&content), content.length, err);
            }
            text_free(&source);
            text_free(&content);
        }
    }
    if (dir != NULL)
        closedir(dir);
    return good;
}

static void remove_tree(const char *path, int depth) {
    DIR *dir = depth < 6 ? opendir(path) : NULL;
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        struct text one = {0};
        struct stat st;
        text_addf(&one, "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            lstat(text_string(&one), &st) == 0) {
            if (S_ISDIR(st.st_mode))
                remove_tree(text_string(&one), depth + 1);
            else
                unlink(text_string(&one));
        }
        text_free(&one);
    }
    if (dir != NULL)
        closedir(dir);
    rmdir(path);
}

/* Where temporary files belong, else beside what is written: a page needs no /tmp. Owned; NULL with `err`. */
static char *make_temporary(const char *folder, struct error *err) {
    const char *tmp = getenv("TMPDIR");
    const char *const places[] = {tmp != NULL && tmp[0] == '/' ? tmp : "/tmp", folder};
    for (size_t i = 0; i < 2; i++) {
        struct text path = {0};
        text_addf(&path, "%s/gpuvet-plots.XXXXXX", places[i]);
        char *made = text_take(&path);
        if (mkdtemp(made) != NULL) {
            char *whole = realpath(made, NULL); /* gnuplot is started in it, and HOME is no relative path */
            free(made);
            return whole;
        }
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot make a temporary folder in %s: %s", places[i],
                    strerror(errno));
        free(made);
    }
    return NULL;
}

static void note_undrawn(struct report *r) {
    size_t n = 0;
    const char *why = "";
    for (size_t i = r->n_plots; i-- > 0;)
        if (r->plots[i].svg == NULL) {
            n++;
            why = r->plots[i].why;
        }
    if (r->gnuplot_absent)
        strings_addf(r->notes,
                     "gnuplot is not installed, so the report has no plots: apt-get install gnuplot-nox, "
                     "then report again");
    else if (n > 0)
        strings_addf(r->notes, "%zu of %zu plots are not on the page, the first: %s", n, r->n_plots, why);
}

bool plots_draw(struct report *r, struct error *err) {
    sigset_t ending, before;
    ending_signals(&ending);
    sigprocmask(SIG_BLOCK, &ending, &before);
    char *temporary = make_temporary(r->in->folder, err);
    char *target = path_join(r->in->folder, "plots");
    int came = 0;
    bool good = temporary != NULL && folder_make(target, err) && write_inputs(r, temporary, err);
    if (good)
        came = draw_all(r, temporary, &ending);
    good = good && collect(temporary, target, err);
    if (good)
        note_undrawn(r);
    if (temporary != NULL)
        remove_tree(temporary, 0);
    free(temporary);
    free(target);
    if (came != 0)
        raise(came);
    sigprocmask(SIG_SETMASK, &before, NULL); /* ends us here where nobody else watches for it */
    return good;
}
