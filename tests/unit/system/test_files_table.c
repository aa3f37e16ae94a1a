/* SPDX-License-Identifier: Apache-2.0 */
/* files.tsv, and what look.h makes of it. */
#include "unit/unit.h"

#include "base/files.h"
#include "base/mem.h"
#include "system/files_table.h"
#include "system/look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char table_text[] = "/sys/module/nvidia-drm\td\t0755\t0\t0\t0\t5\n"
                                 "/sys/module/nvidia\td\t0755\t0\t0\t0\t5\t\n"
                                 "/sys/module/nvidia/version\tf\t0444\t0\t0\t4096\t5\t\tEACCES\n"
                                 "/sys/module/nvidia/parameters/a/b\tf\n"
                                 "/lib/x.so\tl\t0777\t0\t0\t8\t5\tx.so.1\n"
                                 "/lib/x.so.1\tf\t0644\t1\t2\t123456\t99\t\n"
                                 "/lib/dangling\tl\t0777\t0\t0\t8\t5\tnowhere\n"
                                 "/lib/round\tl\t0777\t0\t0\t8\t5\tround\n"
                                 "/odd\\tname\\n\\\\\tf\n"
                                 "relative\tf\n"
                                 "\n"
                                 "/sys/module/nvidia\tf\t0644\n"
                                 "/dev/weird\tzz\t9999\t-3\tx\tx\tx\n";

static void read_table(struct files_table *table) {
    struct error err = {0};
    assert_true(files_table_parse(table_text, table, &err));
}

static void reads_lines(void **state) {
    (void)state;
    struct files_table table;
    read_table(&table);
    assert_int_equal(table.count, 10);
    const struct file_entry *entry = files_table_find(&table, "/lib/x.so.1");
    assert_non_null(entry);
    assert_int_equal(entry->type, 'f');
    assert_int_equal(entry->mode, 0644);
    assert_int_equal(entry->uid, 1);
    assert_int_equal(entry->gid, 2);
    assert_int_equal(entry->size, 123456);
    assert_int_equal(entry->mtime, 99);
    assert_int_equal(entry->why, 0);
    assert_int_equal(files_table_find(&table, "/sys/module/nvidia/version")->why, EACCES);
    assert_string_equal(files_table_find(&table, "/lib/x.so")->target, "x.so.1");
    assert_non_null(files_table_find(&table, "/odd\tname\n\\"));
    entry = files_table_find(&table, "/dev/weird");
    assert_int_equal(entry->type, '?');
    assert_int_equal(entry->mode, -1);
    assert_int_equal(entry->uid, -1);
    assert_int_equal(entry->size, -1);
    assert_null(files_table_find(&table, "/lib"));
    assert_null(files_table_find(NULL, "/lib"));
    files_table_free(&table);
}

static void check_names(const struct source *source, const char *folder, const char *want) {
    struct strings names = {0};
    struct text joined = {0};
    bool there = look_list(source, folder, &names);
    for (size_t i = 0; i < names.count; i++)
        text_addf(&joined, "%s%s", i > 0 ? "," : "", names.items[i]);
    assert_int_equal(there, want != NULL);
    assert_string_equal(text_string(&joined), want == NULL ? "" : want);
    text_free(&joined);
    strings_free(&names);
}

/* A listing is what lies in root/ and what the table has, once each; what is refused is refused again. */
static void answers_for_what_was_not_copied(void **state) {
    (void)state;
    struct error err = {0};
    assert_int_equal(system("rm -rf tree"), 0);
    assert_true(folder_make("tree/sys/module/nvidia", &err) &&
                folder_make("tree/sys/module/mlx5_core", &err));
    assert_true(file_replace("tree/sys/module/nvidia/refcnt", "3\n", 2, &err));
    char root[] = "tree";
    struct files_table table;
    read_table(&table);
    struct source source = {.root = root, .files = &table};
    check_names(&source, "/sys/module", "mlx5_core,nvidia,nvidia-drm");
    check_names(&source, "/sys/module/", "mlx5_core,nvidia,nvidia-drm");
    check_names(&source, "/sys/module/nvidia", "parameters,refcnt,version");
    check_names(&source, "/sys/module/nvidia/parameters", "a");
    check_names(&source, "/sys/module/nvidia-drm", "");
    check_names(&source, "/sys/module/none", NULL);
    check_names(&source, "/", "dev,lib,odd\tname\n\\,sys");

    assert_true(look_exists(&source, "/lib/x.so"));
    assert_true(look_exists(&source, "/lib/x.so.1"));
    assert_true(look_exists(&source, "/sys/module/nvidia/refcnt"));
    assert_false(look_exists(&source, "/lib/dangling"));
    assert_false(look_exists(&source, "/lib/round"));
    assert_false(look_exists(&source, "/lib/y.so"));

    char *link = look_link(&source, "/lib/x.so");
    assert_string_equal(link, "x.so.1");
    free(link);
    assert_null(look_link(&source, "/lib/x.so.1"));

    struct fact fact = look_fact(&source, "/sys/module/nvidia/version");
    assert_null(fact.value);
    assert_string_equal(fact.why, FACT_NEEDS_ROOT);
    fact = look_fact(&source, "/lib/x.so.1");
    assert_null(fact.value);
    assert_null(fact.why);
    files_table_free(&table);
    assert_int_equal(system("rm -rf tree"), 0);
}

static void refuses_too_many(void **state) {
    (void)state;
    struct text text = {0};
    struct error err = {0};
    struct files_table table;
    for (int i = 0; i <= 200000; i++)
        text_addf(&text, "/%d\n", i);
    assert_false(files_table_parse(text_string(&text), &table, &err));
    assert_non_null(strstr(err.text, "200000"));
    text_free(&text);
}

static void escapes_both_ways(void **state) {
    (void)state;
    static const char *const names[] = {"/a b", "/\t\n\\", "/\\t", "/\\\\n", "/end\\", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct text text = {0};
        table_escape(&text, names[i]);
        char *back = mem_copy_string(text_string(&text));
        assert_null(strpbrk(back, "\t\n"));
        table_unescape(back);
        assert_string_equal(back, names[i]);
        free(back);
        text_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_lines),
        cmocka_unit_test(answers_for_what_was_not_copied),
        cmocka_unit_test(refuses_too_many),
        cmocka_unit_test(escapes_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
