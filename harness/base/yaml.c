/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include "base/text.h"

#include <string.h>
#include <yaml.h>

enum { MAX_DEPTH = 64, MAX_VALUES = 100000 };

struct reader {
    yaml_parser_t parser;
    long values;
    struct error *err;
};

static bool next_event(struct reader *r, yaml_event_t *event) {
    if (yaml_parser_parse(&r->parser, event))
        return true;
    const char *problem = r->parser.problem != NULL ? r->parser.problem : "unreadable";
    return FAIL(r->err, ERROR_DATA, "line %zu: %s", r->parser.problem_mark.line + 1, problem);
}

static js *scalar(const yaml_event_t *event) {
    const char *text = (const char *)event->data.scalar.value;
    int64_t number = 0;
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        if (text_to_int(text, &number))
            return js_new_int(number);
        if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
            return js_new_bool(text[0] == 't');
        if (text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)
            return js_new_null();
    }
    return js_new_string(text);
}

static js *value_of(struct reader *r, const yaml_event_t *event, int depth);

static js *sequence(struct reader *r, int depth) {
    js *out = js_new_array();
    for (;;) {
        yaml_event_t event;
        js *value = NULL;
        if (!next_event(r, &event))
            break;
        bool end = event.type == YAML_SEQUENCE_END_EVENT;
        if (!end)
            value = value_of(r, &event, depth + 1);
        yaml_event_delete(&event);
        if (end)
            return out;
        if (value == NULL)
            break;
        js_append(out, value);
    }
    js_free(out);
    return NULL;
}

static bool member(struct reader *r, const yaml_event_t *key, js *out, int depth) {
    yaml_event_t event;
    if (key->type != YAML_SCALAR_EVENT)
        return FAIL(r->err, ERROR_DATA, "line %zu: a key that is no text", key->start_mark.line + 1);
    if (!next_event(r, &event))
        return false;
    js *value = value_of(r, &event, depth + 1);
    yaml_event_delete(&event);
    if (value == NULL)
        return false;
    js_set(out, (const char *)key->data.scalar.value, value);
    return true;
}

static js *mapping(struct reader *r, int depth) {
    js *out = js_new_object();
    for (;;) {
        yaml_event_t key;
        if (!next_event(r, &key))
            break;
        bool end = key.type == YAML_MAPPING_END_EVENT;
        bool good = end || member(r, &key, out, depth);
        yaml_event_delete(&key);
        if (end)
            return out;
        if (!good)
            break;
    }
    js_free(out);
    return NULL;
}

static js *value_of(struct reader *r, const yaml_event_t *event, int depth) {
    if (depth > MAX_DEPTH || ++r->values > MAX_VALUES) {
        FAIL(r->err, ERROR_DATA, "line %zu: too deep or too long", event->start_mark.line + 1);
        return NULL;
    }
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return scalar(event);
    case YAML_SEQUENCE_START_EVENT:
        return sequence(r, depth);
    case YAML_MAPPING_START_EVENT:
        return mapping(r, depth);
    default:
        FAIL(r->err, ERROR_DATA, "line %zu: aliases are not read here", event->start_mark.line + 1);
        return NULL;
    }
}

/* The events before the document's value: stream start, document start. NULL value: an empty stream. */
static js *document(struct reader *r) {
    for (;;) {
        yaml_event_t event;
        if (!next_event(r, &event))
            return NULL;
        bool before = event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_START_EVENT;
        js *out = NULL;
        if (event.type == YAML_STREAM_END_EVENT)
            out = js_new_null();
        else if (!before)
            out = value_of(r, &event, 0);
        yaml_event_delete(&event);
        if (!before)
            return out;
    }
}

js *yaml_parse(const char *data, size_t length, struct error *err) {
    struct reader r = {.err = err};
    if (!yaml_parser_initialize(&r.parser)) {
        FAIL(err, ERROR_SYSTEM, "cannot start reading YAML: out of memory");
        return NULL;
    }
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)data, length);
    js *out = document(&r);
    yaml_parser_delete(&r.parser);
    return out;
}
