/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/manual.h"

#include "base/build.h"

/* Text for roff: a line of ours begins no request, a backslash and a hyphen mean themselves. */
static void put(FILE *out, const char *text) {
    if (text[0] == '.' || text[0] == '\'')
        fputs("\\&", out);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\\')
            fputs("\\e", out);
        else if (*c == '-')
            fputs("\\-", out);
        else
            fputc(*c, out);
        if (*c == '\n' && (c[1] == '.' || c[1] == '\''))
            fputs("\\&", out);
    }
}

static void put_option(FILE *out, const struct option_row *row) {
    fputs(".TP\n.B ", out);
    if (row->letter != 0)
        fprintf(out, "\\-%c, ", row->letter);
    fputs("\\-\\-", out);
    put(out, row->name);
    if (row->metavar != NULL) {
        fputs(" \\fI", out);
        put(out, row->metavar);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put(out, row->help);
    if (row->choices != NULL) {
        fputs(" (", out);
        for (size_t i = 0; row->choices[i] != NULL; i++) {
            fputs(i > 0 ? ", " : "", out);
            put(out, row->choices[i]);
        }
        fputc(')', out);
    }
    if (row->fallback != NULL) {
        fputs("; default: ", out);
        put(out, row->fallback);
    }
    fputc('\n', out);
}

static void put_command(FILE *out, const struct command *command) {
    fputs(".SS gpuvet ", out);
    put(out, command->name);
    if (command->options != NULL)
        fputs(" [\\fIOPTION\\fR…]", out);
    if (command->arguments != NULL) {
        fputc(' ', out);
        put(out, command->arguments);
    }
    fputc('\n', out);
    put(out, command->summary);
    fputs(".\n", out);
    for (const struct option_row *row = command->options; row != NULL && row->name != NULL; row++)
        if (!row->hidden)
            put_option(out, row);
    if (command->details != NULL) {
        fputs(".PP\n.nf\n", out);
        put(out, command->details);
        fputs("\n.fi\n", out);
    }
}

void manual_print(const struct command *const *commands, size_t count, FILE *out) {
    fputs(".\\\" made by: gpuvet help --man\n", out);
    fprintf(out, ".TH GPUVET 1 \"\" \"gpuvet %s\" \"User Commands\"\n", build_version());
    fputs(".SH NAME\n"
          "gpuvet \\- vets a GPU node: what a tuning change gained, and why CUDA does not work\n"
          ".SH SYNOPSIS\n"
          ".B gpuvet\n"
          "\\fICOMMAND\\fR [\\fIOPTION\\fR…]\n"
          ".SH COMMANDS\n",
          out);
    for (size_t i = 0; i < count; i++)
        if (!commands[i]->hidden)
            put_command(out, commands[i]);
    fputs(
        ".SH EXIT STATUS\n"
        "0 all well; 1 a regression, a failed check, a hang, an error, a fail of doctor; 2 usage, or refused before\n"
        "measuring; 3 undecided, with \\-\\-strict; 77 everything was skipped; 130 and 143 interrupted.\n",
        out);
}

static void put_names(const struct option_row *rows, FILE *out) {
    const char *before = "";
    for (const struct option_row *row = rows; row != NULL && row->name != NULL; row++)
        if (!row->hidden) {
            fprintf(out, "%s--%s", before, row->name);
            before = " ";
        }
    fprintf(out, "%s--help", before);
}

static void put_choices(const struct command *command, FILE *out) {
    for (const struct option_row *row = command->options; row != NULL && row->name != NULL; row++) {
        if (row->hidden || row->choices == NULL)
            continue;
        fprintf(out, "    %s:--%s) words=\"", command->name, row->name);
        for (size_t i = 0; row->choices[i] != NULL; i++)
            fprintf(out, "%s%s", i > 0 ? " " : "", row->choices[i]);
        fputs("\" ;;\n", out);
    }
}

void manual_print_completion(const struct command *const *commands, size_t count, FILE *out) {
    fputs("_gpuvet() {\n"
          "  local words=\"\" now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "  if [ \"$COMP_CWORD\" = 1 ]; then words=\"",
          out);
    for (size_t i = 0; i < count; i++)
        if (!commands[i]->hidden)
            fprintf(out, "%s ", commands[i]->name);
    fputs("help --help --version\"\n"
          "  else case ${COMP_WORDS[1]}:$before in\n",
          out);
    for (size_t i = 0; i < count; i++)
        if (!commands[i]->hidden)
            put_choices(commands[i], out);
    fputs("    *) case ${COMP_WORDS[1]}:$now in\n", out);
    for (size_t i = 0; i < count; i++) {
        if (commands[i]->hidden)
            continue;
        fprintf(out, "      %s:-*) words=\"", commands[i]->name);
        put_names(commands[i]->options, out);
        fputs("\" ;;\n", out);
    }
    fputs("      esac ;;\n"
          "  esac; fi\n"
          "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$now\")\n"
          "}\n"
          "complete -o default -F _gpuvet gpuvet\n",
          out);
}
