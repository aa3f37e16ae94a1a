/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include "base/mem.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* argp's keys: a row's letter, or this and the row's index, which no letter reaches. */
enum { FIRST_KEY = 0x100, HELP_COLUMN = 34, HELP_WIDTH = 100 };

static const struct option_row help_row = {
    .name = "help", .letter = 'h', .type = OPTION_FLAG, .help = "show this help and exit"};

struct parse {
    const struct command *command;
    size_t n_rows;
    char *values;
    struct strings *arguments;
    struct strings
        *files; /* where plain arguments go after an option of type OPTION_FILES; NULL: arguments */
    struct error *err;
};

static size_t count_rows(const struct command *command) {
    size_t n = 0;
    while (command->options != NULL && command->options[n].name != NULL)
        n++;
    return n;
}

static bool takes_value(const struct option_row *row) {
    return row->type != OPTION_FLAG;
}

/* ---- which words are options at all ---- */

static const struct option_row *row_by_name(const struct parse *p, const char *name, size_t length) {
    for (size_t i = 0; i < p->n_rows; i++) {
        const struct option_row *row = &p->command->options[i];
        if (strlen(row->name) == length && strncmp(row->name, name, length) == 0)
            return row;
    }
    return length == 4 && strncmp(name, "help", 4) == 0 ? &help_row : NULL;
}

static const struct option_row *row_by_letter(const struct parse *p, char letter) {
    for (size_t i = 0; i < p->n_rows; i++)
        if (p->command->options[i].letter == letter)
            return &p->command->options[i];
    return letter == 'h' ? &help_row : NULL;
}

static bool fail_unknown_name(const struct parse *p, const char *name, size_t length) {
    const char **names = mem_zeroed(p->n_rows + 1, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < p->n_rows; i++)
        if (!p->command->options[i].hidden)
            names[count++] = p->command->options[i].name;
    names[count++] = help_row.name;
    char *word = mem_copy_bytes(name, length);
    const char *near = text_nearest(word, names, count);
    const char *command = p->command->name;
    if (near != NULL)
        FAIL(p->err, ERROR_USAGE,
             "unknown option '--%s' of gpuvet %s; did you mean --%s? See gpuvet %s --help", word, command,
             near, command);
    else
        FAIL(p->err, ERROR_USAGE, "unknown option '--%s' of gpuvet %s. See gpuvet %s --help", word, command,
             command);
    free(word);
    free(names);
    return false;
}

static bool fail_no_value(const struct parse *p, const struct option_row *row) {
    return FAIL(p->err, ERROR_USAGE, "option --%s of gpuvet %s needs a value (--%s %s)", row->name,
                p->command->name, row->name, row->metavar != NULL ? row->metavar : "VALUE");
}

/* A word with two dashes; `*wants` becomes the row whose value is the next word. */
static bool check_long(const struct parse *p, const char *word, const struct option_row **wants, bool *help) {
    const char *name = word + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals == NULL ? strlen(name) : (size_t)(equals - name);
    const struct option_row *row = row_by_name(p, name, length);
    if (row == NULL)
        return fail_unknown_name(p, name, length);
    if (!takes_value(row) && equals != NULL)
        return FAIL(p->err, ERROR_USAGE, "option --%s of gpuvet %s takes no value", row->name,
                    p->command->name);
    if (takes_value(row) && equals == NULL)
        *wants = row;
    *help = *help || row == &help_row;
    return true;
}

/* A word with one dash: letters, the last of which may take a value. */
static bool check_letters(const struct parse *p, const char *word, const struct option_row **wants,
                          bool *help) {
    for (const char *at = word + 1; *at != '\0'; at++) {
        const struct option_row *row = row_by_letter(p, *at);
        if (row == NULL)
            return FAIL(p->err, ERROR_USAGE, "unknown option '-%c' of gpuvet %s. See gpuvet %s --help", *at,
                        p->command->name, p->command->name);
        *help = *help || row == &help_row;
        if (takes_value(row)) {
            if (at[1] == '\0')
                *wants = row;
            return true;
        }
    }
    return true;
}

/* argp says of a wrong option only that there is one, and takes any unique beginning of a name for the name,
 * which a later option can make mean something else. So names are looked at here first. */
static bool check_names(const struct parse *p, int argc, char **argv, bool *help) {
    for (int i = 1; i < argc && !*help && strcmp(argv[i], "--") != 0; i++) {
        const struct option_row *wants = NULL;
        bool good = true;
        if (text_starts(argv[i], "--"))
            good = check_long(p, argv[i], &wants, help);
        else if (argv[i][0] == '-' && argv[i][1] != '\0')
            good = check_letters(p, argv[i], &wants, help);
        if (!good)
            return false;
        if (wants != NULL && ++i >= argc)
            return fail_no_value(p, wants);
    }
    return true;
}

/* ---- values ---- */

static bool has_range(const struct option_row *row) {
    return row->min != 0 || row->max != 0;
}

static bool out_of_range(const struct option_row *row, double value) {
    return !isfinite(value) || (has_range(row) && (value < row->min || value > row->max));
}

static bool fail_value(const struct parse *p, const struct option_row *row, const char *value,
                       const char *kind) {
    FAIL(p->err, ERROR_USAGE, "--%s of gpuvet %s: '%s' is not %s", row->name, p->command->name, value, kind);
    struct text all = {0};
    text_add(&all, p->err->text);
    if (has_range(row))
        text_addf(&all, " from %.12g to %.12g", row->min, row->max);
    for (size_t i = 0; row->choices != NULL && row->choices[i] != NULL; i++)
        text_addf(&all, "%s%s", i == 0 ? " " : row->choices[i + 1] == NULL ? " or " : ", ", row->choices[i]);
    FAIL(p->err, ERROR_USAGE, "%s", all.data);
    text_free(&all);
    return false;
}

static bool is_choice(const struct option_row *row, const char *value) {
    for (size_t i = 0; row->choices[i] != NULL; i++)
        if (strcmp(row->choices[i], value) == 0)
            return true;
    return false;
}

static bool take_value(struct parse *p, const struct option_row *row, char *value) {
    void *field = p->values + row->offset;
    int64_t whole = 0;
    double real = 0;
    switch (row->type) {
    case OPTION_FLAG:
        *(bool *)field = true;
        break;
    case OPTION_STRING:
        *(const char **)field = value;
        break;
    case OPTION_INT:
        if (!text_to_int(value, &whole) || out_of_range(row, (double)whole))
            return fail_value(p, row, value, "a whole number");
        *(int64_t *)field = whole;
        break;
    case OPTION_NUMBER:
        if (!text_to_double(value, &real) || out_of_range(row, real))
            return fail_value(p, row, value, "a number");
        *(double *)field = real;
        break;
    case OPTION_CHOICE:
        if (!is_choice(row, value))
            return fail_value(p, row, value, "one of");
        *(const char **)field = value;
        break;
    case OPTION_LIST: /* an unset variable of a script: it must not mean "none of them" */
        if (value[0] == '\0')
            return fail_value(p, row, value, "anything to choose by");
        strings_add(field, value);
        break;
    case OPTION_FILES:
        strings_add(field, value);
        break;
    }
    p->files = row->type == OPTION_FILES ? field : NULL;
    return true;
}

/* ---- argp ---- */

static int row_key(const struct option_row *row, size_t index) {
    return row->letter != 0 ? row->letter : FIRST_KEY + (int)index;
}

/* argp's callback. EINVAL ends the parsing; the error is in p->err by then. */
static error_t on_key(int key, char *value, struct argp_state *state) {
    struct parse *p = state->input;
    if (key == ARGP_KEY_ARG) {
        strings_add(p->files != NULL ? p->files : p->arguments, value);
        return 0;
    }
    for (size_t i = 0; i < p->n_rows; i++)
        if (row_key(&p->command->options[i], i) == key)
            return take_value(p, &p->command->options[i], value) ? 0 : EINVAL;
    return ARGP_ERR_UNKNOWN;
}

static bool parse_words(struct parse *p, int argc, char **argv) {
    struct argp_option *table = mem_zeroed(p->n_rows + 1, sizeof *table);
    for (size_t i = 0; i < p->n_rows; i++) {
        const struct option_row *row = &p->command->options[i];
        table[i] = (struct argp_option){.name = row->name,
                                        .key = row_key(row, i),
                                        .arg = takes_value(row) ? "VALUE" : NULL,
                                        .doc = row->help};
    }
    const struct argp argp = {.options = table, .parser = on_key};
    const unsigned flags = ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP | ARGP_IN_ORDER;
    error_t status = argp_parse(&argp, argc, argv, flags, NULL, p);
    free(table);
    if (status != 0 && p->err->kind == ERROR_NONE)
        FAIL(p->err, ERROR_USAGE, "the command line of gpuvet %s was not understood. See gpuvet %s --help",
             p->command->name, p->command->name);
    return status == 0;
}

static bool check_count(const struct parse *p) {
    const struct command *command = p->command;
    size_t count = p->arguments->count;
    if (count > command->max_arguments)
        return FAIL(p->err, ERROR_USAGE, "unexpected argument '%s' of gpuvet %s. See gpuvet %s --help",
                    p->arguments->items[command->max_arguments], command->name, command->name);
    if (count < command->min_arguments)
        return FAIL(p->err, ERROR_USAGE, "gpuvet %s needs %s. See gpuvet %s --help", command->name,
                    command->arguments != NULL ? command->arguments : "more arguments", command->name);
    return true;
}

/* ---- help ---- */

/* Puts `words` from the help column on, breaking lines between words; the cursor stands at `column`. */
static void print_wrapped(const char *words, int column) {
    if (column > HELP_COLUMN - 2) {
        putchar('\n');
        column = 0;
    }
    printf("%*s", HELP_COLUMN - column, "");
    int at = HELP_COLUMN;
    while (*words != '\0') {
        int n = (int)strcspn(words, " ");
        bool begins = at == HELP_COLUMN;
        if (at + n > HELP_WIDTH && !begins) {
            printf("\n%*s", HELP_COLUMN, "");
            at = HELP_COLUMN;
            begins = true;
        }
        printf("%s%.*s", begins ? "" : " ", n, words);
        at += n + 1;
        words += n + (words[n] == ' ' ? 1 : 0);
    }
    putchar('\n');
}

static void print_row(const struct option_row *row) {
    struct text left = {0};
    if (row->letter != 0)
        text_addf(&left, "  -%c, --%s", row->letter, row->name);
    else
        text_addf(&left, "      --%s", row->name);
    if (row->type == OPTION_CHOICE && row->metavar == NULL)
        for (size_t i = 0; row->choices[i] != NULL; i++)
            text_addf(&left, "%s%s", i == 0 ? " " : "|", row->choices[i]);
    else if (takes_value(row))
        text_addf(&left, " %s%s", row->metavar != NULL ? row->metavar : "VALUE",
                  row->type == OPTION_FILES ? "..." : "");
    fputs(left.data, stdout);
    struct text right = {0};
    text_add(&right, row->help != NULL ? row->help : "");
    if (row->type == OPTION_CHOICE && row->metavar != NULL)
        for (size_t i = 0; row->choices[i] != NULL; i++)
            text_addf(&right, "%s%s", i == 0 ? ": " : ", ", row->choices[i]);
    if (row->type == OPTION_LIST)
        text_add(&right, " (may be repeated)");
    if (row->fallback != NULL)
        text_addf(&right, " (default: %s)", row->fallback);
    print_wrapped(text_string(&right), (int)left.length);
    text_free(&left);
    text_free(&right);
}

static void print_help(const struct command *command) {
    printf("Usage: gpuvet %s [OPTION…]%s%s\n%s.\n\nOptions:\n", command->name,
           command->arguments != NULL ? " " : "", command->arguments != NULL ? command->arguments : "",
           command->summary);
    for (size_t i = 0; i < count_rows(command); i++)
        if (!command->options[i].hidden)
            print_row(&command->options[i]);
    print_row(&help_row);
    if (command->details == NULL)
        return;
    size_t n = strlen(command->details);
    printf("\n%s%s", command->details, n > 0 && command->details[n - 1] == '\n' ? "" : "\n");
}

/* ---- both ---- */

enum options_outcome options_parse(const struct command *command, int argc, char **argv, void *values,
                                   struct strings *arguments, struct error *err) {
    struct parse p = {.command = command,
                      .n_rows = count_rows(command),
                      .values = values,
                      .arguments = arguments,
                      .err = err};
    error_clear(err);
    bool help = false;
    if (!check_names(&p, argc, argv, &help))
        return OPTIONS_BAD;
    if (help) {
        print_help(command);
        return OPTIONS_HELP_SHOWN;
    }
    return parse_words(&p, argc, argv) && check_count(&p) ? OPTIONS_RUN : OPTIONS_BAD;
}

void options_free(const struct command *command, void *values) {
    for (size_t i = 0; i < count_rows(command); i++) {
        enum option_type type = command->options[i].type;
        if (type == OPTION_LIST || type == OPTION_FILES)
            strings_free((struct strings *)(void *)((char *)values + command->options[i].offset));
    }
}
