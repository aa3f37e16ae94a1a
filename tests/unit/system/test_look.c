/* SPDX-License-Identifier: Apache-2.0 */
/* Paths below a root: by the kernel's own means and by the walk for kernels without them. */
#include "system/look.h"

#include "base/files.h"
#include "base/mem.h"

#include "unit/tree.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int make_tree(void **state) {
    return tree_enter(state) == 0 &&
                   system(
                       "mkdir -p root/etc/deep out && echo inside >root/etc/name && echo outside >out/name &&"
                       "ln -s /etc/name root/absolute && ln -s ../../../../etc/name root/etc/climb &&"
                       "ln -s etc root/folder && ln -s loop2 root/loop1 && ln -s loop1 root/loop2 &&"
                       "ln -s ../out/name root/escape && ln -s /proc/self/cwd/out/name root/magic &&"
                       "mkfifo root/fifo && head -c 9000 /dev/zero | tr '\\0' x >root/long && : >root/empty &&"
                       "printf '\\001\\033[31mred\\n' >root/control") == 0
               ? 0
               : -1;
}

/* What is read through the walk; NULL: nothing. */
static char *walk_text(const char *path) {
    int root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int found = look_walk(root, path, true);
    char *out = NULL;
    char self[64];
    struct stat st;
    if (found >= 0 && fstat(found, &st) == 0 && S_ISREG(st.st_mode)) {
        struct text text = {0};
        snprintf(self, sizeof self, "/proc/self/fd/%d", found);
        int fd = open(self, O_RDONLY | O_CLOEXEC);
        char chunk[64];
        ssize_t n = read(fd, chunk, sizeof chunk);
        text_add_bytes(&text, chunk, n > 0 ? (size_t)n : 0);
        close(fd);
        out = mem_copy_string(text_trim(text.data));
        text_free(&text);
    }
    if (found >= 0)
        close(found);
    close(root);
    return out;
}

static void stays_inside(void **state) {
    (void)state;
    static const struct {
        const char *path, *want;
    } rows[] = {
        {"/etc/name", "inside"},
        {"/absolute", "inside"},
        {"/etc/climb", "inside"},
        {"/folder/name", "inside"},
        {"/folder/../etc/./name", "inside"},
        {"/../../etc/name", "inside"},
        {"//etc///name", "inside"},
        {"/escape", NULL},
        {"/magic", NULL},
        {"/loop1", NULL},
        {"/etc/name/more", NULL},
        {"/absent", NULL},
        {"/fifo", NULL},
        {"/etc", NULL},
    };
    char *dir = path_join(tree_folder, "root");
    struct source source = {.root = dir};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *by_kernel = look_text(&source, rows[i].path);
        char *by_walk = walk_text(rows[i].path);
        if (rows[i].want == NULL) {
            assert_null(by_kernel);
            assert_null(by_walk);
        } else {
            assert_non_null(by_kernel);
            assert_non_null(by_walk);
            assert_string_equal(by_kernel, rows[i].want);
            assert_string_equal(by_walk, rows[i].want);
        }
        free(by_kernel);
        free(by_walk);
    }
    free(dir);
}

static void reads_bounded(void **state) {
    (void)state;
    char *dir = path_join(tree_folder, "root");
    struct source source = {.root = dir};
    struct text text = {0};
    assert_true(look_bytes(&source, "/long", 5, &text));
    assert_int_equal(text.length, 5);
    text_free(&text);
    char *cut = look_text(&source, "/long");
    assert_int_equal(strlen(cut), LOOK_SMALL);
    free(cut);
    assert_null(look_text(&source, "/empty"));
    struct fact red = look_fact(&source, "/%s", "control");
    assert_null(strchr(red.value, '\033'));
    free(red.value);
    char *link = look_link(&source, "/escape");
    assert_string_equal(link, "../out/name");
    free(link);
    assert_null(look_link(&source, "/etc/name"));
    assert_false(look_number(&source, "/etc/name").known);
    struct strings names = {0};
    assert_true(look_list(&source, "/folder", &names));
    assert_int_equal(names.count, 3);
    assert_string_equal(names.items[0], "climb");
    assert_false(look_list(&source, "/long", &names));
    strings_free(&names);
    free(dir);
}

/* While anything is renamed anywhere the kernel may refuse a path with ".." (EAGAIN): the answer is the same.
 */
static void is_not_disturbed_by_renames(void **state) {
    (void)state;
    char tree[] = "/tmp/gpuvet-look-XXXXXX";
    assert_non_null(mkdtemp(tree));
    struct text path = {0};
    struct error err = {0};
    text_addf(&path, "%s/a/b", tree);
    assert_true(folder_make(text_string(&path), &err));
    text_add(&path, "/link");
    assert_int_equal(symlink("../../file", text_string(&path)), 0);
    text_clear(&path);
    text_addf(&path, "%s/file", tree);
    assert_true(file_replace(text_string(&path), "7\n", 2, &err));
    text_clear(&path);
    text_addf(&path, "%s/one", tree);
    char *one = text_take(&path);
    text_addf(&path, "%s/two", tree);
    char *two = text_take(&path);
    assert_int_equal(mkdir(one, 0700), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        for (;;) {
            (void)rename(one, two);
            (void)rename(two, one);
        }
    struct source source = {.root = tree};
    int lost = 0;
    for (int i = 0; i < 150000; i++)
        lost += !look_exists(&source, "/a/b/link");
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(lost, 0);
    text_addf(&path, "rm -r %s", tree);
    assert_int_equal(system(text_string(&path)), 0);
    text_free(&path);
    free(one);
    free(two);
}

static void says_what_needs_root(void **state) {
    (void)state;
    bool root = geteuid() == 0; /* root may read everything: become somebody else for the while */
    char *dir = path_join(tree_folder, "root");
    struct source source = {.root = dir};
    assert_null(look_fact(&source, "/absent").why);
    assert_int_equal(chmod(tree_folder, 0755), 0);
    assert_int_equal(chmod("root/etc/name", 0), 0);
    if (root)
        assert_int_equal(seteuid(65534), 0);
    struct fact refused = look_fact(&source, "/etc/name");
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_null(refused.value);
    assert_string_equal(refused.why, FACT_NEEDS_ROOT);
    free(dir);
}

static struct fact fact_of(const char *value) {
    return (struct fact){.value = mem_copy_string(value)};
}

static void counts_what_differs(void **state) {
    (void)state;
    struct tally tally = {0};
    assert_null(tally_take(&tally).value);
    for (int i = 0; i < 3; i++)
        tally_add(&tally, fact_of("same"));
    struct fact one = tally_take(&tally);
    assert_string_equal(one.value, "same");
    free(one.value);
    tally_add(&tally, fact_of("b"));
    tally_add(&tally, fact_of("a"));
    tally_add(&tally, fact_of("b"));
    struct fact two = tally_take(&tally);
    assert_string_equal(two.value, "a:1,b:2");
    free(two.value);
    tally_add(&tally, (struct fact){.why = FACT_NEEDS_ROOT});
    assert_string_equal(tally_take(&tally).why, FACT_NEEDS_ROOT);
}

static void takes_words_apart(void **state) {
    (void)state;
    char several[] = "always [madvise] never", one[] = "plain", open[] = "a [b";
    assert_string_equal(look_choice(several), "madvise");
    assert_string_equal(look_choice(one), "plain");
    assert_string_equal(look_choice(open), "a [b");
    static const char text[] = "model name\t: EPYC 9\nname: x\nodd line\nflags :  a b  \n";
    char *value = look_field(text, "name");
    assert_string_equal(value, "x");
    free(value);
    value = look_field(text, "flags");
    assert_string_equal(value, "a b");
    free(value);
    assert_null(look_field(text, "odd line"));
    assert_null(look_field("", "name"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_inside),         cmocka_unit_test(reads_bounded),
        cmocka_unit_test(says_what_needs_root), cmocka_unit_test(counts_what_differs),
        cmocka_unit_test(takes_words_apart),    cmocka_unit_test(is_not_disturbed_by_renames),
    };
    return cmocka_run_group_tests(tests, make_tree, tree_leave);
}
