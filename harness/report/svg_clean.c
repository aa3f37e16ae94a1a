/* SPDX-License-Identifier: Apache-2.0 */
/* Gnuplot's SVG on its way into the page: only elements and attributes that draw pass, names get a prefix
 * (many drawings share one page), and the colours of scripts/plot/style.gp become those of the page, light or
 * dark. */
#include "base/mem.h"
#include "report/parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const elements[] = {"svg",    "g",   "path",    "text",     "tspan", "defs",    "rect",
                                       "circle", "use", "polygon", "polyline", "line",  "clipPath"};
/* Left out with all that is in them. */
static const char *const dropped[] = {"title", "desc", "filter"};
static const char *const attributes[] = {"viewBox",
                                         "id",
                                         "x",
                                         "y",
                                         "x1",
                                         "y1",
                                         "x2",
                                         "y2",
                                         "width",
                                         "height",
                                         "r",
                                         "cx",
                                         "cy",
                                         "d",
                                         "points",
                                         "fill",
                                         "stroke",
                                         "color",
                                         "stroke-width",
                                         "stroke-linecap",
                                         "stroke-linejoin",
                                         "stroke-dasharray",
                                         "stroke-opacity",
                                         "fill-opacity",
                                         "transform",
                                         "font-size",
                                         "font-weight",
                                         "font-style",
                                         "text-anchor",
                                         "xlink:href",
                                         "clip-path",
                                         "dy",
                                         "dx",
                                         "fill-rule"};

/* Without blanks. */
static const struct {
    const char *from, *to;
} colours[] = {
    {"rgb(64,64,64)", "var(--plot-ink)"},     {"black", "var(--plot-ink)"},
    {"rgb(208,208,208)", "var(--plot-grid)"}, {"gray", "var(--plot-grid)"},
    {"rgb(232,232,232)", "var(--plot-band)"}, {"rgb(0,114,178)", "var(--c1)"},
    {"rgb(213,94,0)", "var(--c2)"},           {"rgb(0,158,115)", "var(--c3)"},
    {"rgb(230,159,0)", "var(--c4)"},          {"rgb(204,121,167)", "var(--c5)"},
    {"rgb(86,180,233)", "var(--c6)"},         {"rgb(148,138,0)", "var(--c7)"},
    {"rgb(119,119,119)", "var(--c8)"},
};

static bool is_one_of(const char *const *list, size_t n, const char *word, size_t length) {
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i]) == length && strncmp(list[i], word, length) == 0)
            return true;
    return false;
}
#define ONE_OF(list, word, length) is_one_of((list), sizeof(list) / sizeof *(list), (word), (length))

struct cleaner {
    const char *at;
    const char *prefix;
    struct text out;
    const char **open; /* names of the elements around, in the drawing */
    size_t depth, capacity;
    size_t skip_from; /* 0: nothing is being left out */
    const char *bad;  /* why it may not pass */
};

static void add_colour(struct cleaner *c, const char *value, size_t length) {
    char tight[32] = "";
    size_t n = 0;
    for (size_t i = 0; i < length && n + 1 < sizeof tight; i++)
        if (value[i] != ' ')
            tight[n++] = value[i];
    tight[n] = '\0';
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
        if (strcmp(colours[i].from, tight) == 0) {
            text_add(&c->out, colours[i].to);
            return;
        }
    text_add_bytes(&c->out, value, length);
}

static void add_value(struct cleaner *c, const char *name, size_t name_length, const char *value,
                      size_t length) {
    static const char *const painted[] = {"fill", "stroke", "color"};
    for (size_t i = 0; i < length; i++)
        if (strchr("<\"&\\", value[i]) != NULL || (value[i] & 0x80) != 0)
            c->bad = "an attribute holds more than drawing needs";
    bool reference = name_length == 10 && strncmp(name, "xlink:href", 10) == 0;
    bool function = length > 5 && strncmp(value, "url(#", 5) == 0;
    if (reference && value[0] != '#')
        c->bad = "a link leads out of the drawing";
    if (reference)
        text_addf(&c->out, "#%s-%.*s", c->prefix, (int)length - 1, value + 1);
    else if (function)
        text_addf(&c->out, "url(#%s-%.*s", c->prefix, (int)length - 5, value + 5);
    else if (memchr(value, ':', length) != NULL || memmem(value, length, "url", 3) != NULL)
        c->bad = "an attribute holds an address";
    else if (name_length == 2 && strncmp(name, "id", 2) == 0)
        text_addf(&c->out, "%s-%.*s", c->prefix, (int)length, value);
    else if (ONE_OF(painted, name, name_length))
        add_colour(c, value, length);
    else
        text_add_bytes(&c->out, value, length);
}

/* Attributes up to the '>' or "/>". */
static void take_attributes(struct cleaner *c, bool keep) {
    while (c->bad == NULL) {
        c->at += strspn(c->at, " \t\r\n");
        if (*c->at == '>' || *c->at == '/' || *c->at == '\0')
            return;
        const char *name = c->at;
        size_t length = strcspn(name, "=> \t\r\n/");
        const char *value = name + length + strspn(name + length, " \t\r\n");
        value += *value == '=' ? 1 + strspn(value + 1, " \t\r\n") : 0;
        char quote = *value;
        const char *end = quote == '"' || quote == '\'' ? strchr(++value, quote) : NULL;
        if (end == NULL || length == 0) {
            c->bad = "it is no XML";
            return;
        }
        if (keep && ONE_OF(attributes, name, length)) {
            text_addf(&c->out, " %.*s=\"", (int)length, name);
            add_value(c, name, length, value, (size_t)(end - value));
            text_add(&c->out, "\"");
        }
        c->at = end + 1;
    }
}

static size_t name_length(const char *name) {
    return strcspn(name, " \t\r\n/>");
}

static void take_element(struct cleaner *c) {
    const char *name = c->at + 1;
    size_t length = name_length(name);
    bool drop = ONE_OF(dropped, name, length);
    if (!drop && c->skip_from == 0 && !ONE_OF(elements, name, length)) {
        c->bad = "it holds an element that does not draw";
        return;
    }
    if (c->depth == 0 && (c->out.length > 0 || length != 3 || strncmp(name, "svg", 3) != 0)) {
        c->bad = "it is not one drawing";
        return;
    }
    c->open = mem_grow(c->open, c->depth, &c->capacity, sizeof *c->open);
    c->open[c->depth++] = name;
    if (drop && c->skip_from == 0)
        c->skip_from = c->depth;
    bool keep = c->skip_from == 0;
    if (keep)
        text_addf(&c->out, "<%.*s", (int)length, name);
    if (keep && c->depth == 1)
        text_add(&c->out, " role=\"img\"");
    c->at = name + length;
    take_attributes(c, keep);
    bool empty = *c->at == '/';
    c->at += strcspn(c->at, ">");
    c->at += *c->at == '>' ? 1 : 0;
    if (keep)
        text_add(&c->out, empty ? "/>" : ">");
    if (empty) {
        c->skip_from = c->skip_from == c->depth ? 0 : c->skip_from;
        c->depth--;
    }
}

static void take_end(struct cleaner *c) {
    const char *name = c->at + 2;
    size_t length = name_length(name);
    const char *open = c->depth > 0 ? c->open[c->depth - 1] : "";
    const char *close = name + length + strspn(name + length, " \t\r\n");
    if (length == 0 || length != name_length(open) || strncmp(open, name, length) != 0 || *close != '>') {
        c->bad = "it is no XML";
        return;
    }
    if (c->skip_from == 0)
        text_addf(&c->out, "</%.*s>", (int)length, name);
    c->skip_from = c->skip_from == c->depth ? 0 : c->skip_from;
    c->at = close + 1;
    c->depth--;
}

static void take_text(struct cleaner *c) {
    size_t length = strcspn(c->at, "<");
    size_t blank = strspn(c->at, " \t\r\n");
    if (c->depth == 0 && blank < length)
        c->bad = "it is not one drawing";
    if (c->skip_from == 0 && blank < length)
        text_add_bytes(&c->out, c->at, length);
    c->at += length;
}

/* Gnuplot opens a group for every change of a pen, drawn with or not: most are empty. */
static void drop_empty_groups(struct text *t) {
    char *to = t->data;
    const char *from = t->data;
    while (from != NULL && *from != '\0') {
        size_t length = strcspn(from, ">");
        bool open = strncmp(from, "<g ", 3) == 0 && from[length - 1] != '/';
        if (open && strncmp(from + length, "></g>", 5) == 0) {
            from += length + 5;
            continue;
        }
        length += from[length] == '>' ? 1 : 0;
        memmove(to, from, length);
        to += length;
        from += length;
    }
    if (to != NULL) {
        *to = '\0';
        t->length = (size_t)(to - t->data);
    }
}

char *svg_clean(const char *svg, const char *prefix, struct error *err) {
    struct cleaner c = {.at = svg, .prefix = prefix};
    while (*c.at != '\0' && c.bad == NULL) {
        if (strncmp(c.at, "<?", 2) == 0 || strncmp(c.at, "<!", 2) == 0)
            c.at += strcspn(c.at, ">") + (strchr(c.at, '>') != NULL ? 1 : 0);
        else if (strncmp(c.at, "</", 2) == 0)
            take_end(&c);
        else if (*c.at == '<')
            take_element(&c);
        else
            take_text(&c);
    }
    if (c.bad == NULL && (c.depth != 0 || c.out.length == 0))
        c.bad = "it ends in the middle";
    if (c.bad == NULL) {
        drop_empty_groups(&c.out);
        free(c.open);
        return text_take(&c.out);
    }
    FAIL(err, ERROR_DATA, "gnuplot's drawing is not taken into the page: %s", c.bad);
    text_free(&c.out);
    free(c.open);
    return NULL;
}
