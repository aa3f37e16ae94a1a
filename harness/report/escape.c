/* SPDX-License-Identifier: Apache-2.0 */
#include "report/escape.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Marks that reorder or hide what follows: U+200B to U+200F, U+2028 to U+202E, U+2060 to U+2069, U+FEFF, and
 * the noncharacters U+FFFE and U+FFFF that XML forbids. `s` is valid UTF-8. */
static bool is_deceptive(const unsigned char *s) {
    if (s[0] == 0xe2 && s[1] == 0x80)
        return (s[2] >= 0x8b && s[2] <= 0x8f) || (s[2] >= 0xa8 && s[2] <= 0xae);
    if (s[0] == 0xe2 && s[1] == 0x81)
        return s[2] >= 0xa0 && s[2] <= 0xa9;
    if (s[0] == 0xef && s[1] == 0xbb)
        return s[2] == 0xbf;
    return s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe;
}

/* A copy without control, invalid and deceptive characters; release with free. */
static char *clean(const char *s) {
    char *copy = text_printable(s != NULL ? s : "");
    char *to = copy;
    for (const char *from = copy; *from != '\0';) {
        if (is_deceptive((const unsigned char *)from)) {
            *to++ = '?';
            from += 3;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    return copy;
}

void escape_html(struct text *out, const char *s) {
    char *copy = clean(s);
    for (const char *c = copy; *c != '\0'; c++)
        switch (*c) {
        case '&':
            text_add(out, "&amp;");
            break;
        case '<':
            text_add(out, "&lt;");
            break;
        case '>':
            text_add(out, "&gt;");
            break;
        case '"':
            text_add(out, "&quot;");
            break;
        case '\'':
            text_add(out, "&#39;");
            break;
        default:
            text_add_bytes(out, c, 1);
        }
    free(copy);
}

void escape_xml(struct text *out, const char *s) {
    escape_html(out, s);
}

void escape_csv(struct text *out, const char *s) {
    char *copy = clean(s);
    bool formula = copy[0] != '\0' && strchr("=+-@|%", copy[0]) != NULL;
    if (!formula && strpbrk(copy, ",\"; ") == NULL) {
        text_add(out, copy);
        free(copy);
        return;
    }
    text_add(out, formula ? "\"'" : "\"");
    for (const char *c = copy; *c != '\0'; c++)
        text_add(out, *c == '"' ? "\"\"" : (const char[]){*c, '\0'});
    text_add(out, "\"");
    free(copy);
}

void escape_markdown(struct text *out, const char *s) {
    char *copy = clean(s);
    text_add(out, "`");
    for (const char *c = copy; *c != '\0'; c++)
        if (*c == '|')
            text_add(out, "\\|");
        else
            text_add_bytes(out, *c == '`' ? "'" : c, 1);
    /* An empty span is no span, and would open one. */
    text_add(out, copy[0] == '\0' ? " `" : "`");
    free(copy);
}

void escape_prometheus(struct text *out, const char *s) {
    char *copy = clean(s);
    for (const char *c = copy; *c != '\0'; c++) {
        if (*c == '\\' || *c == '"')
            text_add(out, "\\");
        text_add_bytes(out, c, 1);
    }
    free(copy);
}

void escape_plot(struct text *out, const char *s, size_t most) {
    size_t length = strlen(s);
    size_t n = length > most ? most - 2 : length;
    for (size_t i = 0; i < n; i++) {
        bool safe = isalnum((unsigned char)s[i]) != 0 && (unsigned char)s[i] < 0x80;
        text_add_bytes(out, safe || (s[i] != '\0' && strchr(" ._:=/+,()<>-", s[i]) != NULL) ? s + i : "?", 1);
    }
    if (length > most)
        text_add(out, "..");
}

void escape_slug(struct text *out, const char *s) {
    bool dash = true; /* none in front */
    for (size_t n = 0; *s != '\0' && n < 60; s++) {
        bool good = isalnum((unsigned char)*s) != 0 && (unsigned char)*s < 0x80;
        if (good)
            text_add_bytes(out, (const char[]){(char)tolower((unsigned char)*s)}, 1);
        else if (!dash)
            text_add(out, "-");
        n += good || !dash ? 1 : 0;
        dash = !good;
    }
}
