/* SPDX-License-Identifier: Apache-2.0 */
#include "base/results.h"

#include "base/files.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* The folder by the rules, whether it exists or not. */
static char *choose(const char *given, const char **from) {
    *from = "--results";
    if (given != NULL)
        return mem_copy_string(given);
    *from = "GPUVET_RESULTS";
    if (variable(*from) != NULL)
        return mem_copy_string(variable(*from));
    *from = NULL;
    if (is_folder("results"))
        return mem_copy_string("results");
    if (geteuid() == 0)
        return mem_copy_string("/var/lib/gpuvet");
    const char *state = variable("XDG_STATE_HOME");
    if (state != NULL && state[0] == '/') /* its specification: a relative path is to be ignored */
        return path_join(state, "gpuvet");
    return variable("HOME") == NULL ? NULL : path_join(variable("HOME"), ".local/state/gpuvet");
}

static bool make_inside(const char *folder, const char *name, struct error *err) {
    char *path = path_join(folder, name);
    bool good = folder_make(path, err);
    if (good && access(path, W_OK | X_OK) != 0)
        good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot write to %s: %s", path, strerror(errno));
    free(path);
    return good;
}

static bool make_all(const char *folder, struct error *err) {
    return (make_inside(folder, "runs", err) && make_inside(folder, "baselines", err)) ||
           error_context(err, "results folder %s (name another with --results DIR)", folder);
}

static bool must_exist(const char *folder, const char *from, struct error *err) {
    struct stat st;
    if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode))
        return true;
    int code = stat(folder, &st) == 0 ? ENOTDIR : errno;
    if (from != NULL)
        return FAIL_NATIVE(err, ERROR_SYSTEM, code, "results folder %s (%s): %s; gpuvet run creates it",
                           folder, from, strerror(code));
    return FAIL_NATIVE(
        err, ERROR_SYSTEM, code,
        "there is no results folder yet (looked for ./results and %s): gpuvet run creates it, or "
        "name one with --results DIR",
        folder);
}

char *results_folder(const char *given, bool make, struct error *err) {
    const char *from;
    char *folder = choose(given, &from);
    if (folder == NULL || folder[0] == '\0') {
        FAIL(err, ERROR_USAGE, "no results folder: %s; name one with --results DIR",
             folder == NULL ? "HOME is not set" : "--results is empty");
        free(folder);
        return NULL;
    }
    bool good = make ? make_all(folder, err) : must_exist(folder, from, err);
    if (good)
        return folder;
    free(folder);
    return NULL;
}
