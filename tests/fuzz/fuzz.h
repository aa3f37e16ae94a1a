/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz programs share: a scratch tree, and a main for builds without libFuzzer, which replays the
 * committed corpus and mutates it from a fixed seed, a bounded number of times, so that every build and
 * sanitizer runs it. With libFuzzer: tests/fuzz/libfuzzer.sh. */
#ifndef GPUVET_TESTS_FUZZ_H
#define GPUVET_TESTS_FUZZ_H

#include "base/files.h"
#include "base/mem.h"
#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- a folder of this process's own ---- */

static char fuzz_folder[64];

__attribute__((unused)) static int fuzz_remove(const char *path, const struct stat *st, int flag,
                                               struct FTW *at) {
    (void)st;
    (void)flag;
    return at->level == 0 ? 0 : remove(path);
}

__attribute__((unused)) static void fuzz_clear(void) {
    (void)nftw(fuzz_folder, fuzz_remove, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((unused)) static void fuzz_end(void) {
    fuzz_clear();
    (void)rmdir(fuzz_folder);
}

/* Made at the first call, in memory where that can be. */
__attribute__((unused)) static const char *fuzz_tree(void) {
    if (fuzz_folder[0] != '\0')
        return fuzz_folder;
    strcpy(fuzz_folder,
           access("/dev/shm", W_OK) == 0 ? "/dev/shm/gpuvet-fuzz-XXXXXX" : "/tmp/gpuvet-fuzz-XXXXXX");
    if (mkdtemp(fuzz_folder) == NULL) {
        perror("a scratch folder");
        exit(1);
    }
    (void)atexit(fuzz_end);
    return fuzz_folder;
}

/* The folder that `path` lies in, made where it is missing; -1: a file or a link stands in its way. An input
 * may hold links to anywhere: nothing is made or removed through one. */
__attribute__((unused)) static int fuzz_above(const char *path) {
    int fd = open(fuzz_tree(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (const char *slash; fd >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        char *name = mem_copy_bytes(path, (size_t)(slash - path));
        (void)mkdirat(fd, name, 0700);
        int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(fd);
        free(name);
        fd = next;
    }
    return fd;
}

__attribute__((unused)) static const char *fuzz_last(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* `path` below the folder, with what is above it. */
__attribute__((unused)) static bool fuzz_put(const char *path, const char *data, size_t length) {
    struct error err = {0};
    int above = fuzz_above(path);
    int fd = above < 0 ? -1
                       : openat(above, fuzz_last(path), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                                0600);
    bool good = fd >= 0 && fd_write_all(fd, data, length, &err);
    if (fd >= 0)
        close(fd);
    if (above >= 0)
        close(above);
    return good;
}

/* ---- without libFuzzer ---- */

#ifndef GPUVET_LIBFUZZER
#ifndef FUZZ_MUTATIONS
#define FUZZ_MUTATIONS 300
#endif
enum { LARGEST_INPUT = 1 << 20 };

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * 0x2545F4914F6CDD1DULL >> 16;
}

/* One to four small wounds: a byte changed, a piece cut out, a piece doubled. */
static void mutate(const struct text *input, uint64_t *seed, struct text *out) {
    text_clear(out);
    text_add_bytes(out, text_string(input), input->length);
    for (uint64_t n = 1 + next_random(seed) % 4; n > 0 && out->length > 0; n--) {
        size_t at = next_random(seed) % out->length;
        size_t length = 1 + next_random(seed) % 64;
        length = length < out->length - at ? length : out->length - at;
        switch (next_random(seed) % 3) {
        case 0:
            out->data[at] = (char)next_random(seed);
            break;
        case 1:
            memmove(out->data + at, out->data + at + length, out->length - at - length);
            out->length -= length;
            break;
        default: {
            char *piece = mem_copy_bytes(out->data + at, length);
            text_add_bytes(out, piece, length);
            free(piece);
        }
        }
    }
}

/* As libFuzzer does: a block of exactly this size, so that a sanitizer sees what reads beyond it. */
static void give(const struct text *input) {
    uint8_t *block = malloc(input->length > 0 ? input->length : 1);
    if (block == NULL)
        exit(1);
    if (input->length > 0)
        memcpy(block, input->data, input->length);
    LLVMFuzzerTestOneInput(block, input->length);
    free(block);
}

static bool play(const char *path) {
    struct text input = {0};
    struct text wounded = {0};
    struct error err = {0};
    uint64_t seed = 0x9e3779b97f4a7c15ULL;
    if (!file_read(path, LARGEST_INPUT, &input, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    give(&input);
    for (int i = 0; i < FUZZ_MUTATIONS; i++) {
        mutate(&input, &seed, &wounded);
        give(&wounded);
    }
    text_free(&input);
    text_free(&wounded);
    return true;
}

/* A folder of inputs; without arguments the committed corpus. */
int main(int argc, char **argv) {
    const char *folder = argc > 1 ? argv[1] : GPUVET_SOURCE_DIR "/tests/fuzz/" FUZZ_CORPUS;
    DIR *dir = opendir(folder);
    size_t played = 0;
    bool good = dir != NULL;
    for (struct dirent *entry; good && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        char *path = path_join(folder, entry->d_name);
        good = play(path);
        played++;
        free(path);
    }
    if (dir != NULL)
        closedir(dir);
    printf("%zu inputs, each with %d mutations\n", played, FUZZ_MUTATIONS);
    return good && played > 0 ? 0 : 1;
}
#endif

#endif
