/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small captures, read and judged. The input is their files one after another: a line "@NAME" or
 * "@NAME>TARGET" (a link), then the content. */
#define FUZZ_CORPUS "capture"
#define FUZZ_MUTATIONS 12
#include "doctor/doctor.h"
#include "fuzz/fuzz.h"

#include <ctype.h>

enum { MAX_FILES = 256, MAX_PATH = 160 };

static bool is_good(const char *name) {
    if (name[0] == '\0' || strlen(name) > MAX_PATH || strstr(name, "..") != NULL || strchr(name, '/') == name)
        return false;
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && strchr("._-:+/@", *name) == NULL)
            return false;
    return true;
}

/* What lies on the disk now: most of an input is as in the one before, and writing takes the time. */
struct laid {
    char name[MAX_PATH + 1];
    uint64_t hash;
    bool wanted;
};
static struct laid laid[MAX_FILES];
static size_t n_laid;

static uint64_t hash_of(const char *data, size_t length, uint64_t hash) {
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)data[i]) * 0x100000001b3ULL;
    return hash;
}

/* Removes a file and the folders that are empty then. */
static void take_away(const char *name) {
    char *path = mem_copy_string(name);
    for (int flag = 0; path[0] != '\0'; flag = AT_REMOVEDIR) {
        int above = fuzz_above(path);
        bool gone = above >= 0 && unlinkat(above, fuzz_last(path), flag) == 0;
        char *slash = strrchr(path, '/');
        if (above >= 0)
            close(above);
        if (!gone || slash == NULL)
            break;
        *slash = '\0';
    }
    free(path);
}

static void clear(void) {
    fuzz_clear();
    n_laid = 0;
}

/* Whether it lies there already; if not, there is room for it. */
static bool lies_there(const char *name, uint64_t hash) {
    for (size_t i = 0; i < n_laid; i++)
        if (laid[i].hash == hash && strcmp(laid[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < n_laid; i++)
        if (strcmp(laid[i].name, name) == 0) {
            take_away(name);
            laid[i].hash = hash;
            return false;
        }
    if (n_laid < MAX_FILES) {
        snprintf(laid[n_laid].name, sizeof laid[n_laid].name, "%s", name);
        laid[n_laid].hash = hash;
        laid[n_laid++].wanted = true;
    }
    return false;
}

static void drop_unwanted(void) {
    size_t kept = 0;
    for (size_t i = 0; i < n_laid; i++)
        if (laid[i].wanted)
            laid[kept++] = laid[i];
        else
            take_away(laid[i].name);
    n_laid = kept;
}

static void put_link(const char *name, const char *target) {
    int above = fuzz_above(name);
    if (above < 0)
        return;
    if (target[0] != '\0')
        (void)symlinkat(target, above, fuzz_last(name));
    close(above);
}

/* The end of a file: the next line that begins with '@'. */
static const char *end_of(const char *at, const char *end) {
    for (const char *line = at; line < end;) {
        if (*line == '@')
            return line;
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        line = newline == NULL ? end : newline + 1;
    }
    return end;
}

struct piece {
    char *name, *target;
    const char *content;
    size_t length;
    uint64_t hash;
};

static size_t split(const char *at, const char *end, struct piece pieces[MAX_FILES]) {
    size_t count = 0;
    while (at < end && *at == '@' && count < MAX_FILES) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        char *name = mem_copy_bytes(at + 1, (size_t)((newline == NULL ? end : newline) - at - 1));
        char *target = strchr(name, '>');
        const char *content = newline == NULL ? end : newline + 1;
        const char *stop = end_of(content, end);
        if (target != NULL)
            *target++ = '\0';
        uint64_t hash = hash_of(content, (size_t)(stop - content), 0xcbf29ce484222325ULL);
        if (target != NULL)
            hash = hash_of(target, strlen(target), hash + 1);
        if (is_good(name))
            pieces[count++] = (struct piece){name, target, content, (size_t)(stop - content), hash};
        else
            free(name);
        at = stop;
    }
    return count;
}

static void unpack(const char *at, const char *end) {
    static struct piece pieces[MAX_FILES];
    size_t count = split(at, end, pieces);
    if (n_laid + count > MAX_FILES)
        clear();
    for (size_t i = 0; i < n_laid; i++)
        laid[i].wanted = false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < n_laid; k++)
            if (strcmp(laid[k].name, pieces[i].name) == 0)
                laid[k].wanted = true;
    drop_unwanted(); /* first: a file may stand where a folder is wanted */
    for (size_t i = 0; i < count; i++) {
        if (!lies_there(pieces[i].name, pieces[i].hash)) {
            if (pieces[i].target != NULL)
                put_link(pieces[i].name, pieces[i].target);
            else
                fuzz_put(pieces[i].name, pieces[i].content, pieces[i].length);
        }
        free(pieces[i].name);
    }
}

static void judge(const struct source *source, struct error *err) {
    struct device_nodes nodes = {0};
    struct facts *facts = facts_read(source, err);
    js *stable = js_new_object();
    js *moving = js_new_object();
    facts_environment(facts, stable, moving);
    if (device_nodes_read(source, &nodes, err)) {
        struct scene scene;
        struct findings findings;
        FILE *nowhere = fopen("/dev/null", "w");
        scene_make(source, facts, &nodes, stable, &scene);
        doctor_judge(&scene, &findings);
        js_free(findings_to_json(&findings, &scene));
        if (nowhere != NULL) {
            findings_print(&findings, &scene, false, true, nowhere);
            fclose(nowhere);
        }
        findings_free(&findings);
        scene_free(&scene);
    }
    js_free(stable);
    js_free(moving);
    device_nodes_free(&nodes);
    facts_free(facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct source source;
    struct error err = {0};
    (void)fuzz_tree();
    unpack((const char *)data, (const char *)data + size);
    if (source_capture(fuzz_folder, &source, &err)) {
        judge(&source, &err);
        source_free(&source);
    } else if (err.text[0] == '\0') {
        abort(); /* a refusal must say why */
    }
    return 0;
}
