/* SPDX-License-Identifier: Apache-2.0 */
#include "system/topology_check.h"

#include <string.h>

enum { MAX_DEPTH = 128 }; /* sockets, caches, cores, bridges below bridges: some thirty */

enum { CPUSET = 1, COMPLETE_CPUSET = 2, NODESET = 4, COMPLETE_NODESET = 8 };

static bool is_white(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static unsigned bit_of(const char *name, size_t length) {
    static const struct {
        const char *name;
        unsigned bit;
    } rows[] = {{"cpuset", CPUSET},
                {"complete_cpuset", COMPLETE_CPUSET},
                {"nodeset", NODESET},
                {"complete_nodeset", COMPLETE_NODESET}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == length && memcmp(name, rows[i].name, length) == 0)
            return rows[i].bit;
    return 0;
}

/* The sets that the tag [at, end) names, by name="value" one after another. */
static unsigned sets_of(const char *at, const char *end) {
    unsigned sets = 0;
    while (at < end) {
        while (at < end && is_white(*at))
            at++;
        const char *name = at;
        while (at < end && *at != '=' && !is_white(*at))
            at++;
        size_t length = (size_t)(at - name);
        if (at + 1 >= end || at[0] != '=' || at[1] != '"') {
            at += at < end; /* what is no attribute: on behind it */
            continue;
        }
        sets |= bit_of(name, length);
        const char *close = memchr(at + 2, '"', (size_t)(end - at - 2));
        at = close == NULL ? end : close + 1;
    }
    return sets;
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
        if (size <= sizeof object - 1 || memcmp(at, object, sizeof object - 1) != 0)
            continue;
        unsigned sets = sets_of(at + sizeof object - 1, close);
        bool nodes_alone = (sets & (NODESET | COMPLETE_NODESET)) == NODESET;
        bool cpus_alone = (sets & (CPUSET | COMPLETE_CPUSET)) == CPUSET;
        const char *alone = nodes_alone ? "nodeset" : "cpuset";
        if (nodes_alone || cpus_alone)
            return FAIL(err, ERROR_DATA, "the topology has an object with a %s and no complete_%s", alone,
                        alone);
    }
    return true;
}
