/* SPDX-License-Identifier: Apache-2.0 */
#include "system/topology_check.h"

#include <ctype.h>
#include <string.h>

enum { MAX_DEPTH = 128 };     /* sockets, caches, cores, bridges below bridges: some thirty */
enum { MAX_INDEX = 1 << 20 }; /* CPUs, nodes; hwloc makes sets of as many bits */

struct piece {
    const char *text;
    size_t length;
};

static bool is_white(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_word(struct piece p, const char *word) {
    return p.length == strlen(word) && memcmp(p.text, word, p.length) == 0;
}

/* The next name="value" of a tag that goes up to `end`; false: there is none. */
static bool next_attribute(const char **at, const char *end, struct piece *name, struct piece *value) {
    const char *p = *at;
    while (p < end) {
        while (p < end && is_white(*p))
            p++;
        name->text = p;
        while (p < end && *p != '=' && !is_white(*p))
            p++;
        name->length = (size_t)(p - name->text);
        if (p + 1 >= end || p[0] != '=' || p[1] != '"') {
            p += p < end; /* what is no attribute: on behind it */
            continue;
        }
        value->text = p + 2;
        const char *close = memchr(p + 2, '"', (size_t)(end - p - 2));
        value->length = (size_t)((close == NULL ? end : close) - value->text);
        *at = close == NULL ? end : close + 1;
        return true;
    }
    return false;
}

/* 0x00000001,,0x3 or 0xf...f,0x0: hwloc's parser of sets stops the process at a comma before the first. */
static bool is_set(struct piece p) {
    bool good = p.length > 0 && p.text[0] == '0';
    for (size_t i = 0; i < p.length && good; i++)
        good = p.text[i] != '\0' && (isxdigit((unsigned char)p.text[i]) || strchr("x,.", p.text[i]) != NULL);
    return good;
}

static bool is_index(struct piece p) {
    long value = 0;
    for (size_t i = 0; i < p.length && value < MAX_INDEX; i++) {
        if (!isdigit((unsigned char)p.text[i]))
            return false;
        value = value * 10 + (p.text[i] - '0');
    }
    return p.length > 0 && value < MAX_INDEX;
}

static char lower(struct piece p, size_t i) {
    return (char)(i < p.length ? tolower((unsigned char)p.text[i]) : '\0');
}

/* A PU or a NUMA node, by whatever of their names hwloc takes: pu, NUMANode, node, nu … */
static bool is_numbered(struct piece type) {
    return lower(type, 0) == 'n' || (lower(type, 0) == 'p' && lower(type, 1) == 'u');
}

/* What an object has of what hwloc takes for granted. */
struct object {
    bool numbered, index, cpuset, complete_cpuset, nodeset, complete_nodeset;
};

/* Reads the attributes of the tag [at, end) of whatever name. */
static bool read_tag(const char *at, const char *end, struct object *o, struct error *err) {
    struct piece name, value;
    while (next_attribute(&at, end, &name, &value)) {
        bool set = (name.length >= 6 && memcmp(name.text + name.length - 6, "cpuset", 6) == 0) ||
                   (name.length >= 7 && memcmp(name.text + name.length - 7, "nodeset", 7) == 0);
        if (set && !is_set(value))
            return FAIL(err, ERROR_DATA, "the topology has a cpuset or a nodeset that hwloc never writes");
        o->numbered = o->numbered || (is_word(name, "type") && is_numbered(value));
        if (is_word(name, "os_index"))
            o->index = is_index(value);
        o->cpuset = o->cpuset || is_word(name, "cpuset");
        o->complete_cpuset = o->complete_cpuset || is_word(name, "complete_cpuset");
        o->nodeset = o->nodeset || is_word(name, "nodeset");
        o->complete_nodeset = o->complete_nodeset || is_word(name, "complete_nodeset");
    }
    return true;
}

static bool check_object(const struct object *o, struct error *err) {
    bool nodes_alone = o->nodeset && !o->complete_nodeset;
    const char *alone = nodes_alone ? "nodeset" : "cpuset";
    if (nodes_alone || (o->cpuset && !o->complete_cpuset))
        return FAIL(err, ERROR_DATA, "the topology has an object with a %s and no complete_%s", alone, alone);
    if (o->numbered && !o->index)
        return FAIL(err, ERROR_DATA, "the topology has a PU or a NUMA node with no os_index below %d",
                    MAX_INDEX);
    return true;
}

/* The '>' that ends a tag, outside of an element's quotes; `end`: none. */
static const char *tag_end(const char *at, const char *end) {
    bool quoted = false;
    if (end - at > 1 && (at[1] == '!' || at[1] == '?')) {
        const char *close = memchr(at, '>', (size_t)(end - at));
        return close == NULL ? end : close;
    }
    for (; at < end && (quoted || *at != '>'); at++)
        quoted = quoted != (*at == '"');
    return at;
}

/* One pass over a text of any shape: each tag is looked for from the end of the one before. */
bool topology_check(const char *xml, size_t length, struct error *err) {
    static const char object[] = "<object";
    const char *end = xml + length;
    size_t depth = 0;
    const char *close = xml;
    for (const char *at; close < end && (at = memchr(close, '<', (size_t)(end - close))) != NULL;) {
        close = tag_end(at, end);
        size_t size = (size_t)(close - at);
        if (size > 1 && at[1] == '/')
            depth -= depth > 0;
        else if (size > 1 && at[1] != '?' && at[1] != '!' && close[-1] != '/')
            depth++;
        if (depth > MAX_DEPTH)
            return FAIL(err, ERROR_DATA, "the topology is nested deeper than %d", MAX_DEPTH);
        struct object o = {0};
        if (size > 1 && at[1] != '?' && at[1] != '!' && !read_tag(at + 1, close, &o, err))
            return false;
        bool is_object = size > sizeof object - 1 && memcmp(at, object, sizeof object - 1) == 0;
        if (is_object && !check_object(&o, err))
            return false;
    }
    return true;
}
