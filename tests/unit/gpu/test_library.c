/* SPDX-License-Identifier: Apache-2.0 */
/* Where a library is looked for, and in which order. */
#include "unit/unit.h"

#include "base/files.h"
#include "base/text.h"
#include "gpu/library.h"
#include "gpu/nccl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct library_name name = {
    .what = "Thing",
    .files = {"libgpuvet-thing.so.13", "libgpuvet-thing.so.12"},
    .variable = "GPUVET_THING",
    .install = "pip install thing",
};

static char folder[64];

static void copy_to(const char *path) {
    struct text data = {0};
    struct error err = {0};
    char *parent = strdup(path);
    *strrchr(parent, '/') = '\0';
    if (!file_read(GPUVET_FAKES_DIR "/libnccl.so", 16 << 20, &data, &err) || !folder_make(parent, &err) ||
        !file_replace(path, data.data, data.length, &err))
        fail_msg("%s", err.text);
    text_free(&data);
    free(parent);
}

static char *below(const char *path) {
    struct text out = {0};
    text_addf(&out, "%s/%s", folder, path);
    return text_take(&out);
}

static int begin(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/gpuvet-library-XXXXXX");
    assert_non_null(mkdtemp(folder));
    setenv("HOME", folder, 1);
    setenv("PATH", "/nowhere", 1);
    unsetenv("VIRTUAL_ENV");
    unsetenv("CONDA_PREFIX");
    unsetenv("CUDA_HOME");
    unsetenv("CUDA_PATH");
    unsetenv("GPUVET_THING");
    return 0;
}

static int end(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    setenv("PATH", "/usr/bin:/bin", 1);
    return system(command);
}

static struct library expect(const char *found, const char *ending) {
    struct library library;
    struct error err = {0};
    if (!library_open(&name, &library, &err))
        fail_msg("%s", err.text);
    assert_string_equal(library.found, found);
    assert_true(text_ends(library.path, ending));
    dlclose(library.handle);
    return library;
}

static void nowhere(void **state) {
    (void)state;
    struct library library;
    struct error err = {0};
    assert_false(library_open(&name, &library, &err));
    assert_int_equal(err.kind, ERROR_ABSENT);
    assert_non_null(strstr(err.text, "Thing (libgpuvet-thing.so.13) is not installed"));
    assert_non_null(strstr(err.text, "pip install thing"));
    assert_non_null(strstr(err.text, "GPUVET_THING=PATH"));
}

static void in_pythons_packages(void **state) {
    (void)state;
    char *environment = below("venv");
    char *there = below("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libgpuvet-thing.so.12");
    char *home = below(".local/lib/python3.11/site-packages/nvidia/thing/lib/libgpuvet-thing.so.12");
    copy_to(home);
    expect("python", "/.local/lib/python3.11/site-packages/nvidia/thing/lib/libgpuvet-thing.so.12");
    copy_to(there);
    setenv("VIRTUAL_ENV", environment, 1);
    expect("python", "/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libgpuvet-thing.so.12");
    free(environment);
    free(there);
    free(home);
}

/* The interpreter that PATH finds tells the folder too. */
static void beside_the_interpreter(void **state) {
    (void)state;
    char *python = below("conda/bin/python3"), *bin = below("conda/bin");
    char *there = below("conda/lib/python3.13/site-packages/nvidia/thing/lib/libgpuvet-thing.so.13");
    copy_to(there);
    copy_to(python);
    chmod(python, 0755);
    setenv("PATH", bin, 1);
    expect("python", "libgpuvet-thing.so.13");
    free(python);
    free(bin);
    free(there);
}

static void cuda_comes_before_python(void **state) {
    (void)state;
    char *cuda = below("cuda"), *there = below("cuda/lib64/libgpuvet-thing.so.13");
    char *home = below(".local/lib/python3.11/site-packages/nvidia/thing/lib/libgpuvet-thing.so.13");
    copy_to(home);
    copy_to(there);
    setenv("CUDA_HOME", cuda, 1);
    expect("cuda", "/cuda/lib64/libgpuvet-thing.so.13");
    free(cuda);
    free(there);
    free(home);
}

static void chosen_is_chosen(void **state) {
    (void)state;
    char *there = below("mine/libgpuvet-thing.so.12"), *mine = below("mine"),
         *home = below(".local/lib/python3.11/site-packages/nvidia/thing/lib/libgpuvet-thing.so.13");
    struct library library;
    struct error err = {0};
    copy_to(there);
    copy_to(home);
    setenv("GPUVET_THING", there, 1);
    expect("chosen", "/mine/libgpuvet-thing.so.12");
    setenv("GPUVET_THING", mine, 1);
    expect("chosen", "/mine/libgpuvet-thing.so.12");
    setenv("GPUVET_THING", "/nonexistent/lib.so", 1); /* and nothing else is taken instead */
    assert_false(library_open(&name, &library, &err));
    assert_non_null(strstr(err.text, "GPUVET_THING"));
    setenv("GPUVET_THING", "libgpuvet-thing.so.12", 1);
    assert_false(library_open(&name, &library, &err));
    assert_non_null(strstr(err.text, "no slash"));
    free(there);
    free(mine);
    free(home);
}

static void a_broken_one_says_why(void **state) {
    (void)state;
    char *home = below(".local/lib/python3.11/site-packages/nvidia/thing/lib/libgpuvet-thing.so.13");
    struct library library;
    struct error err = {0};
    copy_to(home);
    assert_true(file_replace(home, "no library", 10, &err));
    assert_false(library_open(&name, &library, &err));
    assert_non_null(strstr(err.text, "does not load"));
    assert_non_null(strstr(err.text, home));
    free(home);
}

static void described_with_hash(void **state) {
    (void)state;
    char *home = below(".local/lib/python3.11/site-packages/nvidia/thing/lib/libgpuvet-thing.so.13");
    copy_to(home);
    struct library library = expect("python", "libgpuvet-thing.so.13");
    js *plain = js_new_object(), *hashed = js_new_object();
    library_describe(&library, false, plain);
    library_describe(&library, true, hashed);
    assert_null(js_get(plain, "sha256"));
    assert_int_equal(strlen(js_get_string(hashed, "sha256", "")), 64);
    assert_true(js_get_int(plain, "bytes", 0) > 1000);
    js_free(plain);
    js_free(hashed);
    free(home);
}

static void versions_of_nccl(void **state) {
    (void)state;
    char text[32];
    nccl_version_text(22809, text, sizeof text);
    assert_string_equal(text, "2.28.9");
    nccl_version_text(2708, text, sizeof text);
    assert_string_equal(text, "2.7.8");
    nccl_version_text(21005, text, sizeof text);
    assert_string_equal(text, "2.10.5");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nowhere, begin, end),
        cmocka_unit_test_setup_teardown(in_pythons_packages, begin, end),
        cmocka_unit_test_setup_teardown(beside_the_interpreter, begin, end),
        cmocka_unit_test_setup_teardown(cuda_comes_before_python, begin, end),
        cmocka_unit_test_setup_teardown(chosen_is_chosen, begin, end),
        cmocka_unit_test_setup_teardown(a_broken_one_says_why, begin, end),
        cmocka_unit_test_setup_teardown(described_with_hash, begin, end),
        cmocka_unit_test(versions_of_nccl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
