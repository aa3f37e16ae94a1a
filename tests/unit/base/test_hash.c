/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 against known values, and what of a file is hashed. */
#include "unit/tree.h"

#include "base/hash.h"

#include <unistd.h>

static void known_values(void **state) {
    (void)state;
    static const struct {
        const char *text, *hash;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char out[SHA256_HEX_SIZE];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sha256_hex(rows[i].text, strlen(rows[i].text), out);
        assert_string_equal(out, rows[i].hash);
    }
    char *million = malloc(1000000);
    assert_non_null(million);
    memset(million, 'a', 1000000);
    sha256_hex(million, 1000000, out);
    assert_string_equal(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

static void files(void **state) {
    (void)state;
    char out[SHA256_HEX_SIZE];
    tree_put("file", "abc");
    tree_put("empty", "");
    assert_true(sha256_file_hex("file", out));
    assert_string_equal(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_false(sha256_file_hex("empty", out));
    assert_false(sha256_file_hex(".", out));
    assert_false(sha256_file_hex("nowhere", out));
    assert_false(sha256_file_hex("/dev/zero", out));
    tree_put("sparse", "a");
    assert_int_equal(truncate("sparse", SHA256_FILE_LIMIT + 1), 0);
    assert_false(sha256_file_hex("sparse", out));
    /* Of several blocks, the last one not whole. */
    char *many = malloc(200001), whole[SHA256_HEX_SIZE];
    assert_non_null(many);
    memset(many, 'b', 200000);
    many[200000] = '\0';
    tree_put("many", many);
    sha256_hex(many, 200000, whole);
    free(many);
    assert_true(sha256_file_hex("many", out));
    assert_string_equal(out, whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, tree_enter, tree_leave);
}
