/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct values {
    bool loud;
    const char *label;
    int64_t rounds;
    double factor;
    const char *profile;
    struct strings cases, before, after;
};

static const char *const profiles[] = {"quick", "standard", "thorough", NULL};

#define AT(field) .offset = offsetof(struct values, field)
static const struct option_row rows[] = {
    {.name = "loud", .letter = 'l', .type = OPTION_FLAG, AT(loud), .help = "say more"},
    {.name = "label", .letter = 'L', .type = OPTION_STRING, AT(label), .metavar = "TEXT", .help = "a name"},
    {.name = "rounds",
     .type = OPTION_INT,
     AT(rounds),
     .min = 3,
     .max = 1000,
     .metavar = "N",
     .help = "how many",
     .fallback = "20"},
    {.name = "factor", .type = OPTION_NUMBER, AT(factor), .metavar = "X", .help = "a factor"},
    {.name = "profile", .type = OPTION_CHOICE, AT(profile), .choices = profiles, .help = "which"},
    {.name = "case", .type = OPTION_LIST, AT(cases), .metavar = "GLOB", .help = "only these"},
    {.name = "before", .type = OPTION_FILES, AT(before), .metavar = "RUN", .help = "old runs"},
    {.name = "after", .type = OPTION_FILES, AT(after), .metavar = "RUN", .help = "new runs"},
    {.name = "secret", .type = OPTION_FLAG, AT(loud), .help = "for tests", .hidden = true},
    {0},
};

static const struct command command = {
    .name = "try",
    .arguments = "A [B]",
    .summary = "Try things",
    .details = "Examples:\n  gpuvet try a\n",
    .options = rows,
    .max_arguments = 2,
    .values_size = sizeof(struct values),
};

struct result {
    struct values values;
    struct strings arguments;
    struct error err;
    enum options_outcome outcome;
};

/* Words separated by blanks. The values point into them, so all of them are kept until the program ends. */
static struct strings words;

static struct result parse_with(const struct command *c, const char *line) {
    struct result r = {.values = {.rounds = 20, .label = "none"}};
    size_t first = words.count;
    strings_add(&words, c->name);
    strings_split(&words, line, ' ');
    int argc = (int)(words.count - first);
    char *argv[32] = {0};
    for (int i = 0; i < argc; i++)
        argv[i] = words.items[first + (size_t)i];
    r.outcome = options_parse(c, argc, argv, &r.values, &r.arguments, &r.err);
    return r;
}

static struct result parse(const char *line) {
    return parse_with(&command, line);
}

static void done(struct result *r) {
    options_free(&command, &r->values);
    strings_free(&r->arguments);
}

static void expect_bad(const char *line, const char *const *parts) {
    struct result r = parse(line);
    assert_int_equal(r.outcome, OPTIONS_BAD);
    assert_int_equal(r.err.kind, ERROR_USAGE);
    for (size_t i = 0; parts[i] != NULL; i++)
        if (strstr(r.err.text, parts[i]) == NULL)
            fail_msg("'%s' does not name '%s'", r.err.text, parts[i]);
    done(&r);
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void every_type_is_taken(void **state) {
    (void)state;
    struct result r =
        parse("--loud --label=x --rounds 0x10 --factor 2.5 --profile quick --case a --case b first");
    assert_int_equal(r.outcome, OPTIONS_RUN);
    assert_true(r.values.loud);
    assert_string_equal(r.values.label, "x");
    assert_int_equal(r.values.rounds, 16);
    assert_true(r.values.factor > 2.4 && r.values.factor < 2.6);
    assert_string_equal(r.values.profile, "quick");
    assert_int_equal(r.values.cases.count, 2);
    assert_string_equal(r.values.cases.items[1], "b");
    assert_int_equal(r.arguments.count, 1);
    done(&r);
}

static void defaults_stay(void **state) {
    (void)state;
    struct result r = parse("");
    assert_int_equal(r.outcome, OPTIONS_RUN);
    assert_int_equal(r.values.rounds, 20);
    assert_string_equal(r.values.label, "none");
    assert_null(r.values.profile);
    done(&r);
}

static void the_last_wins(void **state) {
    (void)state;
    struct result r = parse("--rounds 5 --label a --rounds 7 -L b");
    assert_int_equal(r.outcome, OPTIONS_RUN);
    assert_int_equal(r.values.rounds, 7);
    assert_string_equal(r.values.label, "b");
    done(&r);
}

static void letters_combine(void **state) {
    (void)state;
    struct result r = parse("-lLtext a");
    assert_int_equal(r.outcome, OPTIONS_RUN);
    assert_true(r.values.loud);
    assert_string_equal(r.values.label, "text");
    assert_string_equal(r.arguments.items[0], "a");
    done(&r);
}

static void files_take_what_follows(void **state) {
    (void)state;
    struct result r = parse("--before A B C --after D E --loud x");
    assert_int_equal(r.outcome, OPTIONS_RUN);
    assert_int_equal(r.values.before.count, 3);
    assert_int_equal(r.values.after.count, 2);
    assert_string_equal(r.values.after.items[1], "E");
    assert_int_equal(r.arguments.count, 1);
    assert_string_equal(r.arguments.items[0], "x");
    done(&r);
}

static void words_after_two_dashes_are_arguments(void **state) {
    (void)state;
    struct result r = parse("--loud -- --rounds -x");
    assert_int_equal(r.outcome, OPTIONS_RUN);
    assert_int_equal(r.arguments.count, 2);
    assert_string_equal(r.arguments.items[0], "--rounds");
    done(&r);
    r = parse("-"); /* a lone dash is an argument */
    assert_int_equal(r.outcome, OPTIONS_RUN);
    assert_string_equal(r.arguments.items[0], "-");
    done(&r);
    r = parse("--label --loud"); /* a value may look like an option */
    assert_int_equal(r.outcome, OPTIONS_RUN);
    assert_string_equal(r.values.label, "--loud");
    assert_false(r.values.loud);
    done(&r);
}

static void wrong_names_are_named(void **state) {
    (void)state;
    expect_bad("--profle quick", PARTS("'--profle'", "gpuvet try", "did you mean --profile?", "--help"));
    expect_bad("--prof quick", PARTS("'--prof'", "--profile")); /* no abbreviations */
    expect_bad("--xyzzy=3", PARTS("unknown option '--xyzzy' of gpuvet try"));
    expect_bad("-q", PARTS("'-q'"));
    expect_bad("-lq", PARTS("'-q'"));
    expect_bad("--secre", PARTS("unknown option '--secre'"));
    struct result r = parse("--secre"); /* a hidden one is not offered */
    assert_null(strstr(r.err.text, "did you mean --secret"));
    done(&r);
}

static void wrong_values_are_named(void **state) {
    (void)state;
    expect_bad("--rounds abc", PARTS("--rounds", "'abc'", "whole number from 3 to 1000"));
    expect_bad("--rounds 2", PARTS("'2'", "from 3 to 1000"));
    expect_bad("--rounds 1001", PARTS("'1001'"));
    expect_bad("--rounds=", PARTS("''"));
    expect_bad("--factor nan", PARTS("'nan'", "number"));
    expect_bad("--factor inf", PARTS("'inf'"));
    expect_bad("--profile fast", PARTS("--profile", "'fast'", "quick, standard or thorough"));
    expect_bad("--label", PARTS("--label", "needs a value", "TEXT"));
    expect_bad("-L", PARTS("--label", "needs a value"));
    expect_bad("--loud=yes", PARTS("--loud", "takes no value"));
    expect_bad("a b c", PARTS("unexpected argument 'c'", "gpuvet try"));
}

static void too_few_arguments_are_said(void **state) {
    (void)state;
    struct command strict = command;
    strict.min_arguments = 1;
    struct result r = parse_with(&strict, "");
    assert_int_equal(r.outcome, OPTIONS_BAD);
    assert_non_null(strstr(r.err.text, "gpuvet try needs A [B]"));
    done(&r);
}

static void hostile_words_do_no_harm(void **state) {
    (void)state;
    expect_bad("--\033[2J", PARTS("'--?[2J'"));
    expect_bad("--=", PARTS("unknown option '--'"));
    expect_bad("-\001", PARTS("unknown option"));
    expect_bad("--%s%n", PARTS("'--%s%n'"));
    char word[4000];
    memset(word, 'a', sizeof word - 1);
    word[0] = word[1] = '-';
    word[sizeof word - 1] = '\0';
    expect_bad(word, PARTS("unknown option"));
}

/* What a function prints on stdout. */
static struct result captured(const char *line, char *out, size_t size) {
    FILE *file = tmpfile();
    fflush(stdout);
    int keep = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    struct result r = parse(line);
    fflush(stdout);
    dup2(keep, STDOUT_FILENO);
    close(keep);
    rewind(file);
    out[fread(out, 1, size - 1, file)] = '\0';
    fclose(file);
    return r;
}

static void help_shows_everything(void **state) {
    (void)state;
    char out[8192];
    struct result r = captured("--rounds 5 --help", out, sizeof out);
    assert_int_equal(r.outcome, OPTIONS_HELP_SHOWN);
    const char *const parts[] = {"Usage: gpuvet try [OPTION…] A [B]",
                                 "Try things.",
                                 "-l, --loud",
                                 "--rounds N",
                                 "(default: 20)",
                                 "quick|standard|thorough",
                                 "--before RUN...",
                                 "may be repeated",
                                 "--help",
                                 "Examples:\n  gpuvet try a\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(out, parts[i]) == NULL)
            fail_msg("help lacks '%s':\n%s", parts[i], out);
    assert_null(strstr(out, "secret"));
    done(&r);
    r = captured("-h", out, sizeof out);
    assert_int_equal(r.outcome, OPTIONS_HELP_SHOWN);
    done(&r);
    r = captured("-- --help", out, sizeof out);
    assert_int_equal(r.outcome, OPTIONS_RUN);
    assert_string_equal(out, "");
    done(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_taken),
        cmocka_unit_test(defaults_stay),
        cmocka_unit_test(the_last_wins),
        cmocka_unit_test(letters_combine),
        cmocka_unit_test(files_take_what_follows),
        cmocka_unit_test(words_after_two_dashes_are_arguments),
        cmocka_unit_test(wrong_names_are_named),
        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(too_few_arguments_are_said),
        cmocka_unit_test(hostile_words_do_no_harm),
        cmocka_unit_test(help_shows_everything),
    };
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    strings_free(&words);
    return status;
}
