/* SPDX-License-Identifier: Apache-2.0 */
/* Trying device filters from outside: a running container's group, seen from the host. The caller's own group
 * is tried by tests/cli/doctor_live_cgroup.sh. */
#include "system/device_cgroup.h"

#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/unit.h"

enum { UVM = 333, NVIDIA = 195 };

struct rig {
    char mount[256], top[320], group[400], root[64];
    pid_t container;
};

static bool find_mount(char *out, size_t size) {
    FILE *file = fopen("/proc/mounts", "re");
    char line[1024], path[256], type[64];
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = sscanf(line, "%*s %255s %63s", path, type) == 2 && strcmp(type, "cgroup2") == 0;
    if (file != NULL)
        fclose(file);
    if (found)
        snprintf(out, size, "%s", path);
    return found;
}

/* False: this kernel or user takes no filter. */
static bool filter(const char *group, const char *numbers) {
    char command[1024];
    snprintf(command, sizeof command, "python3 '%s/tests/cli/device_filter.py' '%s' %s >/dev/null 2>&1",
             GPUVET_SOURCE_DIR, group, numbers);
    return system(command) == 0;
}

static void write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        _exit(1);
    close(fd);
}

/* Something like a container: a process with a root of its own that has nodes, in a group named as LXC does.
 */
static _Noreturn void be_container(const struct rig *rig, int ready) {
    char procs[512], node[128];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(node, sizeof node, "%s/dev", rig->root);
    mkdir(node, 0755);
    snprintf(node, sizeof node, "%s/dev/nvidia-uvm", rig->root);
    write_file(node, "");
    snprintf(procs, sizeof procs, "%s/cgroup.procs", rig->group);
    write_file(procs, "0");
    if (chroot(rig->root) != 0 || chdir("/") != 0 || write(ready, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void start(struct rig *rig, const char *numbers) {
    int ends[2];
    char byte;
    *rig = (struct rig){.root = "/tmp/gpuvet-root-XXXXXX", .container = -1};
    if (geteuid() != 0 || !find_mount(rig->mount, sizeof rig->mount))
        skip_because("filters are tried by root, and where a cgroup v2 is mounted");
    snprintf(rig->top, sizeof rig->top, "%s/gpuvet-unit.%d", rig->mount, (int)getpid());
    snprintf(rig->group, sizeof rig->group, "%s/lxc.payload.made%d", rig->top, (int)getpid());
    assert_non_null(mkdtemp(rig->root));
    if (mkdir(rig->top, 0755) != 0 || mkdir(rig->group, 0755) != 0 || !filter(rig->group, numbers)) {
        rmdir(rig->group);
        rmdir(rig->top);
        rmdir(rig->root);
        skip_because("no group with a filter can be made here");
    }
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    rig->container = fork();
    if (rig->container == 0)
        be_container(rig, ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
}

static void stop(const struct rig *rig) {
    char command[256];
    kill(rig->container, SIGKILL);
    waitpid(rig->container, NULL, 0);
    snprintf(command, sizeof command, "rm -rf %s", rig->root);
    assert_int_equal(system(command), 0);
    assert_int_equal(rmdir(rig->group), 0); /* nothing of gpuvet's is left in it */
    assert_int_equal(rmdir(rig->top), 0);
}

static js *probe(bool containers) {
    struct chrdev chrdevs[] = {
        {(char *)"nvidia", NVIDIA}, {(char *)"nvidiactl", NVIDIA}, {(char *)"nvidia-uvm", UVM}};
    struct facts facts = {.chrdevs = chrdevs, .n_chrdevs = 3};
    struct device_nodes nodes = {.known = true};
    struct source source;
    struct error err = {0};
    assert_true(source_live(&source, &err));
    js *out = device_cgroup_probe(&source, &facts, &nodes, containers);
    source_free(&source);
    return out;
}

static const js *find(const js *list, const char *key, const char *value) {
    for (size_t i = 0; i < js_length(list); i++)
        if (strcmp(js_get_string(js_at(list, i), key, ""), value) == 0)
            return js_at(list, i);
    return NULL;
}

static void denied(void **state) {
    (void)state;
    struct rig rig;
    char name[64], numbers[32], level[128];
    snprintf(numbers, sizeof numbers, "%d", UVM);
    start(&rig, numbers);
    snprintf(name, sizeof name, "made%d", (int)getpid());
    snprintf(level, sizeof level, "%s", rig.group + strlen(rig.mount));
    js *out = probe(true);
    const js *container = find(js_get(out, "containers"), "name", name);
    assert_non_null(container);
    assert_string_equal(js_get_string(container, "manager", ""), "lxc");
    assert_string_equal(js_string(js_at(js_get(container, "nodes"), 0), ""), "/dev/nvidia-uvm");
    const js *uvm = find(js_get(container, "tried"), "path", "/dev/nvidia-uvm");
    assert_string_equal(js_get_string(uvm, "open", ""), "EPERM");
    assert_string_equal(js_get_string(uvm, "denied_at", ""), level);
    const js *ctl = find(js_get(container, "tried"), "path", "/dev/nvidiactl");
    assert_string_equal(js_get_string(ctl, "open", ""), "ok");
    /* The caller itself is not refused. */
    assert_string_equal(js_get_string(find(js_get(out, "tried"), "path", "/dev/nvidia-uvm"), "open", ""),
                        "ok");
    js_free(out);
    stop(&rig);
}

static void allowed(void **state) {
    (void)state;
    struct rig rig;
    char name[64];
    start(&rig, "1000");
    snprintf(name, sizeof name, "made%d", (int)getpid());
    js *out = probe(true);
    const js *container = find(js_get(out, "containers"), "name", name);
    assert_string_equal(
        js_get_string(find(js_get(container, "tried"), "path", "/dev/nvidia-uvm"), "open", ""), "ok");
    js_free(out);
    out = probe(false);
    assert_null(js_get(out, "containers"));
    js_free(out);
    stop(&rig);
}

static void no_driver(void **state) {
    (void)state;
    struct facts facts = {0};
    struct device_nodes nodes = {.known = true};
    struct source source;
    struct error err = {0};
    assert_true(source_live(&source, &err));
    assert_null(device_cgroup_probe(&source, &facts, &nodes, true));
    source_free(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(denied),
        cmocka_unit_test(allowed),
        cmocka_unit_test(no_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
