/* SPDX-License-Identifier: Apache-2.0 */
#include "system/pci_state.h"

#include "base/text.h"
#include "system/look.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 16 };

static bool is_bdf(const char *s) {
    static const char shape[] = "xxxx:xx:xx.x";
    if (strlen(s) != sizeof shape - 1)
        return false;
    for (size_t i = 0; i < sizeof shape - 1; i++)
        if (shape[i] == 'x' ? !isxdigit((unsigned char)s[i]) : s[i] != shape[i])
            return false;
    return true;
}

static char *device_text(const struct source *source, const char *bdf, const char *file) {
    struct text path = {0};
    text_addf(&path, "/sys/bus/pci/devices/%s/%s", bdf, file);
    char *out = look_text(source, text_string(&path));
    text_free(&path);
    return out;
}

struct pci_link pci_link_now(const struct source *source, const char *bdf) {
    static const double transfers[] = {2.5, 5, 8, 16, 32, 64, 128}; /* "32.0 GT/s PCIe" is generation 5 */
    struct pci_link link = {0};
    int64_t width = 0;
    if (!is_bdf(bdf))
        return link;
    char *speed = device_text(source, bdf, "current_link_speed");
    char *lanes = device_text(source, bdf, "current_link_width");
    double gt = speed == NULL ? 0 : strtod(speed, NULL);
    for (size_t i = 0; i < sizeof transfers / sizeof *transfers; i++)
        if (gt > transfers[i] * 0.99 && gt < transfers[i] * 1.01)
            link.gen = (int)i + 1;
    /* sysfs writes 0 or 255 where it does not know. */
    if (lanes != NULL && text_to_int(lanes, &width) && width > 0 && width <= 32)
        link.width = (int)width;
    free(speed);
    free(lanes);
    return link;
}

/* The kernel writes a line per kind of error and then "TOTAL_ERR_COR 0". */
static js *total(const struct source *source, const char *bdf, const char *file) {
    char *lines = device_text(source, bdf, file);
    char *at = lines == NULL ? NULL : strstr(lines, "TOTAL_ERR_");
    char *space = at == NULL ? NULL : strchr(at, ' ');
    js *out = NULL;
    int64_t count = 0;
    if (space != NULL) {
        space[1 + strcspn(space + 1, "\n")] = '\0';
        if (text_to_int(text_trim(space), &count) && count >= 0)
            out = js_new_int(count);
    }
    free(lines);
    return out;
}

static void add_errors(const struct source *source, const char *bdf, js *out) {
    static const struct {
        const char *key, *file;
    } kinds[] = {
        {"correctable", "aer_dev_correctable"}, {"nonfatal", "aer_dev_nonfatal"}, {"fatal", "aer_dev_fatal"}};
    js *device = js_new_object();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        js *count = total(source, bdf, kinds[i].file);
        if (count != NULL)
            js_set(device, kinds[i].key, count);
    }
    if (js_length(device) > 0)
        js_set(out, bdf, device);
    else
        js_free(device);
}

/* sysfs links a device to ../../../devices/pci0000:00/0000:00:01.1/0000:01:00.0: its bridges are the names
 * before it. */
js *pci_errors(const struct source *source, const char *bdf) {
    js *out = js_new_object();
    struct text path = {0};
    struct strings names = {0};
    if (!is_bdf(bdf))
        return out;
    text_addf(&path, "/sys/bus/pci/devices/%s", bdf);
    char *link = look_link(source, text_string(&path));
    strings_split(&names, link != NULL ? link : bdf, '/');
    for (size_t i = 0, depth = 0; i < names.count && depth < MAX_DEPTH; i++) {
        if (!is_bdf(names.items[i]))
            continue;
        add_errors(source, names.items[i], out);
        depth++;
    }
    strings_free(&names);
    text_free(&path);
    free(link);
    return out;
}
