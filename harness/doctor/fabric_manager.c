/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/fabric_manager.h"

#include "base/files.h"
#include "base/mem.h"
#include "base/text.h"
#include "system/driver_state.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_STATUS = 32 << 20, MAX_PROGRAM = 64 << 20, LONGEST = 40 };

static bool has_switches(const struct device_nodes *nodes) {
    for (size_t i = 0; i < nodes->count; i++)
        if (text_starts(nodes->items[i].path, "/dev/nvidia-nvswitch"))
            return true;
    return false;
}

/* The version that begins at `at` and ends where no digit or dot follows. Release with free; NULL: none. */
static char *version_at(const char *at) {
    size_t length = strspn(at, "0123456789.");
    char *version = length <= LONGEST ? mem_copy_bytes(at, length) : NULL;
    if (version != NULL && driver_is_version(version))
        return version;
    free(version);
    return NULL;
}

/* dpkg's list: "Package: nvidia-fabricmanager-580", "Status: install ok installed", "Version: 580.95.05-1".
 */
static char *of_package(const char *status) {
    static const char name[] = "Package: nvidia-fabricmanager",
                      installed[] = "\nStatus: install ok installed\n";
    for (const char *block = status; block != NULL && *block != '\0';) {
        const char *next = strstr(block, "\n\n");
        if (text_starts(block, name) &&
            strcspn(block + sizeof name - 1, "\n") == strspn(block + sizeof name - 1, "-0123456789")) {
            char *one = mem_copy_bytes(block, next == NULL ? strlen(block) : (size_t)(next - block) + 1);
            const char *version = strstr(one, "\nVersion: ");
            version = version == NULL ? NULL : version + strlen("\nVersion: ");
            /* "1:580.95.05-1": an epoch comes first */
            const char *colon = version == NULL ? NULL : memchr(version, ':', strcspn(version, "\n"));
            char *found = version == NULL || strstr(one, installed) == NULL
                              ? NULL
                              : version_at(colon != NULL ? colon + 1 : version);
            free(one);
            if (found != NULL)
                return found;
        }
        next = next == NULL ? NULL : next + strspn(next, "\n");
        block = next;
    }
    return NULL;
}

/* The program holds the version of the driver that it was made for, as a string of its own; where several
 * strings look like one, none is taken. */
static char *of_program(const struct text *program) {
    char *found = NULL;
    for (size_t i = 0; i < program->length;) {
        const char *at = program->data + i;
        size_t length = strnlen(at, program->length - i);
        if (length > 4 && length <= LONGEST && i + length < program->length && driver_is_version(at)) {
            if (found != NULL && strcmp(found, at) != 0) {
                free(found);
                return NULL;
            }
            if (found == NULL)
                found = mem_copy_string(at);
        }
        i += length + 1;
    }
    return found;
}

js *fabric_manager_installed(const struct device_nodes *nodes, const char *root) {
    static const char *const paths[] = {"/var/lib/dpkg/status", "/usr/bin/nv-fabricmanager"};
    js *out = NULL;
    for (size_t i = 0; out == NULL && has_switches(nodes) && i < sizeof paths / sizeof *paths; i++) {
        struct error err = {0};
        struct text path = {0}, content = {0};
        text_addf(&path, "%s%s", root, paths[i]);
        char *version = NULL;
        if (file_read(text_string(&path), i == 0 ? MAX_STATUS : MAX_PROGRAM, &content, &err))
            version = i == 0 ? of_package(text_string(&content)) : of_program(&content);
        if (version != NULL) {
            out = js_new_object();
            js_set_string(out, "version", version);
            js_set_string(out, "from", paths[i]);
        }
        free(version);
        text_free(&content);
        text_free(&path);
    }
    return out;
}
