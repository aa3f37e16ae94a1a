/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small captures, read and judged. The input is their files one after another: a line "@NAME" or
 * "@NAME>TARGET" (a link), then the content. */
#define FUZZ_CORPUS "capture"
#define FUZZ_MUTATIONS 12
#include "doctor/doctor.h"
#include "fuzz/fuzz.h"

#include <ctype.h>

enum { MAX_FILES = 96, MAX_PATH = 160 };

static bool is_good(const char *name) {
    if (name[0] == '\0' || strlen(name) > MAX_PATH || strstr(name, "..") != NULL || strchr(name, '/') == name)
        return false;
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && strchr("._-:+/@", *name) == NULL)
            return false;
    return true;
}

static void put_link(const char *name, const char *target) {
    char *whole = path_join(fuzz_tree(), name);
    char *above = mem_copy_string(whole);
    struct error err = {0};
    *strrchr(above, '/') = '\0';
    if (target[0] != '\0' && folder_make(above, &err))
        (void)symlink(target, whole);
    free(above);
    free(whole);
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

static void unpack(const char *at, const char *end) {
    for (int files = 0; at < end && *at == '@' && files < MAX_FILES; files++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        char *name = mem_copy_bytes(at + 1, (size_t)((newline == NULL ? end : newline) - at - 1));
        char *target = strchr(name, '>');
        const char *content = newline == NULL ? end : newline + 1;
        const char *stop = end_of(content, end);
        if (target != NULL)
            *target++ = '\0';
        if (is_good(name) && target != NULL)
            put_link(name, target);
        else if (is_good(name))
            fuzz_put(name, content, (size_t)(stop - content));
        free(name);
        at = stop;
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
    fuzz_clear();
    unpack((const char *)data, (const char *)data + size);
    if (source_capture(fuzz_folder, &source, &err)) {
        judge(&source, &err);
        source_free(&source);
    } else if (err.text[0] == '\0') {
        abort(); /* a refusal must say why */
    }
    return 0;
}
