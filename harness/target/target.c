/* SPDX-License-Identifier: Apache-2.0 */
/* Names of places and the argv prefix of each. */
#include "target/target.h"

#include "base/files.h"
#include "base/mem.h"
#include "target/parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NAME = 255, MAX_ARGV_FILE = 1 << 16 };

struct kind_row {
    const char *word;
    enum target_kind kind;
    const char *name; /* what stands behind the colon */
    bool more;        /* words may follow the name */
};
static const struct kind_row kinds[] = {
    {"lxc", TARGET_LXC, "NAME", false},
    {"pct", TARGET_PCT, "ID", false},
    {"docker", TARGET_DOCKER, "NAME", true},
    {"podman", TARGET_PODMAN, "NAME", true},
    {"ssh", TARGET_SSH, "HOST", false},
    {"slurm", TARGET_SLURM, "NODE", true},
    {"command", TARGET_COMMAND, "ARGV-FILE", false},
    {"like", TARGET_LIKE, "PID", false},
};

static const struct kind_row *find_kind(const char *text, size_t length) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].word) == length && strncmp(kinds[i].word, text, length) == 0)
            return &kinds[i];
    return NULL;
}

/* A name that begins with a dash would be an option of whoever gets it. */
static bool check_name(const struct kind_row *kind, const char *name, struct error *err) {
    size_t n = strlen(name);
    bool plain = kind->kind == TARGET_LXC; /* it is a folder's name there */
    bool sound = n > 0 && n <= MAX_NAME && name[0] != '-' && !(plain && name[0] == '.');
    for (size_t i = 0; i < n && sound; i++)
        sound = (unsigned char)name[i] > ' ' && name[i] != 0x7f && (name[i] != '/' || !plain);
    for (size_t i = 0; i < n && sound && (kind->kind == TARGET_LIKE || kind->kind == TARGET_PCT); i++)
        sound = isdigit((unsigned char)name[i]) && n < 10;
    return sound || FAIL(err, ERROR_USAGE, "'%s:%s' names nothing: %s:%s is wanted", kind->word, name,
                         kind->word, kind->name);
}

/* "NAME" or "NAME word word"; for slurm also "NODE/word word". */
static void split_name(const struct kind_row *kind, const char *text, struct target *out) {
    size_t n = strlen(text);
    if (kind->more)
        n = strcspn(text, kind->kind == TARGET_SLURM ? " /" : " ");
    out->id = mem_copy_bytes(text, n);
    struct strings words = {0};
    strings_split(&words, text + n + (text[n] == '/' ? 1 : 0), ' ');
    for (size_t i = 0; i < words.count; i++)
        if (words.items[i][0] != '\0')
            strings_add(&out->extra, words.items[i]);
    strings_free(&words);
}

/* One word a line, which may end as it does on Windows; the end of the file may lack its newline. */
static bool read_prefix(struct target *t, struct error *err) {
    struct text all = {0};
    bool good = file_read(t->id, MAX_ARGV_FILE, &all, err);
    struct strings lines = {0};
    if (good && memchr(text_string(&all), '\0', all.length) != NULL)
        good = FAIL(err, ERROR_USAGE, "%s: not a text file: one word of the command a line", t->id);
    if (good)
        strings_split(&lines, text_string(&all), '\n');
    if (lines.count > 0 && lines.items[lines.count - 1][0] == '\0')
        free(lines.items[--lines.count]);
    for (size_t i = 0; i < lines.count; i++) {
        size_t n = strlen(lines.items[i]);
        if (n > 0 && lines.items[i][n - 1] == '\r')
            lines.items[i][n - 1] = '\0';
        strings_add(&t->prefix, lines.items[i]);
    }
    if (good && (t->prefix.count == 0 || t->prefix.items[0][0] == '\0'))
        good = FAIL(err, ERROR_USAGE, "%s: no command in it: one word of it a line", t->id);
    strings_free(&lines);
    text_free(&all);
    return good || error_context(err, "--in %s", t->name);
}

static void add_words(struct strings *list, const char *const *words) {
    for (size_t i = 0; words[i] != NULL; i++)
        strings_add(list, words[i]);
}

static bool make_prefix(struct target *t, struct error *err) {
    static const char *const ssh[] = {"ssh",
                                      "-T",
                                      "-oBatchMode=yes",
                                      "-oConnectTimeout=15",
                                      "-oServerAliveInterval=5",
                                      "-oServerAliveCountMax=3",
                                      "--",
                                      NULL};
    /* --overlap: inside an allocation the step shares what others of it use. */
    static const char *const srun[] = {"srun",       "--quiet",   "--unbuffered",      "--nodes=1",
                                       "--ntasks=1", "--overlap", "--job-name=gpuvet", NULL};
    switch (t->kind) {
    case TARGET_HOST:
        return true;
    case TARGET_LXC:
        add_words(&t->prefix, (const char *const[]){"lxc-attach", "--clear-env", "-n", t->id, "--", NULL});
        return true;
    case TARGET_PCT:
        add_words(&t->prefix, (const char *const[]){"pct", "exec", t->id, "--", NULL});
        return true;
    case TARGET_DOCKER:
    case TARGET_PODMAN:
        strings_add(&t->prefix, t->kind == TARGET_DOCKER ? "docker" : "podman");
        add_words(&t->prefix, (const char *const[]){"exec", "-i", t->id, NULL});
        return true;
    case TARGET_SSH:
        add_words(&t->prefix, ssh);
        strings_add(&t->prefix, t->id);
        return true;
    case TARGET_SLURM:
        add_words(&t->prefix, srun);
        strings_addf(&t->prefix, "--nodelist=%s", t->id);
        for (size_t i = 0; i < t->extra.count; i++)
            strings_add(&t->prefix, t->extra.items[i]);
        return true;
    case TARGET_COMMAND:
        return read_prefix(t, err);
    case TARGET_LIKE:
        add_words(&t->prefix, (const char *const[]){"/proc/self/exe", "enter", t->id, "--", NULL});
        return true;
    }
    return false;
}

/* What runs the prefix sees only what it needs to find its daemon, its keys and its programs: nothing of the
 * coordinator's environment may leak into a container (lxc-attach and pct would let it). */
static void take_environment(struct strings *out) {
    static const char *const names[] = {
        "PATH",       "HOME",     "USER", "LOGNAME", "TERM", "TMPDIR", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR",
        "KRB5CCNAME", "LXC_PATH", NULL};
    static const char *const beginnings[] = {"DOCKER_", "CONTAINER_HOST", "CONTAINERS_", "SLURM_", NULL};
    for (char **e = environ; *e != NULL; e++) {
        bool wanted = false;
        for (size_t i = 0; names[i] != NULL; i++)
            wanted = wanted || (text_starts(*e, names[i]) && (*e)[strlen(names[i])] == '=');
        for (size_t i = 0; beginnings[i] != NULL; i++)
            wanted = wanted || text_starts(*e, beginnings[i]);
        if (wanted)
            strings_add(out, *e);
    }
    strings_add(out, "LC_ALL=C"); /* what is read of their output is English */
}

/* A number names a container of Proxmox where that is what runs here: its own tool then knows best. */
static void prefer_pct(struct target *t) {
    struct text conf = {0};
    text_addf(&conf, "/etc/pve/lxc/%s.conf", t->id);
    bool number = t->id[0] != '\0' && t->id[strspn(t->id, "0123456789")] == '\0';
    if (t->kind == TARGET_LXC && number && access(text_string(&conf), F_OK) == 0)
        t->kind = TARGET_PCT;
    text_free(&conf);
}

bool target_parse(const char *text, struct target *out, struct error *err) {
    *out = (struct target){.interrupt_fd = -1};
    out->name = mem_copy_string(text);
    if (strcmp(text, "host") == 0)
        return true;
    size_t n = strcspn(text, ":");
    const struct kind_row *kind = text[n] == ':' ? find_kind(text, n) : NULL;
    bool good = kind != NULL ||
                FAIL(err, ERROR_USAGE,
                     "cannot measure in '%s': host, lxc:NAME, pct:ID, docker:NAME, podman:NAME, ssh:HOST, "
                     "slurm:NODE, command:ARGV-FILE or like:PID is wanted",
                     text);
    if (good) {
        out->kind = kind->kind;
        split_name(kind, text + n + 1, out);
        good = check_name(kind, out->id, err);
    }
    if (good) {
        prefer_pct(out);
        take_environment(&out->environment);
        good = make_prefix(out, err);
    }
    if (!good)
        target_free(out);
    return good;
}

void target_free(struct target *target) {
    free(target->name);
    free(target->id);
    strings_free(&target->extra);
    strings_free(&target->prefix);
    strings_free(&target->environment);
    *target = (struct target){.interrupt_fd = -1};
}
