/* SPDX-License-Identifier: Apache-2.0 */
/* Writing captures: what is recorded, what is left out, and that nothing is written through a link. */
#include "unit/unit.h"

#include "base/files.h"
#include "base/mem.h"
#include "system/capture_clean.h"
#include "system/capture_tree.h"
#include "system/capture_write.h"
#include "system/look.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- recording ---- */

static const struct recorded *find(const struct recording *r, const char *path) {
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->items[i].path, path) == 0)
            return &r->items[i];
    return NULL;
}

static void records_what_was_seen(void **state) {
    (void)state;
    struct recording r = {0};
    struct strings names = {0};
    recording_read(&r, "/b", "first", 5, 0);
    recording_read(&r, "/b", "x", 1, 0); /* a shorter look later changes nothing */
    recording_read(&r, "/a", "", 0, EACCES);
    recording_read(&r, "/gone", "", 0, ENOENT);
    recording_read(&r, "/c", "1", 1, 0);
    recording_read(&r, "/c", "123", 3, 0);
    recording_read(&r, "/c", "", 0, EACCES);
    recording_read(&r, "/empty", "", 0, 0);
    strings_add(&names, "one");
    recording_list(&r, "/d", &names);
    assert_string_equal(find(&r, "/b")->bytes, "first");
    assert_int_equal(find(&r, "/a")->why, EACCES);
    assert_null(find(&r, "/gone"));
    assert_string_equal(find(&r, "/c")->bytes, "123");
    assert_int_equal(find(&r, "/c")->why, 0);
    assert_non_null(find(&r, "/empty")->bytes);
    assert_true(find(&r, "/d")->listed);
    assert_non_null(find(&r, "/d/one"));
    assert_null(find(&r, "/d/one")->bytes);
    assert_false(r.cut);
    for (size_t i = 1; i < r.count; i++)
        assert_true(strcmp(r.items[i - 1].path, r.items[i].path) < 0);
    recording_path(&r, "relative");
    assert_true(r.cut);
    strings_free(&names);
    recording_free(&r);
}

/* ---- cleaning ---- */

static void check_clean(const char *path, const char *before, const char *after) {
    struct text out = {0};
    bool kept = capture_clean_file(path, before, strlen(before), &out);
    if (kept != (after != NULL) || (kept && strcmp(text_string(&out), after) != 0))
        fail_msg("%s:\n%s", path, text_string(&out));
    text_free(&out);
}

static void leaves_out_what_is_nobodys_business(void **state) {
    (void)state;
    check_clean("/etc/machine-id", "0123\n", NULL);
    check_clean("/sys/class/dmi/id/product_uuid", "0123\n", NULL);
    check_clean("/sys/class/dmi/id/board_serial", "0123\n", NULL);
    check_clean(
        "/etc/pve/lxc/129.conf",
        "arch: amd64\nhostname: db\n# password is x\n#lxc.cgroup2.devices.allow: c 1:1 rwm\n"
        "net0: name=eth0,hwaddr=BC:24:11:00:00:01\nlxc.environment: KEY=x\n"
        "  lxc.cgroup2.devices.allow: c 195:* rwm\ndev0: /dev/nvidia0\nbare\n\n[snap]\nrootfs: a\n",
        "arch: amd64\nhostname: left-out\n#\n#lxc.cgroup2.devices.allow: c 1:1 rwm\n"
        "net0: left-out\nlxc.environment: left-out\n"
        "  lxc.cgroup2.devices.allow: c 195:* rwm\ndev0: /dev/nvidia0\nbare\n\n[snap]\nrootfs: left-out\n");
    check_clean("/etc/systemd/system/infer.service",
                "[Service]\nEnvironment=KEY=x\nEnvironment=\"CUDA_VISIBLE_DEVICES=0\"\n"
                "ExecStart=/usr/bin/infer --key x\nExecStartPre=/usr/bin/nvidia-smi -pm 1\nUser=ann\n"
                "DeviceAllow=/dev/nvidia0 rw",
                "[Service]\nEnvironment=\nEnvironment=\"CUDA_VISIBLE_DEVICES=0\"\n"
                "ExecStart=/usr/bin/infer\nExecStartPre=/usr/bin/nvidia-smi -pm 1\nUser=left-out\n"
                "DeviceAllow=/dev/nvidia0 rw");
    check_clean("/etc/group", "video:x:44:ann,bob\nroot:x:0:\n", "video:x:44:\nroot:x:0:\n");
    check_clean(
        "/proc/self/mountinfo",
        "25 1 0:5 / /mnt rw,nodev shared:1 - nfs4 server:/x rw,addr=10.0.0.1\n"
        "26 1 8:1 / / rw - ext4 /dev/sda1 rw\n",
        "25 1 0:5 / /mnt rw,nodev shared:1 - nfs4 left-out rw\n26 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    check_clean("/etc/docker/daemon.json",
                "{\"runtimes\":{\"nvidia\":{}},\"proxies\":{\"http-proxy\":\"http://me:pw@host:3128\"},"
                "\"api_token\": \"x y\",\"secrets\":{\"a\":1}}",
                "{\"runtimes\":{\"nvidia\":{}},\"proxies\":{\"http-proxy\":\"http://left-out@host:3128\"},"
                "\"api_token\": \"left-out\",\"secrets\":{\"a\":1}}");
    check_clean("/var/run/cdi/nvidia.yaml", "  env: [LICENCE_TOKEN=hush]\n",
                "  env: [LICENCE_TOKEN=left-out]\n");
    check_clean(
        "/var/lib/docker/containers/0123456789ab/hostconfig.json",
        "{\"Binds\":[\"/srv/ann:/x\",\"/dev/nvidia-uvm:/dev/nvidia-uvm\",7],\"ExtraHosts\":[\"db:10.0.0.1\"],"
        "\"Devices\":[{\"PathOnHost\":\"/dev/nvidia0\"}],\"Privileged\":false,\"Dns\":[\"10.0.0.2\"],"
        "\"Mounts\":[{\"Source\":\"/dev/nvidia0\"},{\"Source\":\"/srv/ann\"}]}",
        "{\"Devices\":[{\"PathOnHost\":\"/dev/nvidia0\"}],\"Privileged\":false,"
        "\"Binds\":[\"/dev/nvidia-uvm:/dev/nvidia-uvm\",\"/dev/nvidia0\"]}\n");
    check_clean("/var/lib/docker/containers/0123456789ab/hostconfig.json", "no JSON, and a secret",
                "{\"Binds\":[]}\n");
    check_clean(
        "/var/lib/containers/storage/overlay-containers/0123456789ab/userdata/config.json",
        "{\"process\":{\"args\":[\"llm\",\"--key\",\"hush\"],\"env\":[\"TOKEN=hush\"]},\"hostname\":\"db\",\"root\":{\"path\":"
        "\"/srv/ann\"},\"mounts\":[{\"destination\":\"/x\",\"source\":\"/srv/ann\"},{\"destination\":\"/dev/nvidia0\","
        "\"source\":\"/dev/nvidia0\",\"options\":[\"rw\"]}],\"annotations\":{\"io.container.manager\":\"libpod\","
        "\"org.example.owner\":\"ann\"},\"hooks\":{\"prestart\":[{\"path\":\"/usr/bin/hook\",\"args\":[\"hush\"],\"env\":[\"A=hush\"]}],"
        "\"other\":[{\"path\":\"/srv/ann\"}]},\"linux\":{\"cgroupsPath\":\"/ann\",\"devices\":[{\"path\":\"/dev/nvidia0\",\"type\":\"c\","
        "\"major\":195,\"minor\":0,\"fileMode\":8630,\"uid\":7}],\"namespaces\":[{\"type\":\"network\",\"path\":\"/run/netns/ann\"}],"
        "\"resources\":{\"devices\":[{\"allow\":false,\"access\":\"rwm\"}],\"memory\":{\"limit\":1}},\"seccomp\":{}}}",
        "{\"annotations\":{\"io.container.manager\":\"libpod\"},\"mounts\":[{\"destination\":\"/dev/nvidia0\",\"source\":"
        "\"/dev/nvidia0\"}],\"hooks\":{\"prestart\":[{\"path\":\"/usr/bin/hook\"}]},\"linux\":{\"devices\":[{\"path\":\"/dev/nvidia0\","
        "\"type\":\"c\",\"major\":195,\"minor\":0,\"fileMode\":8630}],\"cgroupsPath\":\"left-out\",\"resources\":{\"devices\":"
        "[{\"allow\":false,\"access\":\"rwm\"}]}}}\n");
    check_clean("/srv/pods/vfs-containers/containers.json",
                "[{\"id\":\"a1\",\"names\":[\"infer\"],\"image\":\"x\",\"metadata\":\"{}\"}]",
                "[{\"id\":\"a1\",\"names\":[\"infer\"]}]\n");
    check_clean("/srv/pods/vfs-containers/containers.json", "no JSON, and a secret", "[]\n");
    check_clean("/proc/cmdline", "ro quiet rd.password=hush,more iommu=pt\n",
                "ro quiet rd.password=left-out,more iommu=pt\n");
}

static void keeps_variables_by_allow_list(void **state) {
    (void)state;
    static const char before[] = "PATH=/x\0container=lxc\0API_KEY=1\0NVIDIA_VISIBLE_DEVICES=all";
    static const char after[] = "container=lxc\0NVIDIA_VISIBLE_DEVICES=all";
    struct text out = {0};
    assert_true(capture_clean_file("/proc/1/environ", before, sizeof before - 1, &out));
    assert_int_equal(out.length, sizeof after);
    assert_memory_equal(out.data, after, sizeof after);
    text_free(&out);
    /* Bytes that are no text stay as they are. */
    static const char config[] = "\xde\x10\0password=x";
    assert_true(capture_clean_file("/sys/bus/pci/devices/x/config", config, sizeof config - 1, &out));
    assert_int_equal(out.length, sizeof config - 1);
    assert_memory_equal(out.data, config, sizeof config - 1);
    text_free(&out);
}

static void leaves_addresses_out_of_the_log(void **state) {
    (void)state;
    struct text out = {0};
    capture_clean_log("[1.0] e1000 0000:00:03.0 eth0: 52:54:00:12:34:56 at 192.168.1.2.\n"
                      "[2.0] IP=10.0.0.7: nvidia 0000:41:00.0 580.159.04 10de:2bb5 1.2.3.4.5 256.1.1.1\n",
                      &out);
    assert_string_equal(text_string(&out),
                        "[1.0] e1000 0000:00:03.0 eth0: left-out at left-out.\n"
                        "[2.0] IP=left-out: nvidia 0000:41:00.0 580.159.04 10de:2bb5 1.2.3.4.5 256.1.1.1\n");
    text_free(&out);
    capture_clean_log("[3.0] systemd[1]: Hostname set to <db-7>.\n[4.0] systemd[1]: Set hostname to <db\n",
                      &out);
    assert_string_equal(text_string(&out), "[3.0] systemd[1]: Hostname set to <left-out>.\n"
                                           "[4.0] systemd[1]: Set hostname to <left-out\n");
    text_free(&out);
    capture_clean_topology("<object>\n  <info name=\"HostName\" value=\"db\"/>\n"
                           "  <info name=\"Address\" value=\"52:54:00:12:34:56\"/>\n"
                           "  <info name=\"DMIProductSerial\" value=\"1\"/>\n"
                           "  <info name=\"NVIDIAUUID\" value=\"GPU-1\"/>\n</object>\n",
                           &out);
    assert_string_equal(text_string(&out),
                        "<object>\n\n\n\n  <info name=\"NVIDIAUUID\" value=\"GPU-1\"/>\n</object>\n");
    text_free(&out);
}

/* ---- the tree ---- */

static char here[PATH_MAX];

/* ./HERE/name, a path of this machine. */
static char *place(const char *name) {
    struct text path = {0};
    text_addf(&path, "%s/%s", here, name);
    return text_take(&path);
}

static void add_read(struct capture_tree *tree, const char *name, const char *bytes) {
    char *path = place(name);
    struct recorded entry = {.path = path, .bytes = mem_copy_string(bytes), .length = strlen(bytes)};
    capture_tree_add(tree, &entry);
    free(entry.bytes);
    free(path);
}

static void make_machine(void) {
    struct error err = {0};
    assert_int_equal(system("rm -rf machine out && mkdir -p machine/real out/root"), 0);
    char *whole = realpath("machine", NULL);
    snprintf(here, sizeof here, "%s", whole);
    free(whole);
    assert_true(file_replace("machine/real/file", "on disk\n", 8, &err));
    assert_int_equal(symlink("real", "machine/way"), 0);
    assert_int_equal(symlink("../way/file", "machine/real/again"), 0);
    assert_int_equal(symlink("round", "machine/round"), 0);
}

static void check_content(const char *name, const char *want) {
    struct text path = {0};
    struct text text = {0};
    struct error err = {0};
    text_addf(&path, "out/root%s/%s", here, name);
    if (want == NULL) {
        assert_false(file_read(text_string(&path), 1 << 20, &text, &err));
    } else {
        assert_true(file_read(text_string(&path), 1 << 20, &text, &err));
        assert_string_equal(text_string(&text), want);
    }
    text_free(&text);
    text_free(&path);
}

/* What is read through links lies where they lead, and the links are there as they were. */
static void keeps_links_as_links(void **state) {
    (void)state;
    make_machine();
    struct capture_tree tree = {.root = open("out/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    assert_true(tree.root >= 0);
    add_read(&tree, "way/file", "as it was read\n");
    add_read(&tree, "real/again", "of another time\n");
    add_read(&tree, "round", "nothing");
    add_read(&tree, "not-there", "nothing");
    check_content("real/file", "as it was read\n");
    char target[64] = "";
    struct text link = {0};
    text_addf(&link, "out/root%s/way", here);
    assert_int_equal(readlink(text_string(&link), target, sizeof target - 1), 4);
    assert_string_equal(target, "real");
    check_content("not-there", NULL);
    assert_non_null(strstr(text_string(&tree.table), "/way/file\tf\t"));
    assert_null(strstr(text_string(&tree.table), "not-there"));
    assert_false(tree.cut);

    /* A link in the tree that leads out of it: nothing is written through it. */
    assert_int_equal(system("rm -rf out/root/* outside && mkdir outside"), 0);
    char *above = path_join("out/root", here);
    struct error err = {0};
    assert_true(folder_make(above, &err));
    char *trap = path_join(above, "real");
    char *outside = realpath("outside", NULL);
    assert_int_equal(symlink(outside, trap), 0);
    add_read(&tree, "real/file", "hush");
    assert_int_equal(access("outside/file", F_OK), -1);
    free(outside);
    free(trap);
    free(above);
    close(tree.root);
    text_free(&link);
    text_free(&tree.table);
    assert_int_equal(system("rm -rf machine out outside"), 0);
}

static void lists_what_is_too_large(void **state) {
    (void)state;
    make_machine();
    struct capture_tree tree = {.root = open("out/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    char *large = mem_zeroed(LOOK_LARGE + 2, 1);
    memset(large, 'x', LOOK_LARGE + 1);
    add_read(&tree, "real/file", large);
    check_content("real/file", NULL);
    assert_non_null(strstr(text_string(&tree.table), "/real/file\tf\t"));
    large[LOOK_LARGE] = '\0';
    add_read(&tree, "real/file", large);
    check_content("real/file", large);
    free(large);
    close(tree.root);
    text_free(&tree.table);
    assert_int_equal(system("rm -rf machine out"), 0);
}

static void wants_a_new_folder(void **state) {
    (void)state;
    struct error err = {0};
    assert_int_equal(system("rm -rf d l f && mkdir d && ln -s d l && touch f"), 0);
    assert_true(capture_check("d", &err));
    assert_true(capture_check("new", &err));
    assert_false(capture_check("f", &err));
    assert_false(capture_check("l", &err));
    assert_false(capture_check("", &err));
    assert_int_equal(system("touch d/x"), 0);
    assert_false(capture_check("d", &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_int_equal(system("rm -rf d l f"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_what_was_seen),
        cmocka_unit_test(leaves_out_what_is_nobodys_business),
        cmocka_unit_test(keeps_variables_by_allow_list),
        cmocka_unit_test(leaves_addresses_out_of_the_log),
        cmocka_unit_test(keeps_links_as_links),
        cmocka_unit_test(lists_what_is_too_large),
        cmocka_unit_test(wants_a_new_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
