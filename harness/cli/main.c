/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the subcommand. Exit status 2 is the command line's (and output that could not be written). */
#include "base/build.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/manual.h"
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

static const struct command *const commands[] = {
    &command_doctor, &command_run,   &command_list,   &command_compare, &command_baseline,
    &command_env,    &command_topo,  &command_report, &command_version, &command_worker,
    &command_keeper, &command_enter, &command_undo,
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out) {
    fputs("Usage: gpuvet COMMAND [OPTION…]\n"
          "Vets a GPU node: measures what a tuning change touches and compares it with the time before.\n"
          "\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (!commands[i]->hidden)
            fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs(
        "\n"
        "gpuvet COMMAND --help shows a command's options and examples; gpuvet help --man is the man page,\n"
        "source <(gpuvet help --completion) completes the commands in bash.\n"
        "\n"
        "Exit status: 0 all well; 1 a regression, a failed check, a hang, an error; 2 usage, or refused before\n"
        "measuring; 3 undecided, with --strict; 77 everything was skipped; 130, 143 interrupted.\n",
        out);
}

static const struct command *find(const char *name) {
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[N_COMMANDS];
    size_t count = 0;
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (!commands[i]->hidden)
            names[count++] = commands[i]->name;
    const char *near = text_nearest(name, names, count);
    struct error err = {0};
    const char *what = name[0] == '-' ? "option" : "command";
    if (near != NULL && name[0] != '-')
        FAIL(&err, ERROR_USAGE, "unknown command '%s'; did you mean %s? See gpuvet --help", name, near);
    else
        FAIL(&err, ERROR_USAGE, "unknown %s '%s'. See gpuvet --help", what, name);
    log_error(&err);
    return EXIT_USAGE;
}

static int run_command(const struct command *command, int argc, char **argv) {
    void *values = mem_zeroed(1, command->values_size);
    struct strings arguments = {0};
    struct error err = {0};
    if (command->defaults != NULL)
        command->defaults(values);
    int status = 0;
    switch (options_parse(command, argc, argv, values, &arguments, &err)) {
    case OPTIONS_RUN:
        status = command->run(values, &arguments);
        break;
    case OPTIONS_HELP_SHOWN:
        break;
    case OPTIONS_BAD:
        log_error(&err);
        status = EXIT_USAGE;
        break;
    }
    options_free(command, values);
    strings_free(&arguments);
    free(values);
    return status;
}

static int help_on(const struct command *command) {
    char *argv[] = {mem_copy_string(command->name), mem_copy_string("--help"), NULL};
    int status = run_command(command, 2, argv);
    free(argv[0]);
    free(argv[1]);
    return status;
}

static int too_many(const char *word) {
    struct error err = {0};
    FAIL(&err, ERROR_USAGE, "'%.200s' is one word too many: gpuvet help takes one", word);
    log_error(&err);
    return EXIT_USAGE;
}

static bool asks_for_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    bool help = strcmp(name, "help") == 0;
    if (asks_for_help(name) || (help && (argc == 2 || (argc == 3 && asks_for_help(argv[2]))))) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("gpuvet %s build %s\n", build_version(), build_id());
        return 0;
    }
    if (help && argc > 3)
        return too_many(argv[3]);
    if (help && strcmp(argv[2], "--man") == 0) {
        manual_print(commands, N_COMMANDS, stdout);
        return 0;
    }
    if (help && strcmp(argv[2], "--completion") == 0) {
        manual_print_completion(commands, N_COMMANDS, stdout);
        return 0;
    }
    const struct command *command = find(help ? argv[2] : name);
    if (command == NULL)
        return unknown_command(help ? argv[2] : name);
    return help ? help_on(command) : run_command(command, argc - 1, argv + 1);
}

/* Without this the next file opened, the run file perhaps, becomes what a closed stdout or stderr was, and
 * the progress is written into it. Opened for reading only, so that writing there still fails. */
static void fill_closed_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0 && open("/", O_RDONLY) < 0)
            _exit(EXIT_USAGE); /* nothing can be opened, and nobody can be told */
}

/* A stack that is too small ends a program with a signal somewhere on its way, which tells nobody anything.
 */
static bool stack_suffices(void) {
    enum { LEAST_KIB = 256 };
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= LEAST_KIB * 1024)
        return true;
    struct error err = {0};
    FAIL(&err, ERROR_USAGE, "a stack of %llu KiB is too small for gpuvet: ulimit -s %d, or more",
         (unsigned long long)stack.rlim_cur / 1024, LEAST_KIB);
    log_error(&err);
    return false;
}

int main(int argc, char **argv) {
    fill_closed_descriptors();
    if (!stack_suffices())
        return EXIT_USAGE;
    /* Writes to a pipe nobody reads fail with EPIPE instead of killing the process, which a coordinator with
     * workers at the other end could not survive. */
    signal(SIGPIPE, SIG_IGN);
    /* Ignored, as some parents leave it, no child could be waited for: each would seem to hang. */
    signal(SIGCHLD, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit (ulimit -f) fails with EFBIG, which can be told */
    return output_finish(dispatch(argc, argv));
}
