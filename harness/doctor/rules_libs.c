/* SPDX-License-Identifier: Apache-2.0 */
/* Which libcuda a program gets: none, an empty file, one that the loader refuses, the toolkit's link-time
 * one, or that of the forward compatibility package. */
#include "base/mem.h"
#include "doctor/doctor.h"
#include "doctor/versions.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

enum { CUDA_STUB_LIBRARY = 34, CUDA_MISMATCH = 803, CUDA_NO_COMPAT = 804 };

/* ---- the link-time library ---- */

static bool is_stub_path(const char *path) {
    return path != NULL && (strstr(path, "/stubs/") != NULL || text_ends(path, "/stubs"));
}

/* The first folder of a colon-separated list that is a stubs folder. NULL: none. Release with free. */
static char *stub_folder(const char *list) {
    struct strings folders = {0};
    char *out = NULL;
    if (list != NULL)
        strings_split(&folders, list, ':');
    for (size_t i = 0; i < folders.count && out == NULL; i++)
        if (is_stub_path(folders.items[i]) || text_ends(folders.items[i], "/stubs/"))
            out = mem_copy_string(folders.items[i]);
    strings_free(&folders);
    return out;
}

static void remedy_stub(struct finding *f, const struct scene *scene, const char *path) {
    const char *preload = versions_variable(scene, "LD_PRELOAD");
    char *folder = stub_folder(versions_variable(scene, "LD_LIBRARY_PATH"));
    if (folder != NULL) {
        finding_evidence(f, "LD_LIBRARY_PATH", "%s", folder);
        finding_remedy(f, "take %s out of LD_LIBRARY_PATH (it is for linking only: -L, LIBRARY_PATH)",
                       folder);
    } else if (preload != NULL && is_stub_path(preload)) {
        finding_evidence(f, "LD_PRELOAD", "%s", preload);
        finding_remedy(f, "unset LD_PRELOAD");
    } else {
        finding_remedy(
            f, "LD_LIBRARY_PATH and /etc/ld.so.conf.d must not name the folder of %s; then ldconfig", path);
        finding_remedy(f, "an image that copied or linked it to libcuda.so.1: remove that file");
    }
    free(folder);
}

static void check_stub(const struct scene *scene, struct findings *out) {
    const char *path = versions_library(scene, "cuda");
    bool by_code = versions_cuda_code(scene) == CUDA_STUB_LIBRARY;
    int64_t size = path == NULL ? -1 : file_list_size(scene->source, &scene->driver.files, path);
    if (by_code || (is_stub_path(path) && !versions_cuda_works(scene))) {
        struct finding *f = finding_add(out, "libs.stub", SEVERITY_FAIL,
                                        "the toolkit's stub libcuda is loaded instead of the driver's");
        finding_evidence(f, path != NULL ? path : "libcuda.so.1", "%s",
                         is_stub_path(path) ? "libcuda.so.1 resolves to it" : "found as libcuda.so.1");
        if (size >= 0 && size < 1 << 20)
            finding_evidence(f, "its size", "%lld bytes; the driver's has tens of MB", (long long)size);
        remedy_stub(f, scene, path != NULL ? path : "libcuda.so.1");
        return;
    }
    const char *link = js_get_string(js_get(scene->probes, "libs"), "libcuda.so", NULL);
    char *folder = stub_folder(versions_variable(scene, "LD_LIBRARY_PATH"));
    struct text in_folder = {0};
    text_addf(&in_folder, "%s/libcuda.so", folder != NULL ? folder : "");
    bool there = folder != NULL && look_exists(scene->source, text_string(&in_folder));
    if (is_stub_path(link) || there) {
        struct finding *f = finding_add(out, "libs.stub-as-libcuda.so", SEVERITY_WARN,
                                        "a program that asks for libcuda.so gets the toolkit's stub");
        finding_evidence(f, is_stub_path(link) ? link : text_string(&in_folder),
                         "libcuda.so resolves to it; libcuda.so.1 is the driver's");
        remedy_stub(f, scene, is_stub_path(link) ? link : text_string(&in_folder));
    }
    text_free(&in_folder);
    free(folder);
}

/* ---- no library ---- */

static bool is_runtime(const struct scene *scene) {
    static const char *const managers[] = {"docker", "podman", "kubernetes", "containerd", "cri-o"};
    for (size_t i = 0; i < sizeof managers / sizeof *managers; i++)
        if (strcmp(scene->manager, managers[i]) == 0)
            return true;
    return false;
}

/* `elsewhere`: one that is there, and that the loader does not find; NULL. */
static void say_missing(const struct scene *scene, const char *elsewhere, struct findings *out) {
    const char *loaded = versions_loaded(scene);
    const char *nvml = versions_library(scene, "nvml");
    const char *capabilities = versions_variable(scene, "NVIDIA_DRIVER_CAPABILITIES");
    struct finding *f =
        finding_add(out, "libs.missing", SEVERITY_FAIL, "libcuda.so.1 is not found%s",
                    nvml != NULL ? ", though libnvidia-ml.so.1 is: nvidia-smi works and CUDA does not" : "");
    finding_evidence(f, "libcuda.so.1", "not found");
    if (elsewhere != NULL) {
        finding_evidence(f, elsewhere,
                         "is there, and is none to the loader: a folder that it does not search");
        finding_remedy(f,
                       "file -L %s; of 64 bits: its folder into a file of /etc/ld.so.conf.d, then ldconfig",
                       elsewhere);
    }
    if (nvml != NULL)
        finding_evidence(f, nvml, "libnvidia-ml.so.1 resolves to it");
    if (loaded != NULL)
        finding_evidence(f, "/proc/driver/nvidia/version", "%s", loaded);
    if (scene->container && is_runtime(scene)) {
        finding_evidence(f, "NVIDIA_DRIVER_CAPABILITIES", "%s",
                         capabilities != NULL ? capabilities : "not set");
        finding_cause(
            f,
            "NVIDIA's container runtime brings in only the libraries of the capabilities that are asked for; utility alone is nvidia-smi");
        finding_remedy(
            f,
            "docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility …   (in an image: ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility)");
        finding_remedy(
            f, "compose: deploy.resources.reservations.devices[].capabilities: [gpu, compute, utility]");
    } else if (loaded != NULL) {
        finding_remedy(
            f,
            "install libcuda of exactly %s: Debian libcuda1, Ubuntu libnvidia-compute-*, Fedora nvidia-driver-cuda-libs%s",
            loaded, scene->container ? "; in the container, user space only" : "");
    } else {
        finding_remedy(
            f,
            "install the driver's user space: Debian libcuda1, Ubuntu libnvidia-compute-*, Fedora nvidia-driver-cuda-libs");
    }
}

/* What answers, hangs or dies was loaded, wherever it lies: by GPUVET_LIBCUDA, say, or a program's own path.
 */
static bool was_loaded(const struct scene *scene) {
    int code = -1;
    return scene_probe(scene, "cuInit", &code) != PROBE_UNKNOWN;
}

/* The loader's word on the libcuda.so.1 that is there; NULL: it was loaded, or not tried. One that somebody
 * chose by a variable of ours is not what programs get. */
static const char *loader_refusal(const struct scene *scene, const char *path) {
    const js *probe = js_get(scene->probes, "cuInit");
    const char *reason = js_get_string(probe, "reason", NULL);
    if (reason == NULL || !js_get_bool(probe, "absent", false) || text_starts(reason, "GPUVET_"))
        return NULL;
    const char *slash = strrchr(path, '/');
    const char *name = strstr(reason, slash != NULL ? slash + 1 : path);
    return name != NULL ? name : reason;
}

static void say_unusable(const struct scene *scene, const char *path, const char *why, struct findings *out) {
    const char *loaded = versions_loaded(scene);
    struct finding *f =
        finding_add(out, "libs.unusable", SEVERITY_FAIL, "the libcuda.so.1 that is found cannot be used");
    finding_evidence(f, path, "%.300s", why);
    if (strstr(why, "Permission denied") != NULL) {
        finding_remedy(f, "let everybody read it: chmod a+r %s, and its folders: namei -l %s", path, path);
        return;
    }
    if (strstr(why, "failed to map segment") != NULL || strstr(why, "allocate memory") != NULL) {
        finding_cause(f, "the file may be whole: it may not be mapped, or there is no room to");
        finding_remedy(f, "a limit of address space (batch systems set one): ulimit -v must be unlimited");
        finding_remedy(f, "a file system mounted noexec: findmnt -T %s", path);
        return;
    }
    finding_remedy(f, "see what it is, and what it lacks: file -L %s; ldd %s", path, path);
    finding_remedy(
        f,
        "reinstall the driver's user space%s%s: Debian libcuda1, Ubuntu libnvidia-compute-*, Fedora nvidia-driver-cuda-libs",
        loaded != NULL ? ", of exactly " : "", loaded != NULL ? loaded : "");
}

static void check_missing(const struct scene *scene, struct findings *out) {
    const char *path = versions_library(scene, "cuda");
    bool used = versions_is_loaded(scene) == 1 &&
                (!scene->container || versions_nvml_works(scene) || versions_container_wants(scene)) &&
                (scene->container || versions_gpu(scene, 0) != NULL);
    if (path == NULL && used && versions_libraries_known(scene) && !was_loaded(scene)) {
        say_missing(scene, NULL, out);
    } else if (path != NULL && used && file_list_size(scene->source, &scene->driver.files, path) == 0 &&
               !versions_cuda_works(scene)) {
        struct finding *f =
            finding_add(out, "libs.empty", SEVERITY_FAIL, "the libcuda.so.1 that is found is an empty file");
        finding_evidence(f, path, "0 bytes");
        finding_remedy(
            f,
            "remove %s: it is the mount point that a committed image kept; the runtime puts the driver's there when the container has a GPU",
            path);
    } else if (path != NULL && used && !was_loaded(scene)) {
        const char *why = loader_refusal(scene, path);
        /* Fedora's /usr/lib, say, which is for programs of 32 bits. */
        if (why != NULL && strstr(why, "libcuda.so.1: cannot open shared object file: No such file") != NULL)
            say_missing(scene, path, out);
        else if (why != NULL)
            say_unusable(scene, path, why, out);
    }
}

/* ---- forward compatibility ---- */

static void check_compat(const struct scene *scene, struct findings *out) {
    const char *path = versions_library(scene, "cuda");
    const char *version = versions_of_library(scene, "cuda");
    const char *loaded = versions_loaded(scene);
    int code = versions_cuda_code(scene);
    bool compat =
        versions_is_compat(path) && (version == NULL || loaded == NULL || strcmp(version, loaded) != 0);
    bool refused = code == CUDA_NO_COMPAT || (compat && code == CUDA_MISMATCH);
    if (!refused && !(compat && code < 0 && versions_is_consumer(scene)))
        return;
    struct finding *f =
        finding_add(out, "libs.compat", SEVERITY_FAIL, "the forward-compat libcuda %s cannot be used here",
                    version != NULL ? version : "");
    finding_evidence(f, path != NULL ? path : "libcuda.so.1", "%s", version != NULL ? version : "resolved");
    if (loaded != NULL)
        finding_evidence(f, "/proc/driver/nvidia/version", "%s", loaded);
    if (code >= 0)
        finding_evidence(f, "cuInit", "%d", code);
    const char *name = js_get_string(js_at(js_get(scene->probes, "gpus"), 0), "name", NULL);
    if (name != NULL)
        finding_evidence(f, "GPU", "%s", name);
    const char *search = versions_variable(scene, "LD_LIBRARY_PATH");
    if (search != NULL && strstr(search, "compat") != NULL)
        finding_evidence(f, "LD_LIBRARY_PATH", "%s", search);
    finding_remedy(
        f,
        "take /usr/local/cuda/compat out of LD_LIBRARY_PATH and /etc/ld.so.conf.d (then ldconfig), so that the host driver's libcuda is found");
    finding_remedy(
        f, "and, for a toolkit newer than %s knows, update the host driver; or use an image of an older CUDA",
        loaded != NULL ? loaded : "the host driver");
}

static const struct rule rules[] = {
    {.id = "libs.stub",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the toolkit's stub libcuda is loaded",
     .needs = "probes.json: libs, env LD_LIBRARY_PATH, cuInit",
     .cause =
         "the library below …/stubs/ exists so that programs can be linked without a driver; each of its calls answers 34",
     .remedy = "take the stubs folder out of LD_LIBRARY_PATH",
     .source = "measured: cuInit answers 34; public threads of numba and warp",
     .check = check_stub},
    {.id = "libs.stub-as-libcuda.so",
     .area = AREA_CUDA,
     .severity = SEVERITY_WARN,
     .title = "libcuda.so, without .1, is the toolkit's stub",
     .needs = "probes.json: libs, env LD_LIBRARY_PATH",
     .cause =
         "programs that load libcuda.so at run time (numba and others do) get the stub, others the driver",
     .remedy = "take the stubs folder out of LD_LIBRARY_PATH",
     .source = "public threads of numba"},
    {.id = "libs.missing",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "libcuda.so.1 is not found",
     .needs = "probes.json: libs",
     .cause =
         "NVML and CUDA are two libraries, and the second is not installed or was not brought into the container",
     .remedy = "install it in the module's version; in a container, the capability compute",
     .source = "public thread: capabilities [gpu, utility]",
     .check = check_missing},
    {.id = "libs.empty",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "libcuda.so.1 is an empty file",
     .needs = "probes.json: libs, files.tsv",
     .cause =
         "an image that was committed while a GPU was attached keeps the mount points as empty files: file too short",
     .remedy = "remove the file from the image",
     .source = "behaviour of bind mounts in committed images"},
    {.id = "libs.unusable",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "libcuda.so.1 is there and cannot be used",
     .needs = "probes.json: libs, cuInit (absent, reason)",
     .cause =
         "a file cut short (an upgrade that was interrupted, a full disk), one of another architecture, one that this user may not read, one whose own libraries are missing, or one that cannot be mapped (ulimit -v, noexec)",
     .remedy = "what the loader says of it; reinstall the driver's user space",
     .source = "injected: a library cut short, of another architecture, unreadable, a folder in its place"},
    {.id = "libs.compat",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the forward compatibility libcuda does not work here",
     .needs = "probes.json: libs, cuInit, gpus",
     .cause =
         "a libcuda newer than the kernel module works on data-center GPUs only, and only over some driver branches",
     .remedy = "take the compat folder out of the search path, or update the host driver",
     .source = "public threads: error 804 on GeForce; NVIDIA's CUDA compatibility guide",
     .check = check_compat},
    {0},
};

const struct rule_family family_libs = {"libs", rules};
