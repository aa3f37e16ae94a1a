/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/shell_word.h"

#include <stdbool.h>
#include <string.h>

static bool is_plain(const char *s) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,-";
    return s[0] != '\0' && s[0] != '-' && s[strspn(s, plain)] == '\0';
}

const char *shell_word(const char *s, char *buffer, size_t size) {
    if (is_plain(s))
        return s;
    size_t n = 0;
    bool fits = size >= 8;
    for (const char *at = s; *at != '\0' && fits; at++) {
        const char *piece = *at == '\'' ? "'\\''" : NULL;
        size_t length = piece != NULL ? strlen(piece) : 1;
        fits = n + length + 3 <= size;
        if (fits)
            memcpy(buffer + 1 + n, piece != NULL ? piece : at, length);
        n += fits ? length : 0;
    }
    /* What looks like an option would be one, quoted or not. */
    if (!fits || s[0] == '-')
        return "NAME";
    buffer[0] = buffer[n + 1] = '\'';
    buffer[n + 2] = '\0';
    return buffer;
}
