/* SPDX-License-Identifier: Apache-2.0 */
/* Device lines of a systemd unit: DevicePolicy, DeviceAllow, PrivateDevices. Only [Service] counts. */
#include "base/mem.h"
#include "system/containers_parts.h"

#include <stdlib.h>
#include <string.h>

static bool is_no(const char *value) {
    return strcmp(value, "no") == 0 || strcmp(value, "false") == 0 || strcmp(value, "0") == 0 ||
           strcmp(value, "off") == 0;
}

/* "char-nvidia-uvm rw", "/dev/nvidia0 rw"; empty: forget those before. */
static void take_allow(const char *file, int line, const char *value, struct container *out) {
    if (value[0] == '\0') {
        container_forget_devices(out);
        return;
    }
    size_t length = strcspn(value, " \t");
    char *name = mem_copy_bytes(value, length);
    const char *access = value + length + strspn(value + length, " \t");
    if (text_starts(name, "char-")) {
        struct device_rule *rule = container_add_rule(out, file, line, "DeviceAllow", value);
        rule->class_name = mem_copy_string(name + 5);
        rule->major_text = mem_copy_string("");
        rule->type = 'c';
        rule->allow = true;
        rule->use = access[0] == '\0' || (strchr(access, 'r') != NULL && strchr(access, 'w') != NULL);
    } else if (text_starts(name, "/dev/")) {
        container_add_device(out, file, line, value, name);
    }
    free(name);
}

static void take_line(const char *file, int number, char *line, bool *service, struct container *out) {
    char *s = text_trim(line);
    if (s[0] == '[')
        *service = strcmp(s, "[Service]") == 0;
    char *equals = strchr(s, '=');
    if (!*service || equals == NULL || s[0] == '#' || s[0] == ';')
        return;
    *equals = '\0';
    const char *key = text_trim(s);
    const char *value = text_trim(equals + 1);
    if (strcmp(key, "DeviceAllow") == 0)
        take_allow(file, number, value, out);
    else if (strcmp(key, "DevicePolicy") == 0)
        out->denies_first = strcmp(value, "auto") != 0;
    else if (strcmp(key, "PrivateDevices") == 0 && !is_no(value))
        out->denies_first = true;
}

/* A line that ends with a backslash goes on in the next; comments between do not count. True: there is more.
 */
static bool add_piece(struct text *whole, const char *piece) {
    size_t length = strlen(piece);
    bool comment = piece[0] == '#' || piece[0] == ';';
    if (comment)
        return whole->length > 0;
    bool more = length > 0 && piece[length - 1] == '\\';
    text_add_bytes(whole, piece, length - (more ? 1 : 0));
    if (more)
        text_add(whole, " ");
    return more;
}

void container_parse_unit(const char *file, const char *text, struct container *out) {
    bool service = false;
    struct text whole = {0};
    int first = 1;
    for (int number = 1; *text != '\0'; number++) {
        size_t length = strcspn(text, "\n");
        char *line = mem_copy_bytes(text, length);
        text += length + (text[length] == '\n');
        bool more = add_piece(&whole, text_trim(line)) && *text != '\0';
        free(line);
        if (more)
            continue;
        char *joined = text_take(&whole);
        take_line(file, first, joined, &service, out);
        free(joined);
        first = number + 1;
    }
    text_free(&whole);
    /* Without a policy the first DeviceAllow closes everything else (systemd.resource-control). */
    if (out->n_rules + out->n_devices > 0)
        out->denies_first = true;
}
