/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a library that users install in many ways, and loading it: the path that was chosen, the loader's
 * own search, the CUDA folders, Python's packages. */
#ifndef GPUVET_GPU_LIBRARY_H
#define GPUVET_GPU_LIBRARY_H

#include "base/error.h"
#include "base/json.h"

enum { LIBRARY_FILES = 3, LIBRARY_PATH_SIZE = 4096 };

struct library_name {
    const char *what;                 /* "NCCL" */
    const char *files[LIBRARY_FILES]; /* "libnccl.so.2", the best first; NULL: no more */
    const char *variable;             /* "GPUVET_NCCL": a path that somebody chose, a file or its folder */
    const char *install;              /* how to get it, for the reason of a skip */
};

struct library {
    void *handle;                 /* NULL: not loaded; never unloaded */
    char path[LIBRARY_PATH_SIZE]; /* links resolved */
    const char *found;            /* "chosen", "loader", "cuda", "python" */
};

/* False with ERROR_ABSENT where there is none: the reason names the places and the way to install it. */
bool library_open(const struct library_name *name, struct library *out, struct error *err);

/* One of the driver's own libraries ("libcuda.so.1"): the file that `variable` names and then no other, else
 * the loader's, else what lies where containers, WSL, NixOS and mounts made by hand put it. For dlsym, and
 * dlclose by the caller. NULL with ERROR_GPU: what the loader says. */
void *library_open_driver(const char *file, const char *variable, struct error *err);

/* {"path","found","bytes"} and with `hash` "sha256" (of half a gigabyte: a second or more). Adds to `out`. */
void library_describe(const struct library *library, bool hash, js *out);

#endif
