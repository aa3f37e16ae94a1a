/* SPDX-License-Identifier: Apache-2.0 */
/* run_read and the comparison of whatever it accepts, on any bytes. With clang:
 *     clang -DGPUVET_LIBFUZZER -fsanitize=fuzzer,address,undefined … && ./fuzz_run_reader
 * tests/fuzz/run_reader Without libFuzzer a main of its own replays the corpus and then mutates it from a
 * fixed seed, a bounded number of times, so that every build and sanitizer runs it. */
#include "base/files.h"
#include "base/mem.h"
#include "compare/compare.h"
#include "run/record.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare_with_itself(const struct run *run) {
    struct compare_options options = {.force = true};
    struct comparison c;
    struct error err = {0};
    if (!compare_runs(run, 1, run, 1, &options, &c, &err))
        return;
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere != NULL) {
        comparison_print(&c, nowhere);
        fclose(nowhere);
    }
    js *json = comparison_json(&c);
    js_free(json);
    (void)comparison_exit_status(&c, true);
    comparison_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    struct error err = {0};
    struct run run;
    int fd = memfd_create("run", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd_write_all(fd, (const char *)data, size, &err)) {
        if (run_read(path, &run, &err)) {
            compare_with_itself(&run);
            run_free(&run);
        } else if (err.kind == ERROR_NONE || err.text[0] == '\0') {
            abort(); /* a refusal must say why */
        }
    }
    close(fd);
    return 0;
}

#ifndef GPUVET_LIBFUZZER
enum { MUTATIONS = 300, LARGEST_INPUT = 1 << 20 };

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

static bool play(const char *path) {
    struct text input = {0};
    struct text wounded = {0};
    struct error err = {0};
    uint64_t seed = 0x9e3779b97f4a7c15ULL;
    if (!file_read(path, LARGEST_INPUT, &input, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    LLVMFuzzerTestOneInput((const uint8_t *)text_string(&input), input.length);
    for (int i = 0; i < MUTATIONS; i++) {
        mutate(&input, &seed, &wounded);
        LLVMFuzzerTestOneInput((const uint8_t *)text_string(&wounded), wounded.length);
    }
    text_free(&input);
    text_free(&wounded);
    return true;
}

/* A folder or files; without arguments the committed corpus. */
int main(int argc, char **argv) {
    const char *folder = argc > 1 ? argv[1] : GPUVET_SOURCE_DIR "/tests/fuzz/run_reader";
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
    printf("%zu inputs, each with %d mutations\n", played, MUTATIONS);
    return good && played > 0 ? 0 : 1;
}
#endif
