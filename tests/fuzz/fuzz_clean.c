/* SPDX-License-Identifier: Apache-2.0 */
/* What is left out of captures: the number of lines stays, and cleaning twice changes nothing more. */
#define FUZZ_CORPUS "clean"
#include "fuzz/fuzz.h"
#include "system/capture_clean.h"

static size_t lines(const char *s) {
    size_t count = 0;
    for (; *s != '\0'; s++)
        count += *s == '\n';
    return count;
}

static void check_file(const char *path, const char *bytes, size_t length) {
    struct text once = {0};
    struct text twice = {0};
    if (!capture_clean_file(path, bytes, length, &once))
        abort();
    bool whole = strcmp(path, "/proc/1/environ") != 0 && strlen(bytes) == length;
    if (whole && lines(text_string(&once)) != lines(bytes))
        abort();
    capture_clean_file(path, text_string(&once), once.length, &twice);
    /* What was kept for a word of its secret may go the second time, but not in what is cleaned as text. */
    bool stays = text_ends(path, ".json");
    if (stays && (once.length != twice.length || strcmp(text_string(&once), text_string(&twice)) != 0))
        abort();
    text_free(&once);
    text_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const paths[] = {
        "/etc/pve/lxc/129.conf", "/etc/systemd/system/a.service", "/etc/group", "/proc/self/mountinfo",
        "/proc/1/environ",       "/etc/docker/daemon.json"};
    char *text = mem_copy_bytes((const char *)data, size);
    struct text out = {0};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        check_file(paths[i], text, size);
    capture_clean_log(text, &out);
    if (lines(text_string(&out)) != lines(text))
        abort();
    text_clear(&out);
    capture_clean_topology(text, &out);
    text_free(&out);
    free(text);
    return 0;
}
