/* SPDX-License-Identifier: Apache-2.0 */
/* The loader's cache, made by hand: what is found, and what a wild one cannot do. */
#include "system/facts_read.h"

#include "unit/unit.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__aarch64__)
enum { FLAGS = 0x0a03 };
#else
enum { FLAGS = 0x0303 };
#endif
enum { HEADER = 48, ENTRY = 24 };

static void add_word(struct text *t, uint32_t word) {
    text_add_bytes(t, (const char *)&word, sizeof word);
}

/* One entry; its name is right behind it, its path `path_at` bytes from the start (0: behind the name). */
static void make(struct text *t, const char *name, const char *path, uint32_t path_at) {
    static const char rest[20] = {0};
    text_clear(t);
    text_add(t, "glibc-ld.so.cache1.1");
    add_word(t, 1);
    add_word(t, 0);
    text_add_bytes(t, rest, sizeof rest);
    add_word(t, FLAGS);
    add_word(t, HEADER + ENTRY);
    add_word(t, path_at != 0 ? path_at : HEADER + ENTRY + (uint32_t)strlen(name) + 1);
    text_add_bytes(t, rest, 12);
    text_add_bytes(t, name, strlen(name) + 1);
    text_add_bytes(t, path, strlen(path) + 1);
}

static void finds(void **state) {
    (void)state;
    struct text t = {0};
    make(&t, "libcuda.so.1", "/usr/lib/libcuda.so.1", 0);
    assert_string_equal(ld_cache_find(&t, "libcuda.so.1"), "/usr/lib/libcuda.so.1");
    assert_null(ld_cache_find(&t, "libcuda.so"));
    t.length--; /* the end of the path is not there */
    assert_null(ld_cache_find(&t, "libcuda.so.1"));
    text_free(&t);
}

static void refuses_what_leads_out_or_never_ends(void **state) {
    (void)state;
    struct text t = {0};
    make(&t, "libcuda.so.1", "/x", UINT32_MAX);
    assert_null(ld_cache_find(&t, "libcuda.so.1"));
    char *path = malloc(PATH_MAX + 2);
    assert_non_null(path);
    memset(path, 'x', PATH_MAX + 1);
    path[PATH_MAX + 1] = '\0';
    make(&t, "libcuda.so.1", path, 0);
    assert_null(ld_cache_find(&t, "libcuda.so.1"));
    path[PATH_MAX - 1] = '\0';
    make(&t, "libcuda.so.1", path, 0);
    assert_non_null(ld_cache_find(&t, "libcuda.so.1"));
    free(path);
    text_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),
        cmocka_unit_test(refuses_what_leads_out_or_never_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
