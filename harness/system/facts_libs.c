/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries that GPU cases load: found as dlopen finds them (LD_LIBRARY_PATH, ld.so.cache, the usual
 * folders; last the toolkit's), never loaded. */
#include "base/files.h"
#include "base/hash.h"
#include "system/facts_read.h"
#include "system/look.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name, *file;
} libraries[N_LIBRARIES] = {
    {"cuda", "libcuda.so.1"},          {"nvml", "libnvidia-ml.so.1"},       {"nccl", "libnccl.so.2"},
    {"cublasLt", "libcublasLt.so.13"}, {"cublasLt12", "libcublasLt.so.12"},
};

/* ---- ld.so.cache ---- */

enum { CACHE_LIMIT = 16 << 20, CACHE_HEADER = 48, CACHE_ENTRY = 24 };
#if defined(__aarch64__)
enum { CACHE_FLAGS = 0x0a03 };
#else
enum { CACHE_FLAGS = 0x0303 };
#endif
static const char cache_magic[] = "glibc-ld.so.cache1.1";

static uint32_t cache_word(const char *cache, size_t at) {
    uint32_t value;
    memcpy(&value, cache + at, sizeof value);
    return value;
}

/* A string of the cache, NULL when it does not end within it, or is longer than any path. */
static const char *cache_string(const char *cache, size_t length, uint32_t at) {
    size_t most = at >= length ? 0 : length - at < PATH_MAX ? length - at : PATH_MAX;
    return most > 0 && memchr(cache + at, '\0', most) != NULL ? cache + at : NULL;
}

/* The cache of glibc since 2.2, perhaps behind one of an older format: header (magic, number of entries, …),
 * then entries of 24 bytes (flags, name, path, …, hardware capabilities), then strings. */
const char *ld_cache_find(const struct text *file, const char *name) {
    const char *cache = file->length < CACHE_HEADER
                            ? NULL
                            : memmem(file->data, file->length, cache_magic, sizeof cache_magic - 1);
    if (cache == NULL)
        return NULL;
    size_t length = file->length - (size_t)(cache - file->data);
    if (length < CACHE_HEADER)
        return NULL;
    size_t count = cache_word(cache, 20);
    for (size_t i = 0; i < count && CACHE_HEADER + (i + 1) * CACHE_ENTRY <= length; i++) {
        size_t at = CACHE_HEADER + i * CACHE_ENTRY;
        bool plain = cache_word(cache, at + 16) == 0 && cache_word(cache, at + 20) == 0;
        if (cache_word(cache, at) != CACHE_FLAGS || !plain)
            continue;
        const char *key = cache_string(cache, length, cache_word(cache, at + 4));
        const char *value = cache_string(cache, length, cache_word(cache, at + 8));
        if (key != NULL && value != NULL && strcmp(key, name) == 0)
            return value;
    }
    return NULL;
}

/* ---- looking ---- */

/* Resolved, when it is there. */
static struct fact resolved(const char *path) {
    char *real = realpath(path, NULL);
    struct fact out = fact_text(real);
    free(real);
    return out;
}

static struct fact find_in_folders(const struct strings *folders, const char *file) {
    struct fact out = {0};
    for (size_t i = 0; i < folders->count && out.value == NULL; i++) {
        char *path = path_join(folders->items[i], file);
        out = resolved(path);
        free(path);
    }
    return out;
}

static struct fact find_live(const char *file, const struct strings *first, const struct text *cache,
                             const struct strings *last) {
    struct fact out = find_in_folders(first, file);
    const char *cached = out.value == NULL ? ld_cache_find(cache, file) : NULL;
    if (cached != NULL)
        out = resolved(cached);
    return out.value != NULL ? out : find_in_folders(last, file);
}

/* "libcuda.so.580.159.04" → "580.159.04" */
static struct fact version_of(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *version = strstr(slash != NULL ? slash : path, ".so.");
    return version == NULL ? (struct fact){0} : fact_text(version + 4);
}

/* Python's packages name the file libnccl.so.2 only: the words that NCCL prints are in its first megabytes.
 */
static struct fact nccl_version_inside(const char *path) {
    enum { SEARCHED = 32 << 20 };
    static const char words[] = "NCCL version ";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    struct fact out = {0};
    if (fd < 0)
        return out;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        size_t size = st.st_size < SEARCHED ? (size_t)st.st_size : SEARCHED;
        char *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        const char *at = map == MAP_FAILED ? NULL : map;
        while (at != NULL && out.value == NULL) {
            at = memmem(at, size - (size_t)(at - map), words, sizeof words - 1);
            at = at == NULL ? NULL : at + sizeof words - 1;
            size_t n = 0, left = at == NULL ? 0 : size - (size_t)(at - map);
            while (n < left && n < 24 && (at[n] == '.' || (at[n] >= '0' && at[n] <= '9')))
                n++;
            char version[25] = "";
            memcpy(version, at == NULL ? "" : at, n);
            out = strchr(version, '.') != NULL ? fact_text(version) : out;
        }
        if (map != MAP_FAILED)
            munmap(map, size);
    }
    close(fd);
    return out;
}

static struct fact hash_of(const char *path) {
    char hex[SHA256_HEX_SIZE];
    return sha256_file_hex(path, hex) ? fact_text(hex) : (struct fact){0};
}

static void read_live(const struct source *source, struct library_facts out[N_LIBRARIES]) {
    static const char *const usual[] = {
        "/lib/x86_64-linux-gnu",   "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
        "/usr/local/nvidia/lib64", "/usr/local/cuda/lib64"};
    struct strings first = {0}, last = {0};
    struct text cache = {0};
    const char *path = getenv("LD_LIBRARY_PATH");
    if (path != NULL)
        strings_split(&first, path, ':');
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        strings_add(&last, usual[i]);
    look_bytes(source, "/etc/ld.so.cache", CACHE_LIMIT, &cache);
    for (size_t i = 0; i < N_LIBRARIES; i++)
        out[i].path = find_live(libraries[i].file, &first, &cache, &last);
    text_free(&cache);
    strings_free(&first);
    strings_free(&last);
}

void read_libraries(const struct source *source, struct library_facts out[N_LIBRARIES]) {
    if (source->live)
        read_live(source, out);
    for (size_t i = 0; i < N_LIBRARIES; i++) {
        out[i].name = libraries[i].name;
        if (!source->live)
            out[i].path = fact_text(js_get_string(js_get(source->probes, "libs"), libraries[i].file, NULL));
        if (out[i].path.value == NULL)
            continue;
        const js *versions = js_get(source->probes, "lib_versions");
        const char *known = js_get_string(versions, out[i].path.value, NULL);
        out[i].version = known != NULL ? fact_text(known) : version_of(out[i].path.value);
        bool short_name = out[i].version.value == NULL || strchr(out[i].version.value, '.') == NULL;
        if (source->live && known == NULL && short_name && strcmp(out[i].name, "nccl") == 0) {
            free(out[i].version.value);
            out[i].version = nccl_version_inside(out[i].path.value);
        }
        if (source->live && source->hash_libraries)
            out[i].sha256 = hash_of(out[i].path.value);
    }
}
