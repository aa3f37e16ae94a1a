/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "base/files.h"
#include "base/text.h"
#include "run/case.h"

#include <ctype.h>
#include <string.h>

/* Mandatory slots, unique names, known statistics, a smallest effect for every series. */
static void every_case_keeps_the_contract(void **state) {
    (void)state;
    struct error err = {0};
    assert_true(bench_cases_count >= 9);
    if (!bench_check_all(&err))
        fail_msg("%s", err.text);
}

static void found_by_name(void **state) {
    (void)state;
    for (size_t i = 0; i < bench_cases_count; i++)
        assert_ptr_equal(bench_find(bench_cases[i]->name), bench_cases[i]);
    assert_null(bench_find("copy.h2"));
    assert_null(bench_find(""));
}

/* A case that docs/method.md does not describe is a figure that nobody can check; one that it describes and
 * that is not there misleads. */
static void method_describes_every_case(void **state) {
    (void)state;
    struct text method = {0};
    struct error err = {0};
    char name[40];
    size_t described = 0;
    if (!file_read(GPUVET_SOURCE_DIR "/docs/method.md", 1 << 20, &method, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < bench_cases_count; i++) {
        const char *full = bench_cases[i]->name;
        snprintf(name, sizeof name, ", %s", strchr(full, '.') != NULL ? strchr(full, '.') : full);
        if (!bench_cases[i]->hidden && strstr(method.data, full) == NULL &&
            strstr(method.data, name) == NULL) /* **nccl.all_reduce, .all_gather** */
            fail_msg("docs/method.md does not describe %s", full);
    }
    for (const char *at = strstr(method.data, "\n**"); at != NULL; at = strstr(at + 1, "\n**"))
        for (const char *word = at + 3; islower((unsigned char)*word);
             described++) { /* **copy.h2d, copy.d2h** */
            size_t length = strcspn(word, ",* \n");
            snprintf(name, sizeof name, "%.*s", (int)length, word);
            if (strchr(name, '.') == NULL)
                break; /* no case: a word in bold */
            if (bench_find(name) == NULL)
                fail_msg("docs/method.md describes %s, which is not there", name);
            word += length + strspn(word + length, ", ");
        }
    assert_true(described >= 15);
    text_free(&method);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_keeps_the_contract),
        cmocka_unit_test(found_by_name),
        cmocka_unit_test(method_describes_every_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
