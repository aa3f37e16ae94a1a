/* SPDX-License-Identifier: Apache-2.0 */
/* Where facts come from: the live machine, or a folder of gpuvet.capture/1 (docs/capture.md). */
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "system/facts.h"
#include "system/files_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_DEPTH = 64,
    MAX_ENTRIES = 200000,
    MAX_MANIFEST = 1 << 16,
    MAX_PROBES = 16 << 20,
    MAX_TOPOLOGY = 4 << 20,
    MAX_TABLE = 64 << 20,
    MAX_KERNEL_LOG = 32 << 20
};
static const long long max_bytes = 512LL << 20;

bool source_live(struct source *out, struct error *err) {
    (void)err;
    *out = (struct source){.root = mem_copy_string(""), .live = true};
    return true;
}

void source_free(struct source *source) {
    free(source->root);
    js_free(source->probes);
    free(source->topology);
    free(source->dev_table);
    free(source->files_table);
    if (source->files != NULL)
        files_table_free(source->files);
    free(source->files);
    free(source->kernel_log);
    free(source->where);
    free(source->manager);
    *source = (struct source){0};
}

/* ---- refusing what no capture holds ---- */

struct survey {
    const char *dir;
    struct text at; /* what is looked at, from `dir` on */
    long entries;
    long long bytes;
};

static bool survey_folder(struct survey *survey, int fd, int depth, struct error *err);

static bool survey_entry(struct survey *survey, int parent, const char *name, int depth, struct error *err) {
    struct stat st;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot look at %s of the capture: %s",
                           text_string(&survey->at), strerror(errno));
    if (++survey->entries > MAX_ENTRIES)
        return FAIL(err, ERROR_DATA, "capture %s has over %d entries", survey->dir, MAX_ENTRIES);
    if (S_ISLNK(st.st_mode))
        return true;
    if (S_ISREG(st.st_mode)) {
        survey->bytes += st.st_size;
        return survey->bytes <= max_bytes ||
               FAIL(err, ERROR_DATA, "capture %s holds over 512 MiB", survey->dir);
    }
    if (!S_ISDIR(st.st_mode))
        return FAIL(err, ERROR_DATA, "%s of the capture is no file, folder or link",
                    text_string(&survey->at));
    if (depth >= MAX_DEPTH)
        return FAIL(err, ERROR_DATA, "capture %s is deeper than %d folders", survey->dir, MAX_DEPTH);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot open %s of the capture: %s",
                           text_string(&survey->at), strerror(errno));
    return survey_folder(survey, fd, depth + 1, err);
}

/* Takes `fd` over. */
static bool survey_folder(struct survey *survey, int fd, int depth, struct error *err) {
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot list %s of the capture: %s",
                           text_string(&survey->at), strerror(errno));
    }
    bool good = true;
    size_t length = survey->at.length;
    struct dirent *entry;
    while (good && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        text_addf(&survey->at, "%s%s", depth == 0 && text_ends(survey->dir, "/") ? "" : "/", entry->d_name);
        good = survey_entry(survey, dirfd(dir), entry->d_name, depth, err);
        survey->at.length = length;
        survey->at.data[length] = '\0';
    }
    closedir(dir);
    return good;
}

static bool survey_capture(const char *dir, struct error *err) {
    struct survey survey = {.dir = dir};
    if (dir[0] == '\0')
        return FAIL(err, ERROR_USAGE, "no capture is named: its folder is wanted");
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot open the capture %s: %s", dir, strerror(errno));
    text_add(&survey.at, dir);
    bool good = survey_folder(&survey, fd, 0, err);
    text_free(&survey.at);
    return good;
}

/* ---- reading ---- */

/* A file of the capture's top folder; a link there is followed nowhere. False only when it is there and
 * unfit. */
static bool read_top(const char *dir, const char *name, size_t limit, struct text *out, bool *there,
                     struct error *err) {
    char *path = path_join(dir, name);
    struct stat st;
    bool good = true;
    *there = lstat(path, &st) == 0;
    if (*there && !S_ISREG(st.st_mode))
        good = FAIL(err, ERROR_DATA, "%s is no regular file", path);
    else if (*there)
        good = file_read(path, limit, out, err);
    free(path);
    return good;
}

static bool read_json(const char *dir, const char *name, size_t limit, js **out, struct error *err) {
    struct text text = {0};
    bool there = false;
    bool good = read_top(dir, name, limit, &text, &there, err);
    if (good && there) {
        *out = js_parse(text_string(&text), text.length, err);
        good = js_is_object(*out);
        if (!good && *out != NULL)
            FAIL(err, ERROR_DATA, "it is no JSON object");
        if (!good)
            error_context(err, "%s/%s", dir, name);
    }
    text_free(&text);
    return good;
}

static bool check_schema(const char *dir, const js *manifest, struct error *err) {
    const js *schema = js_get(manifest, "schema");
    if (schema == NULL || strcmp(js_string(schema, ""), "gpuvet.capture/1") == 0)
        return true;
    return FAIL(err, ERROR_DATA,
                "%s/manifest.json: schema '%.60s' is not known; this gpuvet reads gpuvet.capture/1", dir,
                js_string(schema, ""));
}

/* Not there, it is a capture by hand: of a host, as far as anybody knows. */
static bool take_manifest(const char *dir, struct source *out, struct error *err) {
    js *manifest = NULL;
    bool good =
        read_json(dir, "manifest.json", MAX_MANIFEST, &manifest, err) && check_schema(dir, manifest, err);
    if (good) {
        out->where = mem_copy_string(js_get_string(manifest, "where", "host"));
        out->manager = mem_copy_string(js_get_string(manifest, "manager", NULL));
        out->recorded = js_get_bool(manifest, "recorded", false);
        if (js_get_bool(manifest, "incomplete", false))
            log_warning("capture %s: its writing was interrupted, so facts are missing", dir);
    }
    js_free(manifest);
    return good || RELAY(err);
}

/* Any of the format's files makes a folder a capture. */
static bool check_known(const char *dir, struct error *err) {
    static const char *const known[] = {"manifest.json", "root",         "files.tsv",  "dev.tsv",
                                        "klog.txt",      "topology.xml", "probes.json"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char *path = path_join(dir, known[i]);
        struct stat st;
        bool there = lstat(path, &st) == 0;
        free(path);
        if (there)
            return true;
    }
    return FAIL(err, ERROR_DATA,
                "%s is no capture: it has no manifest.json, no root/ and no other file of one", dir);
}

/* root itself may be no link: every path is resolved below it, wherever it is. */
static bool check_root(const char *root, struct error *err) {
    struct stat st;
    if (lstat(root, &st) == 0 && !S_ISDIR(st.st_mode))
        return FAIL(err, ERROR_DATA, "%s is no folder", root);
    return true;
}

static bool take_text(const char *dir, const char *name, size_t limit, char **out, struct error *err) {
    struct text text = {0};
    bool there = false;
    bool good = read_top(dir, name, limit, &text, &there, err);
    if (good && there)
        *out = mem_copy_string(text_string(&text));
    text_free(&text);
    return good || RELAY(err);
}

static bool take_files(const char *dir, struct source *out, struct error *err) {
    bool good = take_text(dir, "files.tsv", MAX_TABLE, &out->files_table, err);
    if (good && out->files_table != NULL) {
        out->files = mem_zeroed(1, sizeof *out->files);
        good = files_table_parse(out->files_table, out->files, err) || error_context(err, "capture %s", dir);
    }
    return good || RELAY(err);
}

bool source_capture(const char *dir, struct source *out, struct error *err) {
    *out = (struct source){.root = path_join(dir, "root")};
    bool good = survey_capture(dir, err) && check_known(dir, err) && check_root(out->root, err) &&
                take_manifest(dir, out, err) &&
                read_json(dir, "probes.json", MAX_PROBES, &out->probes, err) &&
                take_text(dir, "topology.xml", MAX_TOPOLOGY, &out->topology, err) &&
                take_text(dir, "dev.tsv", MAX_TABLE, &out->dev_table, err) && take_files(dir, out, err) &&
                take_text(dir, "klog.txt", MAX_KERNEL_LOG, &out->kernel_log, err);
    if (!good)
        source_free(out);
    return good || RELAY(err);
}
