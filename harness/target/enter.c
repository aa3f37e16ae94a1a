/* SPDX-License-Identifier: Apache-2.0 */
#include "target/enter.h"

#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "target/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_CANNOT = 126, MAX_FILE = 1 << 20, MAX_CAPABILITY = 63, MAX_GROUPS = 4096 };

/* All that is read of the process before anything of ours changes. */
struct subject {
    pid_t pid;
    int pidfd, root, self;  /* the process, its root folder, our own program */
    int namespaces;         /* CLONE_NEW… of those that differ from ours */
    struct strings cgroups; /* folders of its groups, by our mounts */
    uint64_t bounding;      /* capabilities it can ever have */
    bool no_new_privileges;
    uid_t uid; /* as the process's own user namespace numbers them */
    gid_t gid;
    gid_t *groups;
    size_t n_groups;
    struct rlimit limits[RLIM_NLIMITS];
    cpu_set_t *cpus;
    size_t cpus_size;
    int nice;
    struct strings environment;
};

static char *proc_text(pid_t pid, const char *name, struct error *err) {
    char path[64];
    struct text out = {0};
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    if (!file_read(path, MAX_FILE, &out, err)) {
        text_free(&out);
        return NULL;
    }
    /* NUL separates the variables of environ: kept by length there. */
    return out.data != NULL ? text_take(&out) : mem_copy_string("");
}

/* The value of "Name:\tvalue" in /proc/PID/status; NULL: none. Release with free. */
static char *status_value(const char *status, const char *name) {
    struct strings lines = {0};
    char *value = NULL;
    strings_split(&lines, status, '\n');
    for (size_t i = 0; i < lines.count && value == NULL; i++)
        if (text_starts(lines.items[i], name) && lines.items[i][strlen(name)] == ':')
            value = mem_copy_string(text_trim(lines.items[i] + strlen(name) + 1));
    strings_free(&lines);
    return value;
}

/* An id as the process's user namespace numbers it. */
static int64_t map_id(const char *map, int64_t outside) {
    const char *line = map;
    while (line != NULL && *line != '\0') {
        long long inside = 0;
        long long from = 0;
        long long length = 0;
        if (sscanf(line, "%lld %lld %lld", &inside, &from, &length) == 3 && outside >= from &&
            outside - from < length)
            return inside + outside - from;
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return -1;
}

static bool read_ids(struct subject *s, const char *status, struct error *err) {
    struct error ignored = {0};
    char *uid_map = proc_text(s->pid, "uid_map", &ignored);
    char *gid_map = proc_text(s->pid, "gid_map", &ignored);
    char *uids = status_value(status, "Uid");
    char *gids = status_value(status, "Gid");
    char *groups = status_value(status, "Groups");
    long long uid = -1;
    long long gid = -1;
    bool good = uids != NULL && gids != NULL && sscanf(uids, "%*d %lld", &uid) == 1 &&
                sscanf(gids, "%*d %lld", &gid) == 1;
    int64_t inside_uid = good ? map_id(uid_map != NULL ? uid_map : "", uid) : -1;
    int64_t inside_gid = good ? map_id(gid_map != NULL ? gid_map : "", gid) : -1;
    good = inside_uid >= 0 && inside_gid >= 0;
    s->uid = (uid_t)inside_uid;
    s->gid = (gid_t)inside_gid;
    struct strings words = {0};
    strings_split(&words, groups != NULL ? groups : "", ' ');
    s->groups = mem_zeroed(words.count + 1, sizeof *s->groups);
    for (size_t i = 0; i < words.count && s->n_groups < MAX_GROUPS; i++) {
        int64_t value = -1;
        if (text_to_int(words.items[i], &value) && (value = map_id(gid_map, value)) >= 0)
            s->groups[s->n_groups++] = (gid_t)value;
    }
    strings_free(&words);
    free(uid_map);
    free(gid_map);
    free(uids);
    free(gids);
    free(groups);
    return good || FAIL(err, ERROR_SYSTEM, "cannot tell which user process %ld runs as", (long)s->pid);
}

static bool read_status(struct subject *s, struct error *err) {
    char *status = proc_text(s->pid, "status", err);
    if (status == NULL)
        return RELAY(err);
    char *bounding = status_value(status, "CapBnd");
    char *no_new = status_value(status, "NoNewPrivs");
    s->bounding = bounding != NULL ? strtoull(bounding, NULL, 16) : 0;
    s->no_new_privileges = no_new != NULL && strcmp(no_new, "1") == 0;
    bool good = read_ids(s, status, err);
    free(bounding);
    free(no_new);
    free(status);
    return good;
}

static const struct {
    const char *name;
    int flag;
} kinds[] = {{"user", CLONE_NEWUSER},     {"mnt", CLONE_NEWNS},  {"pid", CLONE_NEWPID},
             {"net", CLONE_NEWNET},       {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS},
             {"cgroup", CLONE_NEWCGROUP}, {"time", 0x80}};

/* Joining a user namespace that we are in already is an error, so only what differs is joined. */
static void find_namespaces(struct subject *s) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char theirs[64];
        char ours[64];
        struct stat a;
        struct stat b;
        snprintf(theirs, sizeof theirs, "/proc/%ld/ns/%s", (long)s->pid, kinds[i].name);
        snprintf(ours, sizeof ours, "/proc/self/ns/%s", kinds[i].name);
        if (stat(theirs, &a) == 0 && stat(ours, &b) == 0 && (a.st_ino != b.st_ino || a.st_dev != b.st_dev))
            s->namespaces |= kinds[i].flag;
    }
}

/* Where our mounts show the root of a hierarchy: `controllers` is the second field of /proc/PID/cgroup, ""
 * for v2. NULL: not mounted here. */
static char *hierarchy_mount(const char *mountinfo, const char *controllers) {
    struct strings lines = {0};
    char *found = NULL;
    strings_split(&lines, mountinfo, '\n');
    for (size_t i = 0; i < lines.count && found == NULL; i++) {
        struct strings f = {0};
        char *dash = strstr(lines.items[i], " - ");
        struct strings tail = {0};
        strings_split(&f, lines.items[i], ' ');
        strings_split(&tail, dash != NULL ? dash + 3 : "", ' ');
        bool v2 = tail.count > 2 && strcmp(tail.items[0], "cgroup2") == 0;
        bool v1 = tail.count > 2 && strcmp(tail.items[0], "cgroup") == 0;
        bool wanted = f.count > 4 && (controllers[0] == '\0' ? v2 : v1);
        if (wanted && v1) {
            struct strings have = {0};
            struct strings want = {0};
            strings_split(&have, tail.items[2], ',');
            strings_split(&want, controllers, ',');
            for (size_t k = 0; k < want.count; k++)
                wanted = wanted && strings_contain(&have, want.items[k]);
            strings_free(&have);
            strings_free(&want);
        }
        if (wanted)
            found = mem_copy_string(f.items[4]);
        strings_free(&f);
        strings_free(&tail);
    }
    strings_free(&lines);
    return found;
}

static bool read_cgroups(struct subject *s, struct error *err) {
    char *groups = proc_text(s->pid, "cgroup", err);
    char *mountinfo = groups != NULL ? proc_text(getpid(), "mountinfo", err) : NULL;
    char *ours = mountinfo != NULL ? proc_text(getpid(), "cgroup", err) : NULL;
    struct strings lines = {0};
    struct strings own = {0};
    strings_split(&own, ours != NULL ? ours : "", '\n');
    strings_split(&lines, groups != NULL ? groups : "", '\n');
    for (size_t i = 0; ours != NULL && i < lines.count; i++) {
        if (strings_contain(&own, lines.items[i]))
            continue; /* we are in it already, and an ordinary user could not write there */
        char *controllers = strchr(lines.items[i], ':');
        char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path++ = '\0';
        char *mount = hierarchy_mount(mountinfo, controllers + 1);
        if (mount != NULL)
            strings_addf(&s->cgroups, "%s%s/cgroup.procs", mount, strcmp(path, "/") == 0 ? "" : path);
        free(mount);
    }
    strings_free(&lines);
    strings_free(&own);
    bool good = ours != NULL;
    free(ours);
    free(mountinfo);
    free(groups);
    return good || RELAY(err);
}

/* Of the job's own variables those that change what CUDA and NCCL do, and where programs and libraries are.
 */
static void read_environment(struct subject *s) {
    static const char *const wanted[] = {"PATH=", "HOME=",   "LD_LIBRARY_PATH=", "CUDA_",
                                         "NCCL_", "NVIDIA_", "container="};
    char path[64];
    struct text all = {0};
    struct error ignored = {0};
    snprintf(path, sizeof path, "/proc/%ld/environ", (long)s->pid);
    bool good = file_read(path, MAX_FILE, &all, &ignored);
    for (size_t at = 0; good && at < all.length; at += strlen(all.data + at) + 1)
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (text_starts(all.data + at, wanted[i]))
                strings_add(&s->environment, all.data + at);
    text_free(&all);
    bool path_known = false;
    for (size_t i = 0; i < s->environment.count; i++)
        path_known = path_known || text_starts(s->environment.items[i], "PATH=");
    if (!path_known)
        strings_add(&s->environment, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
}

static bool read_subject(struct subject *s, struct error *err) {
    char path[64];
    s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
    if (s->pidfd < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "process %ld: %s", (long)s->pid, strerror(errno));
    snprintf(path, sizeof path, "/proc/%ld/root", (long)s->pid);
    s->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s->root < 0) {
        int failed = errno;
        return FAIL_NATIVE(err, ERROR_SYSTEM, failed, "cannot open %s: %s%s", path, strerror(failed),
                           failed == EACCES ? "; needs CAP_SYS_PTRACE: run as root outside of its container"
                                            : "");
    }
    s->self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (s->self < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot open this program: %s", strerror(errno));
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (prlimit(s->pid, (__rlimit_resource_t)i, NULL, &s->limits[i]) != 0)
            return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot read the limits of process %ld: %s",
                               (long)s->pid, strerror(errno));
    s->cpus = CPU_ALLOC(8192);
    s->cpus_size = CPU_ALLOC_SIZE(8192);
    if (sched_getaffinity(s->pid, s->cpus_size, s->cpus) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot read the CPUs of process %ld: %s", (long)s->pid,
                           strerror(errno));
    errno = 0;
    s->nice = getpriority(PRIO_PROCESS, (id_t)s->pid);
    find_namespaces(s);
    read_environment(s);
    return read_status(s, err) && read_cgroups(s, err);
}

/* A group is left as it was only by moving; that is this process alone, which ends with its work. */
static bool join_cgroups(const struct subject *s, struct error *err) {
    for (size_t i = 0; i < s->cgroups.count; i++) {
        int fd = open(s->cgroups.items[i], O_WRONLY | O_CLOEXEC);
        bool good = fd >= 0 && write(fd, "0", 1) == 1;
        int failed = errno;
        if (fd >= 0)
            close(fd);
        if (!good)
            return FAIL_NATIVE(err, ERROR_SYSTEM, failed, "cannot join %s: %s%s", s->cgroups.items[i],
                               strerror(failed), failed == EACCES ? "; run as root" : "");
    }
    return true;
}

static bool join_namespaces(const struct subject *s, struct error *err) {
    if (s->namespaces != 0 && setns(s->pidfd, s->namespaces) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot join the namespaces of process %ld: %s%s",
                           (long)s->pid, strerror(errno), errno == EPERM ? "; run as root" : "");
    if (fchdir(s->root) != 0 || (geteuid() == 0 && chroot(".") != 0) || chdir("/") != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot enter the root folder of process %ld: %s",
                           (long)s->pid, strerror(errno));
    return true;
}

/* As ulimit and systemd name them; "" of another kernel's. */
static const char *limit_name(int i) {
    static const char *const names[RLIM_NLIMITS] = {
        [RLIMIT_CPU] = "CPU",           [RLIMIT_FSIZE] = "FSIZE",
        [RLIMIT_DATA] = "DATA",         [RLIMIT_STACK] = "STACK",
        [RLIMIT_CORE] = "CORE",         [RLIMIT_RSS] = "RSS",
        [RLIMIT_NPROC] = "NPROC",       [RLIMIT_NOFILE] = "NOFILE",
        [RLIMIT_MEMLOCK] = "MEMLOCK",   [RLIMIT_AS] = "AS",
        [RLIMIT_LOCKS] = "LOCKS",       [RLIMIT_SIGPENDING] = "SIGPENDING",
        [RLIMIT_MSGQUEUE] = "MSGQUEUE", [RLIMIT_NICE] = "NICE",
        [RLIMIT_RTPRIO] = "RTPRIO",     [RLIMIT_RTTIME] = "RTTIME"};
    return names[i] != NULL ? names[i] : "";
}

static bool take_limits(const struct subject *s, struct error *err) {
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        if (setrlimit((__rlimit_resource_t)i, &s->limits[i]) == 0)
            continue;
        int failed = errno;
        return FAIL_NATIVE(err, ERROR_SYSTEM, failed, "cannot take over RLIMIT_%s (%d) of process %ld: %s%s",
                           limit_name(i), i, (long)s->pid, strerror(failed),
                           failed == EPERM ? "; needs CAP_SYS_RESOURCE: run as root, or raise it here first"
                                           : "");
    }
    if (sched_setaffinity(0, s->cpus_size, s->cpus) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot go to its CPUs: %s", strerror(errno));
    setpriority(PRIO_PROCESS, 0, s->nice);
    return true;
}

static bool take_identity(const struct subject *s, struct error *err) {
    for (int c = 0; geteuid() == 0 && c <= MAX_CAPABILITY; c++)
        if ((s->bounding >> c & 1) == 0 && prctl(PR_CAPBSET_READ, c, 0, 0, 0) == 1 &&
            prctl(PR_CAPBSET_DROP, c, 0, 0, 0) != 0)
            return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot give up capability %d: %s", c,
                               strerror(errno));
    bool privileged = geteuid() == 0;
    if (privileged && setgroups(s->n_groups, s->groups) != 0 && errno != EPERM)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot take over its groups: %s", strerror(errno));
    if (setresgid(s->gid, s->gid, s->gid) != 0 || setresuid(s->uid, s->uid, s->uid) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot become user %ld: %s", (long)s->uid,
                           strerror(errno));
    if (s->no_new_privileges)
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return true;
}

static _Noreturn void become(const struct subject *s, const struct strings *arguments, pid_t parent) {
    struct error err = {0};
    struct strings argv = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (parent != 0 && getppid() != parent && getppid() != 0) /* 0: the parent is in another PID namespace */
        _exit(EXIT_CANNOT);
    strings_add(&argv, "gpuvet");
    for (size_t i = 0; i < arguments->count; i++)
        strings_add(&argv, arguments->items[i]);
    if (take_limits(s, &err) && take_identity(s, &err)) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user cleared it */
        char **list = helper_environment(&argv);
        char **env = helper_environment(&s->environment);
        execveat(s->self, "", list, env, AT_EMPTY_PATH);
        FAIL_NATIVE(&err, ERROR_SYSTEM, errno, "cannot start the program there: %s", strerror(errno));
    }
    log_error(&err);
    _exit(EXIT_CANNOT);
}

int enter_main(pid_t pid, const struct strings *arguments) {
    struct subject s = {.pid = pid, .pidfd = -1, .root = -1, .self = -1};
    struct error err = {0};
    int status = 0;
    if (!read_subject(&s, &err) || !join_cgroups(&s, &err) || !join_namespaces(&s, &err)) {
        log_error(&err);
        return EXIT_CANNOT;
    }
    pid_t self = getpid();
    pid_t child = fork(); /* only a child is in the new PID namespace */
    if (child == 0)
        become(&s, arguments, self);
    if (child < 0) {
        FAIL_NATIVE(&err, ERROR_SYSTEM, errno, "cannot fork: %s", strerror(errno));
        log_error(&err);
        return EXIT_CANNOT;
    }
    /* Its stdin and stdout are the child's alone from here on, so that their ends are seen. */
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    /* Without what else is done at an exit: half in the namespaces of another, a sanitizer's look for leaks
     * would wait for ever for its helper. */
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}
