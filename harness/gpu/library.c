/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/library.h"

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FOLDERS = 256 };

/* ---- where ---- */

static void add_matches(struct strings *out, const char *pattern) {
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i > 0 && out->count < MAX_FOLDERS; i--) /* the newest version first */
            strings_add(out, found.gl_pathv[i - 1]);
    globfree(&found);
}

static void cuda_folders(struct strings *out) {
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    static const char *const patterns[] = {
        "/usr/local/cuda/lib64",
        "/usr/local/cuda/targets/*/lib",
        "/usr/local/cuda-*/lib64",
        "/usr/local/cuda-*/lib",
        "/opt/cuda/lib64",
        "/opt/nvidia/hpc_sdk/*/*/cuda/lib64",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/local/lib",
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]) != NULL)
            strings_addf(out, "%s/lib64", getenv(variables[i]));
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        add_matches(out, patterns[i]);
}

/* The folders that hold lib/python3…: of the active environment, of the python3 that PATH finds, the usual
 * ones. */
static void python_roots(struct strings *out) {
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    static const char *const usual[] = {"/usr/local",   "/usr",        "/opt/venv", "/opt/conda",
                                        "/opt/*/.venv", "/opt/*/venv", "/venv"};
    struct strings path = {0};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]) != NULL)
            strings_add(out, getenv(variables[i]));
    strings_split(&path, getenv("PATH") != NULL ? getenv("PATH") : "", ':');
    for (size_t i = 0; i < path.count && i < MAX_FOLDERS; i++) {
        char *python = path_join(path.items[i], "python3");
        if (path.items[i][0] == '/' && access(python, X_OK) == 0)
            strings_addf(out, "%s/..", path.items[i]);
        free(python);
    }
    strings_free(&path);
    static const char *const at_home[] = {".local", "miniconda3", ".venv"};
    for (size_t i = 0; i < sizeof at_home / sizeof *at_home && getenv("HOME") != NULL; i++)
        strings_addf(out, "%s/%s", getenv("HOME"), at_home[i]);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        strings_add(out, usual[i]);
}

static void python_folders(struct strings *out) {
    struct strings roots = {0};
    python_roots(&roots);
    for (size_t i = 0; i < roots.count; i++) {
        static const char *const packages[] = {"lib/python3*/site-packages", "lib/python3*/dist-packages",
                                               "lib64/python3*/site-packages"};
        for (size_t k = 0; k < sizeof packages / sizeof *packages; k++) {
            struct text pattern = {0};
            text_addf(&pattern, "%s/%s/nvidia/*/lib", roots.items[i], packages[k]);
            add_matches(out, text_string(&pattern));
            text_free(&pattern);
        }
    }
    strings_free(&roots);
}

/* ---- loading ---- */

static void resolve_path(struct library *library, const char *asked) {
    struct link_map *map = NULL;
    char real[PATH_MAX];
    const char *name =
        dlinfo(library->handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0' ? map->l_name : asked;
    snprintf(library->path, sizeof library->path, "%s", realpath(name, real) != NULL ? real : name);
}

static bool load(const char *path, const char *found, struct library *out) {
    out->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (out->handle == NULL)
        return false;
    out->found = found;
    resolve_path(out, path);
    return true;
}

/* A file, or a folder that has it. */
static bool load_chosen(const struct library_name *name, const char *chosen, struct library *out,
                        struct error *err) {
    struct stat st;
    bool folder = stat(chosen, &st) == 0 && S_ISDIR(st.st_mode);
    for (int i = 0; folder && i < LIBRARY_FILES && name->files[i] != NULL; i++) {
        char *path = path_join(chosen, name->files[i]);
        bool good = load(path, "chosen", out);
        free(path);
        if (good)
            return true;
    }
    if (!folder && strchr(chosen, '/') == NULL)
        return FAIL(err, ERROR_ABSENT, "%s: '%.200s' is no path (it has no slash)", name->variable, chosen);
    if (!folder && load(chosen, "chosen", out))
        return true;
    const char *why = dlerror();
    return FAIL(err, ERROR_ABSENT, "%s, chosen by %s, does not load: %.600s", name->what, name->variable,
                why != NULL ? why : "no such library in that folder");
}

static bool load_from(const struct library_name *name, void (*list)(struct strings *), const char *found,
                      struct library *out, struct text *refused) {
    struct strings folders = {0};
    list(&folders);
    for (int file = 0; file < LIBRARY_FILES && name->files[file] != NULL && out->handle == NULL; file++)
        for (size_t i = 0; i < folders.count && out->handle == NULL; i++) {
            char *path = path_join(folders.items[i], name->files[file]);
            if (access(path, F_OK) == 0 && !load(path, found, out) && refused->length == 0)
                text_add(refused, dlerror());
            free(path);
        }
    strings_free(&folders);
    return out->handle != NULL;
}

bool library_open(const struct library_name *name, struct library *out, struct error *err) {
    *out = (struct library){0};
    const char *chosen = getenv(name->variable);
    if (chosen != NULL && *chosen != '\0')
        return load_chosen(name, chosen, out, err) || RELAY(err);
    for (int i = 0; i < LIBRARY_FILES && name->files[i] != NULL; i++)
        if (load(name->files[i], "loader", out))
            return true;
    struct text refused = {0};
    bool good = load_from(name, cuda_folders, "cuda", out, &refused) ||
                load_from(name, python_folders, "python", out, &refused);
    if (!good && refused.length > 0)
        FAIL(err, ERROR_ABSENT, "%s does not load: %.600s", name->what, text_string(&refused));
    else if (!good)
        FAIL(
            err, ERROR_ABSENT,
            "%s (%s) is not installed: neither the loader nor the CUDA folders nor Python's packages have it; "
            "%s, or name it: %s=PATH",
            name->what, name->files[0], name->install, name->variable);
    text_free(&refused);
    return good;
}

/* ---- the driver's ---- */

void *library_open_driver(const char *file, const char *variable, struct error *err) {
    static const char *const folders[] = {
        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
        "/usr/local/nvidia/lib64",   "/usr/lib/wsl/lib",           "/run/opengl-driver/lib",
        "/usr/lib/nvidia",           "/usr/local/cuda/lib64",      "/opt/cuda/lib64",
    };
    const char *chosen = getenv(variable);
    if (chosen != NULL && *chosen != '\0') {
        void *library = dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL)
            FAIL(err, ERROR_GPU, "%s: %s", variable, dlerror());
        return library;
    }
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        FAIL(err, ERROR_GPU, "%s", dlerror());
    for (size_t i = 0; library == NULL && i < sizeof folders / sizeof *folders; i++) {
        char *path = path_join(folders[i], file);
        bool there = access(path, F_OK) == 0; /* that one of them lacks it explains nothing */
        library = there ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (library == NULL && there)
            FAIL(err, ERROR_GPU, "%s", dlerror());
        free(path);
    }
    struct text none = {0};
    text_addf(&none, "%s: cannot open shared object file: No such file", file);
    if (library == NULL && text_starts(err->text, text_string(&none)))
        error_context(err, "no NVIDIA driver here (in a container: not mounted from the host)");
    else if (library == NULL)
        error_context(err, "the NVIDIA driver's library is here and does not load");
    text_free(&none);
    return library;
}

/* ---- describing ---- */

void library_describe(const struct library *library, bool hash, js *out) {
    struct stat st;
    char hex[SHA256_HEX_SIZE];
    js_set_string(out, "path", library->path);
    js_set_string(out, "found", library->found);
    if (stat(library->path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        js_set_int(out, "bytes", st.st_size);
    if (hash && sha256_file_hex(library->path, hex))
        js_set_string(out, "sha256", hex);
}
