/* SPDX-License-Identifier: Apache-2.0 */
/* What gnuplot drew, on its way into the page: only what draws passes, and no link leads out. */
#define FUZZ_CORPUS "svg"
#include "fuzz/fuzz.h"
#include "report/parts.h"

/* Behind the name of an element that draws, and no other. */
static const char *after_name(const char *name) {
    static const char *const drawing[] = {"svg",    "g",   "path",    "text",     "tspan", "defs",    "rect",
                                          "circle", "use", "polygon", "polyline", "line",  "clipPath"};
    size_t length = strcspn(name, " />");
    for (size_t i = 0; i < sizeof drawing / sizeof *drawing; i++)
        if (strlen(drawing[i]) == length && strncmp(drawing[i], name, length) == 0)
            return name + length;
    abort();
}

/* One name="value": none that acts, no address, and names only with the prefix. Returns what is behind it. */
static const char *after_attribute(const char *at) {
    size_t length = strcspn(at, "=\"> ");
    if (length == 0 || strncmp(at + length, "=\"", 2) != 0)
        abort();
    const char *value = at + length + 2;
    const char *close = strchr(value, '"');
    if (close == NULL || strncmp(at, "on", 2) == 0 || strncmp(at, "style", 5) == 0)
        abort();
    bool reference = length == 10 && strncmp(at, "xlink:href", length) == 0;
    bool name = length == 2 && strncmp(at, "id", 2) == 0;
    if (reference && strncmp(value, "#p-", 3) != 0)
        abort();
    for (const char *url = value; (url = strstr(url, "url")) != NULL && url < close; url++)
        if (strncmp(url, "url(#p-", 7) != 0 && url == value && !reference && !name)
            abort();
    return close + 1;
}

/* One root, and each end is that of its beginning. */
static void check(const char *svg) {
    size_t depth = 0;
    for (const char *at = svg; (at = strchr(at, '<')) != NULL;) {
        bool end = at[1] == '/';
        if (depth == 0 && (at != svg || strncmp(at, "<svg", 4) != 0))
            abort();
        at = after_name(at + 1 + end);
        while (*at == ' ')
            at = after_attribute(at + 1);
        bool empty = !end && *at == '/';
        if (at[empty] != '>')
            abort();
        depth += end ? (size_t)-1 : !empty;
    }
    if (depth != 0 || strncmp(svg, "<svg", 4) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    char *text = mem_copy_bytes((const char *)data, size);
    char *svg = svg_clean(text, "p", &err);
    if (svg != NULL)
        check(svg);
    else if (err.text[0] == '\0')
        abort(); /* a refusal says why */
    free(svg);
    free(text);
    return 0;
}
