/* SPDX-License-Identifier: Apache-2.0 */
/* The driver on the disk: what a module's file says of itself, which of several is taken, modprobe.d. */
#include "system/driver_state.h"
#include "system/modinfo.h"

#include "unit/tree.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- modinfo ---- */

/* A module with nothing but .modinfo, a table of names, and perhaps a signature behind. */
static void make_module(const char *info, size_t info_length, const char *signer, struct text *out) {
    static const char names[] = "\0.modinfo\0.shstrtab";
    Elf64_Ehdr head = {.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3, .e_shstrndx = 2};
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    Elf64_Shdr sections[3] = {{0}};
    sections[1] =
        (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = sizeof head, .sh_size = info_length};
    sections[2] = (Elf64_Shdr){.sh_name = 10,
                               .sh_type = SHT_STRTAB,
                               .sh_offset = sizeof head + info_length,
                               .sh_size = sizeof names};
    head.e_shoff = sizeof head + info_length + sizeof names;
    text_add_bytes(out, (const char *)&head, sizeof head);
    text_add_bytes(out, info, info_length);
    text_add_bytes(out, names, sizeof names);
    text_add_bytes(out, (const char *)sections, sizeof sections);
    if (signer != NULL) {
        char size = (char)(strlen(signer) + 7);
        const char trailer[12] = {0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, size};
        const char common_name[7] = {0x06, 0x03, 0x55, 0x04, 0x03, 0x0c, (char)strlen(signer)};
        text_add_bytes(out, common_name, sizeof common_name);
        text_add_bytes(out, signer, strlen(signer));
        text_add_bytes(out, trailer, sizeof trailer);
        text_add(out, "~Module signature appended~\n");
    }
}

static const char info[] =
    "license=Dual MIT/GPL\0version=580.159.04\0vermagic=6.14.11-5-pve SMP preempt\0alias=x";

static void modinfo_is_read(void **state) {
    (void)state;
    struct text file = {0};
    make_module(info, sizeof info, "DKMS module signing key", &file);
    js *found = modinfo_of((const unsigned char *)file.data, file.length);
    assert_string_equal(js_get_string(found, "version", ""), "580.159.04");
    assert_string_equal(js_get_string(found, "license", ""), "Dual MIT/GPL");
    assert_string_equal(js_get_string(found, "vermagic", ""), "6.14.11-5-pve SMP preempt");
    assert_string_equal(js_get_string(found, "signer", ""), "DKMS module signing key");
    js_free(found);
    text_clear(&file);
    make_module(info, sizeof info, NULL, &file);
    found = modinfo_of((const unsigned char *)file.data, file.length);
    assert_string_equal(js_get_string(found, "signer", "?"), "");
    js_free(found);
    text_free(&file);
}

/* Cut at every length, and with every byte of the head and the section table made odd. */
static void damaged_modules_are_survived(void **state) {
    (void)state;
    struct text file = {0};
    make_module(info, sizeof info, "a key", &file);
    for (size_t length = 0; length < file.length; length++) {
        unsigned char *copy = malloc(length > 0 ? length : 1);
        memcpy(copy, file.data, length);
        js_free(modinfo_of(copy, length));
        free(copy);
    }
    for (size_t at = 0; at < file.length; at++)
        for (int value = 0; value < 256; value += 51) {
            unsigned char *copy = malloc(file.length);
            memcpy(copy, file.data, file.length);
            copy[at] = (unsigned char)value;
            js_free(modinfo_of(copy, file.length));
            free(copy);
        }
    assert_null(modinfo_of((const unsigned char *)"\xfd"
                                                  "7zXZ",
                           5));
    text_free(&file);
}

/* ---- small questions ---- */

static void releases_compare_as_numbers(void **state) {
    (void)state;
    static const char *const ascending[] = {"5.15.0-9-generic", "5.15.0-101-generic", "6.8.12-4-pve",
                                            "6.8.12-10-pve",    "6.12.1-arch1-1",     "6.14.4-arch1-2"};
    for (size_t i = 0; i < sizeof ascending / sizeof *ascending; i++)
        for (size_t k = 0; k < sizeof ascending / sizeof *ascending; k++) {
            int order = driver_release_compare(ascending[i], ascending[k]);
            assert_true(i < k ? order < 0 : i > k ? order > 0 : order == 0);
        }
}

static void versions_are_told_from_other_numbers(void **state) {
    (void)state;
    static const char *const good[] = {"580.159.04", "570.144", "304.137"};
    static const char *const bad[] = {"1",     "1.0.0", "13.1.0.3", "580",         "580.",
                                      "580.x", "",      "v580.1",   "580.159.04-1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(driver_is_version(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(driver_is_version(bad[i]));
    assert_false(driver_is_version(NULL));
}

/* ---- a capture ---- */

static int enter(void **state) {
    if (tree_enter(state) != 0)
        return -1;
    tree_put("manifest.json", "{\"schema\":\"gpuvet.capture/1\"}");
    tree_put("root/proc/sys/kernel/osrelease", "6.14.11-5-pve\n");
    return 0;
}

static void read_state(struct source *source, struct driver_state *out) {
    struct error err = {0};
    if (!source_capture(tree_folder, source, &err))
        fail_msg("%s", err.text);
    driver_state_read(source, out);
}

static void the_module_that_modprobe_takes(void **state) {
    (void)state;
    struct source source;
    struct driver_state driver;
    tree_put("files.tsv", "/usr/lib/modules/6.14.11-5-pve/kernel/drivers/video/nvidia.ko\tf\n"
                          "/usr/lib/modules/6.14.11-5-pve/updates/dkms/nvidia-current.ko.zst\tf\n"
                          "/usr/lib/modules/6.14.11-5-pve/updates/dkms/nvidia-current-uvm.ko.zst\tf\n"
                          "/usr/lib/modules/6.8.12-9-pve/updates/dkms/nvidia.ko\tf\n");
    tree_put("probes.json",
             "{\"modinfo\":{\"/usr/lib/modules/6.14.11-5-pve/updates/dkms/nvidia-current.ko.zst\":"
             "{\"version\":\"580.1.2\",\"signer\":\"\"}}}");
    read_state(&source, &driver);
    assert_non_null(driver.disk);
    assert_string_equal(driver.disk->path, "/lib/modules/6.14.11-5-pve/updates/dkms/nvidia-current.ko.zst");
    assert_string_equal(driver.disk->version, "580.1.2");
    assert_string_equal(driver.disk->signer, "");
    assert_null(driver.disk->license);
    assert_non_null(driver_state_module(&driver, "6.8.12-9-pve", "nvidia"));
    assert_null(driver_state_module(&driver, "6.8.12-9-pve", "nvidia-uvm"));
    driver_state_free(&driver);
    source_free(&source);
    tree_put("root/lib/modules/6.14.11-5-pve/modules.dep", "kernel/drivers/video/nvidia.ko:\n");
    read_state(&source, &driver);
    assert_string_equal(driver.disk->path, "/lib/modules/6.14.11-5-pve/kernel/drivers/video/nvidia.ko");
    driver_state_free(&driver);
    source_free(&source);
}

static const struct modprobe_line *find_line(const struct driver_state *state, const char *command,
                                             const char *module) {
    for (size_t i = 0; i < state->n_lines; i++)
        if (strcmp(state->lines[i].command, command) == 0 && strcmp(state->lines[i].module, module) == 0)
            return &state->lines[i];
    return NULL;
}

static void modprobe_lines(void **state) {
    (void)state;
    struct source source;
    struct driver_state driver;
    tree_put(
        "root/etc/modprobe.d/a.conf",
        "# blacklist nvidia\n\n  blacklist\tnouveau\noptions nvidia-uvm  uvm_disable_hmm=1 x=2\nblacklist\nblacklist pcspkr\n");
    tree_put("root/usr/lib/modprobe.d/a.conf", "blacklist nvidia\n"); /* hidden by the one in /etc */
    tree_put("root/usr/lib/modprobe.d/b.conf", "install nvidia_drm /bin/false");
    tree_put("root/etc/modprobe.d/c.txt", "blacklist nvidia\n"); /* not .conf */
    tree_put("root/proc/cmdline",
             "ro modprobe.blacklist=pcspkr,nova_core rd.driver.blacklist=nvidia nouveau.modeset=0\n");
    read_state(&source, &driver);
    assert_null(find_line(&driver, "blacklist", "nvidia"));
    const struct modprobe_line *line = find_line(&driver, "blacklist", "nouveau");
    assert_string_equal(line->file, "/etc/modprobe.d/a.conf");
    assert_int_equal(line->line, 3);
    line = find_line(&driver, "options", "nvidia_uvm");
    assert_int_equal(line->line, 4);
    assert_string_equal(line->rest, "uvm_disable_hmm=1 x=2");
    assert_string_equal(find_line(&driver, "install", "nvidia_drm")->rest, "/bin/false");
    assert_string_equal(find_line(&driver, "blacklist", "nova_core")->file, "/proc/cmdline");
    assert_string_equal(find_line(&driver, "options", "nouveau")->rest, "modeset=0");
    assert_int_equal(driver.n_lines, 5);
    driver_state_free(&driver);
    source_free(&source);
}

static void what_is_not_there_is_unknown(void **state) {
    (void)state;
    struct source source;
    struct driver_state driver;
    read_state(&source, &driver);
    assert_false(driver.files.known);
    assert_null(driver.disk);
    assert_int_equal(driver.secure_boot, -1);
    assert_int_equal(driver_state_loaded(&driver, "nvidia"), -1);
    driver_state_free(&driver);
    source_free(&source);
    tree_put("root/proc/modules", "nvidia_uvm 1 2 - Live 0x0\nnvidia_drm 1 0 - Live 0x0\n");
    read_state(&source, &driver);
    assert_int_equal(driver_state_loaded(&driver, "nvidia"), 0);
    assert_int_equal(driver_state_loaded(&driver, "nvidia_uvm"), 1);
    driver_state_free(&driver);
    source_free(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modinfo_is_read),
        cmocka_unit_test(damaged_modules_are_survived),
        cmocka_unit_test(releases_compare_as_numbers),
        cmocka_unit_test(versions_are_told_from_other_numbers),
        cmocka_unit_test_setup_teardown(the_module_that_modprobe_takes, enter, tree_leave),
        cmocka_unit_test_setup_teardown(modprobe_lines, enter, tree_leave),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_unknown, enter, tree_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
