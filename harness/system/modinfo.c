/* SPDX-License-Identifier: Apache-2.0 */
#include "system/modinfo.h"

#include "base/mem.h"
#include "base/text.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[] = "~Module signature appended~\n";

enum { MAX_MODINFO = 1 << 20, MAX_SIGNATURE = 65536, TRAILER = 12 };
static const off_t largest_module = 1LL << 30;

/* A signature is a PKCS#7 message whose issuer's commonName names the key: object id 2.5.4.3, then a string.
 * The last one is the signer's. */
static void take_signer(const unsigned char *data, size_t length, js *out) {
    static const unsigned char common_name[] = {0x06, 0x03, 0x55, 0x04, 0x03};
    size_t magic_length = sizeof magic - 1;
    if (length < magic_length || memcmp(data + length - magic_length, magic, magic_length) != 0) {
        js_set_string(out, "signer", "");
        return;
    }
    js_set_string(out, "signer", "?");
    length -= magic_length;
    if (length < TRAILER)
        return;
    const unsigned char *trailer = data + length - TRAILER; /* struct module_signature */
    size_t size =
        (size_t)trailer[8] << 24 | (size_t)trailer[9] << 16 | (size_t)trailer[10] << 8 | trailer[11];
    length -= TRAILER;
    if (size > length || size > MAX_SIGNATURE)
        return;
    const unsigned char *signature = data + length - size;
    for (size_t at = 0; at + sizeof common_name + 2 <= size; at++) {
        const unsigned char *s = signature + at;
        if (memcmp(s, common_name, sizeof common_name) != 0)
            continue;
        size_t name_length = s[sizeof common_name + 1];
        if (name_length < 128 && at + sizeof common_name + 2 + name_length <= size) {
            char *name = mem_copy_bytes((const char *)s + sizeof common_name + 2, name_length);
            char *safe = text_printable(name);
            js_set_string(out, "signer", safe);
            free(safe);
            free(name);
        }
    }
}

/* "version=580.159.04\0license=…\0" */
static void take_fields(const char *s, size_t length, js *out) {
    static const char *const keys[] = {"version", "license", "vermagic"};
    while (length > 0) {
        size_t one = strnlen(s, length);
        const char *equals = memchr(s, '=', one);
        for (size_t i = 0; equals != NULL && i < sizeof keys / sizeof *keys; i++) {
            if (strlen(keys[i]) != (size_t)(equals - s) || memcmp(keys[i], s, (size_t)(equals - s)) != 0)
                continue;
            char *value = mem_copy_bytes(equals + 1, one - (size_t)(equals + 1 - s));
            char *safe = text_printable(text_trim(value));
            js_set_string(out, keys[i], safe);
            free(safe);
            free(value);
        }
        size_t step = one < length ? one + 1 : one;
        s += step;
        length -= step;
    }
}

static bool inside(uint64_t offset, uint64_t size, size_t length) {
    return offset <= length && size <= length - offset;
}

static bool section_at(const unsigned char *data, const Elf64_Ehdr *head, size_t index, Elf64_Shdr *out) {
    if (index >= head->e_shnum)
        return false;
    memcpy(out, data + head->e_shoff + index * sizeof *out, sizeof *out);
    return true;
}

js *modinfo_of(const unsigned char *data, size_t length) {
    Elf64_Ehdr head;
    Elf64_Shdr names, section;
    if (length < sizeof head || memcmp(data, ELFMAG, SELFMAG) != 0 || data[EI_CLASS] != ELFCLASS64)
        return NULL;
    memcpy(&head, data, sizeof head);
    if (head.e_shentsize != sizeof section ||
        !inside(head.e_shoff, (uint64_t)head.e_shnum * sizeof section, length) ||
        !section_at(data, &head, head.e_shstrndx, &names) || !inside(names.sh_offset, names.sh_size, length))
        return NULL;
    js *out = js_new_object();
    for (size_t i = 0; section_at(data, &head, i, &section); i++) {
        static const char wanted[] = ".modinfo";
        if (section.sh_type == SHT_NOBITS || section.sh_size > MAX_MODINFO ||
            !inside(section.sh_offset, section.sh_size, length) || section.sh_name > names.sh_size ||
            names.sh_size - section.sh_name < sizeof wanted ||
            memcmp(data + names.sh_offset + section.sh_name, wanted, sizeof wanted) != 0)
            continue;
        take_fields((const char *)data + section.sh_offset, section.sh_size, out);
        break; /* one is all there is; thousands of the same would take minutes */
    }
    take_signer(data, length, out);
    return out;
}

js *modinfo_read(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    js *out = NULL;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= largest_module) {
        /* Mapped: a module with debugging data has hundreds of MiB, and a few pages of it are read. */
        void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            out = modinfo_of(map, (size_t)st.st_size);
            munmap(map, (size_t)st.st_size);
        }
    }
    close(fd);
    return out;
}
