/* SPDX-License-Identifier: Apache-2.0 */
/* The command line as data: a subcommand is a struct command with option rows; parsing, --help, the man
 * page and completion (cli/manual.h) are made from the rows. argp does the parsing; it stays inside
 * options.c. */
#ifndef GPUVET_BASE_OPTIONS_H
#define GPUVET_BASE_OPTIONS_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum option_type {
    OPTION_FLAG,   /* bool: true when given */
    OPTION_STRING, /* const char *: points into argv */
    OPTION_INT,    /* int64_t within [min, max] */
    OPTION_NUMBER, /* double within [min, max] */
    OPTION_CHOICE, /* const char *: one of `choices` */
    OPTION_LIST,   /* struct strings: each giving adds one */
    OPTION_FILES,  /* struct strings: the value and all plain arguments up to the next option (--before A B C)
                    */
};

struct option_row {
    const char *name; /* without dashes */
    char letter;      /* 0: none */
    enum option_type type;
    size_t offset;              /* of the field in the values struct */
    double min, max;            /* both 0: any */
    const char *const *choices; /* NULL-terminated */
    const char *metavar;        /* "N", "DIR"; NULL for a flag */
    const char *help;           /* one line, without its default */
    const char *fallback; /* the default as shown in help; NULL: none. The caller sets it in the struct. */
    bool hidden;
};

struct command {
    const char *name;
    const char *arguments;            /* "BEFORE AFTER"; NULL: none */
    const char *summary;              /* one line */
    const char *details;              /* paragraphs for --help, with examples */
    const struct option_row *options; /* ends with a row whose name is NULL; may be NULL */
    size_t min_arguments, max_arguments;
    size_t values_size;
    /* Returns the exit status; `values` are filled by options_parse over what `defaults` put there. */
    void (*defaults)(void *values);
    int (*run)(void *values, const struct strings *arguments);
    bool hidden;
};

enum options_outcome { OPTIONS_RUN, OPTIONS_HELP_SHOWN, OPTIONS_BAD };

/* argv[0] is the subcommand's name. On OPTIONS_BAD `err` says what and offers the nearest name. Lists in
 * `values` and `arguments` are the caller's to free (options_free). */
enum options_outcome options_parse(const struct command *command, int argc, char **argv, void *values,
                                   struct strings *arguments, struct error *err);
void options_free(const struct command *command, void *values);

#endif
