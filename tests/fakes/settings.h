/* SPDX-License-Identifier: Apache-2.0 */
/* How a made-up driver library is told what to do: lines of "key value" in the file that the environment
 * variable FAKE_SETTINGS names, read at each call; of two lines with the same key the last one counts.
 * FAKE_SETTINGS is defined before this is included. */
#ifndef GPUVET_FAKES_SETTINGS_H
#define GPUVET_FAKES_SETTINGS_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int setting(const char *key, char *out, size_t size) {
    const char *path = getenv(FAKE_SETTINGS);
    FILE *file = path == NULL ? NULL : fopen(path, "re");
    char line[128], name[64], value[64];
    int found = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%63s %63s", name, value) == 2 && strcmp(name, key) == 0) {
            snprintf(out, size, "%s", value);
            found = 1;
        }
    if (file != NULL)
        fclose(file);
    return found;
}

static int number(const char *key, int fallback) {
    char value[64];
    return setting(key, value, sizeof value) ? atoi(value) : fallback;
}

/* "delay_ms N": what asks for it answers so much later. */
static void delay(void) {
    int ms = number("delay_ms", 0);
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

/* "then FILE": what hangs takes others with it: FILE.then becomes FILE, the settings of another library. */
static void take_along(void) {
    char file[64], with[80];
    if (!setting("then", file, sizeof file))
        return;
    snprintf(with, sizeof with, "%s.then", file);
    rename(with, file);
}

/* "crash WHERE", "hang WHERE": what asks for that place dies or never answers; with "only_with NAME" only in
 * a process that has this variable, as gpuvet's measuring ones have CUDA_MODULE_LOADING and no other has. */
static void misbehave(const char *where) {
    char value[64];
    if (setting("only_with", value, sizeof value) && getenv(value) == NULL)
        return;
    if (setting("crash", value, sizeof value) && strcmp(value, where) == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would turn it into an exit status */
        raise(SIGSEGV);
    }
    if (setting("hang", value, sizeof value) && strcmp(value, where) == 0)
        take_along();
    while (setting("hang", value, sizeof value) && strcmp(value, where) == 0)
        pause();
}

#endif
