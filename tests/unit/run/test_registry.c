/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "base/files.h"
#include "base/text.h"
#include "run/case.h"

#include <ctype.h>
#include <glob.h>
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

/* Each name that follows `what` in a source stands in backticks in the method. Returns how many there are. */
static size_t named_in(const char *source, const char *what, const char *method, const char *file) {
    size_t n = 0;
    for (const char *at = strstr(source, what); at != NULL; at = strstr(at + 1, what), n++) {
        const char *name = at + strlen(what);
        char quoted[80];
        snprintf(quoted, sizeof quoted, "`%.*s`", (int)strcspn(name, "\""), name);
        if (strstr(method, quoted) == NULL)
            fail_msg("docs/method.md does not say what %s in %s is", quoted, file);
    }
    return n;
}

/* A flag or a detail that nobody describes tells a reader of records nothing. */
static void method_names_flags_and_details(void **state) {
    (void)state;
    struct error err = {0};
    struct text method = {0};
    glob_t files;
    size_t named = 0;
    assert_true(file_read(GPUVET_SOURCE_DIR "/docs/method.md", 1 << 20, &method, &err));
    assert_int_equal(glob(GPUVET_SOURCE_DIR "/bench/*.c", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct text source = {0};
        assert_true(file_read(files.gl_pathv[i], 1 << 20, &source, &err));
        const char *text = text_string(&source);
        named += named_in(text, "context->extra, \"", method.data, files.gl_pathv[i]);
        named += named_in(text, "context->flags, \"", method.data, files.gl_pathv[i]);
        text_free(&source);
    }
    assert_true(named >= 50);
    globfree(&files);
    text_free(&method);
}

static const char *unit_of(const struct bench_case *bench, const char *metric) {
    for (const struct metric *m = bench->metrics; m->name != NULL; m++)
        if (strcmp(m->name, metric) == 0)
            return quantity_unit(m->quantity);
    return "";
}

/* Whether the table of what matters has a row with this beginning that names the series, alone or with all of
 * its family ("nccl.* time.p50"). */
static bool table_has(const char *method, const char *start, const char *bench, const char *series) {
    char alone[96], family[96];
    snprintf(alone, sizeof alone, "`%s %s`", bench, series);
    snprintf(family, sizeof family, "`%.*s.* %s`", (int)strcspn(bench, "."), bench, series);
    for (const char *row = strstr(method, start); row != NULL; row = strstr(row + 1, start)) {
        size_t length = strcspn(row + 1, "\n");
        const char *a = strstr(row, alone), *b = strstr(row, family);
        if ((a != NULL && a < row + length) || (b != NULL && b < row + length))
            return true;
    }
    return false;
}

/* "d 5" in a comparison: where that comes from, and what stands in for the spread between runs. */
static void method_says_what_matters(void **state) {
    (void)state;
    struct error err = {0};
    struct text method = {0};
    assert_true(file_read(GPUVET_SOURCE_DIR "/docs/method.md", 1 << 20, &method, &err));
    for (size_t i = 0; i < bench_cases_count; i++)
        for (const struct series_row *s = bench_cases[i]->series; s->metric != NULL; s++) {
            char start[96], series[64], least[32] = "", spread[16] = "none";
            if (s->delta_abs > 0)
                snprintf(least, sizeof least, ", at least %g %s", s->delta_abs,
                         unit_of(bench_cases[i], s->metric));
            if (s->between_rel > 0)
                snprintf(spread, sizeof spread, "%g %%", 100 * s->between_rel);
            snprintf(start, sizeof start, "\n| %g %%%s | %s |", 100 * s->delta_rel, least, spread);
            snprintf(series, sizeof series, "%s%s%s", s->metric, s->statistic[0] != '\0' ? "." : "",
                     s->statistic);
            if (!bench_cases[i]->hidden && !table_has(method.data, start, bench_cases[i]->name, series))
                fail_msg("docs/method.md has no row '%s' with %s %s", start + 1, bench_cases[i]->name,
                         series);
        }
    text_free(&method);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_keeps_the_contract), cmocka_unit_test(found_by_name),
        cmocka_unit_test(method_describes_every_case),   cmocka_unit_test(method_names_flags_and_details),
        cmocka_unit_test(method_says_what_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
