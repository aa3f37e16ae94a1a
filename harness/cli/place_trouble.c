/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/place_trouble.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_fail(const js *finding) {
    return strcmp(js_get_string(finding, "severity", ""), "fail") == 0;
}

const js *place_trouble_cause(const js *doctor) {
    const js *all = js_get(doctor, "findings");
    for (size_t i = 0; i < js_length(all); i++)
        if (is_fail(js_at(all, i)))
            return js_at(all, i);
    return NULL;
}

/* A title names its container as "container NAME ...". */
static bool is_about(const js *finding, const struct target *target) {
    const char *title = js_get_string(finding, "title", "");
    const char *id = target->id != NULL ? target->id : "";
    size_t length = strlen(id);
    for (const char *at = strstr(title, "container "); at != NULL; at = strstr(at + 1, "container ")) {
        const char *name = at + strlen("container ");
        if (length > 0 && strncmp(name, id, length) == 0 && strchr(" ,:;", name[length]) != NULL)
            return true;
    }
    return false;
}

/* Of some container's configuration or groups, and so no fault of the host itself. */
static bool is_of_containers(const js *finding) {
    const char *id = js_get_string(finding, "id", "");
    return text_starts(id, "lxc.") || text_starts(id, "cgroup.container-");
}

const js *place_trouble_of_host(const js *doctor) {
    const js *all = js_get(doctor, "findings");
    for (size_t i = 0; i < js_length(all); i++)
        if (is_fail(js_at(all, i)) && !is_of_containers(js_at(all, i)))
            return js_at(all, i);
    return NULL;
}

const js *place_trouble_from_host(const js *doctor, const struct target *target) {
    const js *all = js_get(doctor, "findings");
    const js *found = NULL;
    for (size_t i = 0; i < js_length(all); i++) {
        const js *finding = js_at(all, i);
        bool of_file = text_starts(js_get_string(finding, "id", ""), "lxc."); /* names the line to mend */
        if (is_fail(finding) && is_of_containers(finding) && is_about(finding, target)) {
            if (of_file)
                return finding;
            found = found != NULL ? found : finding;
        }
    }
    return found;
}

/* "FILE line N says TEXT", of the last thing that the finding rests on. */
static void add_line(const js *finding, struct text *out) {
    const js *all = js_get(finding, "evidence");
    const js *last = js_at(all, js_length(all) > 0 ? js_length(all) - 1 : 0);
    const char *path = js_get_string(last, "path", "");
    const char *value = js_get_string(last, "value", "");
    const char *colon = strrchr(path, ':');
    if (path[0] != '/')
        text_addf(out, "; on the host: %s", js_get_string(finding, "title", "?"));
    else if (colon != NULL && isdigit((unsigned char)colon[1]))
        text_addf(out, "; %.*s line %s says %s", (int)(colon - path), path, colon + 1, value);
    else
        text_addf(out, "; %s: %s", path, value);
}

static void explain(const struct prepared_place *host, struct prepared_place *place) {
    const js *there = place_trouble_cause(place->doctor);
    const js *from_here = place_trouble_from_host(host->doctor, &place->target);
    struct text why = {0};
    bool host_fine = host->cuda.good && host->doctor != NULL && place_trouble_of_host(host->doctor) == NULL;
    if (there == NULL && from_here == NULL)
        return; /* what CUDA said there is all that is known */
    if (host_fine)
        text_addf(&why, "%s is fine; ", host->target.name);
    text_add(&why, js_get_string(there, "title", place->broken));
    if (from_here != NULL)
        add_line(from_here, &why);
    char *printable = text_printable(text_string(&why));
    snprintf(place->broken, sizeof place->broken, "%s", printable);
    free(printable);
    text_free(&why);
}

bool place_trouble_find(struct prepared *p, struct interrupt *interrupt, struct error *err) {
    bool any = false;
    for (size_t i = 0; i < p->n_places; i++)
        any = any || p->places[i].broken[0] != '\0';
    for (size_t i = 0; any && i < p->n_places; i++) {
        struct prepared_place *place = &p->places[i];
        struct error why = {0};
        place->doctor = coordinator_doctor(&place->target, interrupt, &why);
        if (why.kind == ERROR_INTERRUPTED)
            return FAIL(err, ERROR_INTERRUPTED, "interrupted");
        snprintf(place->no_doctor, sizeof place->no_doctor, "%s", why.text);
    }
    for (size_t i = 1; i < p->n_places; i++)
        if (p->places[i].broken[0] != '\0')
            explain(&p->places[0], &p->places[i]);
    return true;
}
