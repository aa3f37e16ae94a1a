/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_fix.h"

#include "base/log.h"
#include "base/mem.h"
#include "doctor/doctor.h"
#include "doctor/mend.h"
#include "doctor/mend_file.h"
#include "system/dead_mounts.h"
#include "system/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BACKUPS "/var/lib/gpuvet/backup"

/* As long as pct waits. */
static const double lock_seconds = 10;

/* One file of the plan, as it is and as it would be. */
struct change {
    struct text before, after, diff;
    struct mend_file file;
};

struct fix {
    const struct doctor_fix_options *options;
    struct doctor_view view;
    struct mend_plan plan;
    struct change *changes; /* one a file of the plan */
    bool applied;
    const char *verdict; /* after */
    struct findings findings;
};

static void free_fix(struct fix *f) {
    for (size_t i = 0; f->changes != NULL && i < f->plan.files.count; i++) {
        mend_file_free(&f->changes[i].file);
        text_free(&f->changes[i].before);
        text_free(&f->changes[i].after);
        text_free(&f->changes[i].diff);
    }
    free(f->changes);
    mend_plan_free(&f->plan);
    findings_free(&f->findings);
    doctor_view_close(&f->view);
}

/* ---- finding it ---- */

static bool not_found(const struct fix *f, const char *name, const char *near, struct error *err) {
    const struct container_list *list = &f->view.scene.containers;
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++)
        n += list->items[i].kind == CONTAINER_PVE || list->items[i].kind == CONTAINER_LXC;
    const char *root =
        geteuid() != 0 && f->options->view.from == NULL ? ", as far as it may be read without root" : "";
    if (near != NULL)
        return FAIL(err, ERROR_USAGE, "no LXC container '%s' here; did you mean lxc:%s?", name, near);
    if (n == 0)
        return FAIL(err, ERROR_USAGE,
                    "no LXC container '%s' here: there is no configuration in /etc/pve/lxc or /var/lib/lxc%s",
                    name, root);
    return FAIL(err, ERROR_USAGE, "no LXC container '%s' among the %zu of this host%s", name, n, root);
}

static bool make_plan(struct fix *f, struct error *err) {
    const char *name = f->options->what;
    const char *near = NULL;
    if (text_starts(name, "lxc:") || text_starts(name, "pct:"))
        name += strlen("lxc:");
    else if (name[0] == '\0' || strchr(name, ':') != NULL)
        return FAIL(
            err, ERROR_USAGE,
            "--fix '%s': what can be mended is lxc:NAME, udev and cdi; for another container see what "
            "gpuvet doctor says of it",
            name);
    const struct container *c = mend_find(&f->view.scene.containers, name, &near);
    if (c == NULL)
        return not_found(f, name, near, err);
    mend_plan_make(&f->view.scene, c, &f->plan);
    return true;
}

/* ---- the new texts ---- */

static bool read_before(const struct fix *f, const char *path, struct text *out, struct error *err) {
    if (f->options->view.from == NULL)
        return mend_file_read(path, out, err);
    return look_bytes(&f->view.source, path, MEND_FILE_LARGEST, out) ||
           FAIL(err, ERROR_DATA, "%s cannot be read in the capture", path);
}

static bool make_change(struct fix *f, const char *path, struct change *out, struct error *err) {
    struct mend_lines lines = {0};
    bool good = read_before(f, path, &out->before, err) &&
                mend_lines_make(text_string(&out->before), out->before.length, f->plan.format, &f->plan.edits,
                                path, &lines, err);
    if (good) {
        mend_lines_text(&lines, &out->after);
        mend_lines_diff(&lines, path, path, &out->diff);
        out->file = (struct mend_file){.path = path, .before = &out->before, .after = &out->after};
    }
    mend_lines_free(&lines);
    return good || RELAY(err);
}

static bool make_changes(struct fix *f, struct error *err) {
    f->changes = mem_zeroed(f->plan.files.count + 1, sizeof *f->changes);
    for (size_t i = 0; i < f->plan.files.count; i++)
        if (!make_change(f, f->plan.files.items[i], &f->changes[i], err))
            return RELAY(err);
    return true;
}

/* ---- saying it ---- */

static void print_safe(const char *before, const char *text) {
    char *safe = text_printable(text);
    printf("%s%s\n", before, safe);
    free(safe);
}

static void print_list(const char *title, const char *before, const struct strings *list) {
    if (list->count > 0)
        printf("%s\n", title);
    for (size_t i = 0; i < list->count; i++)
        print_safe(before, list->items[i]);
    if (list->count > 0)
        putchar('\n');
}

/* As it is for patch(1); a terminal gets it made harmless, line by line. */
static void print_diff(const struct text *diff) {
    if (!isatty(STDOUT_FILENO)) {
        fwrite(text_string(diff), 1, diff->length, stdout);
        return;
    }
    struct strings lines = {0};
    strings_split(&lines, text_string(diff), '\n');
    for (size_t i = 0; i < lines.count; i++)
        print_safe("", lines.items[i]);
    strings_free(&lines);
}

static void print_plan(const struct fix *f) {
    const struct mend_plan *plan = &f->plan;
    for (size_t i = 0; i < plan->files.count; i++)
        print_diff(&f->changes[i].diff);
    if (plan->files.count > 0)
        putchar('\n');
    print_list("Changed, and why:", "  ", &plan->changes);
    print_list("Not changed:", "  ", &plan->stays);
    print_list("Note:", "  ", &plan->notes);
    if (plan->edits.count > 0 && !plan->enough)
        puts("It is not enough: what else is wrong cannot be mended without a guess.\n");
    if (plan->edits.count > 0)
        print_list("For good, instead:", "  ", &plan->lasting);
}

static void print_next(const struct fix *f) {
    if (f->plan.edits.count == 0)
        return;
    if (!f->applied) {
        printf("Nothing is changed yet. To make this change:  gpuvet doctor --fix lxc:%s --apply\n",
               f->plan.container->name);
        return;
    }
    for (size_t i = 0; i < f->plan.files.count; i++)
        printf("%s is changed; the old one is %s\n", f->changes[i].file.path, f->changes[i].file.backup);
    printf("\nNow restart it, for rules are read at its start:  %s\n", f->plan.restart.items[0]);
    puts("and look again:  gpuvet doctor");
}

/* What doctor says of this container now. */
static void print_verdict(const struct fix *f) {
    if (f->verdict == NULL)
        return;
    printf("\nDoctor on container %s: %s\n", f->plan.container->name, f->verdict);
    for (size_t i = 0; i < f->findings.count; i++) {
        const struct finding *one = &f->findings.items[i];
        struct text title = {0};
        text_addf(&title, "%s %s: %s", severity_name(one->severity), one->rule->id, one->title);
        print_safe("  ", text_string(&title));
        for (size_t r = 0; r < one->remedy.count; r++)
            print_safe("      ", one->remedy.items[r]);
        text_free(&title);
    }
}

static js *list_json(const struct strings *list) {
    js *out = js_new_array();
    for (size_t i = 0; i < list->count; i++)
        js_append_string(out, list->items[i]);
    return out;
}

static void print_json(const struct fix *f) {
    js *out = js_new_object();
    js *files = js_new_array();
    js_set_string(out, "schema", "gpuvet.mend/1");
    js_set_string(out, "container", f->plan.container->name);
    for (size_t i = 0; i < f->plan.files.count; i++) {
        js *one = js_new_object();
        js_set_string(one, "path", f->changes[i].file.path);
        js_set_string(one, "diff", text_string(&f->changes[i].diff));
        js_set_string(one, "backup", f->changes[i].file.backup);
        js_append(files, one);
    }
    js_set(out, "files", files);
    js_set(out, "changes", list_json(&f->plan.changes));
    js_set(out, "stays", list_json(&f->plan.stays));
    js_set(out, "notes", list_json(&f->plan.notes));
    js_set(out, "lasting", list_json(&f->plan.lasting));
    js_set(out, "restart", list_json(&f->plan.restart));
    js_set_bool(out, "applied", f->applied);
    js_set_string(out, "verdict", f->verdict);
    js_print(out, stdout);
    js_free(out);
}

/* ---- making it ---- */

/* "lock: backup" in what counts: pct refuses to write then, and so does this. */
static bool check_not_locked(const struct fix *f, struct error *err) {
    struct strings lines = {0};
    bool good = true;
    for (size_t i = 0; i < f->plan.files.count && f->plan.format == MEND_PROXMOX; i++)
        strings_split(&lines, text_string(&f->changes[i].before), '\n');
    for (size_t i = 0; i < lines.count && good; i++) {
        const char *line = text_trim(lines.items[i]);
        if (line[0] == '[')
            break;
        if (text_starts(line, "lock:"))
            good =
                FAIL(err, ERROR_BUSY, "container %s is locked by Proxmox (%s): try again when that is done",
                     f->plan.container->name, line);
    }
    strings_free(&lines);
    return good;
}

static bool write_all(struct fix *f, struct error *err) {
    bool good = check_not_locked(f, err);
    for (size_t i = 0; i < f->plan.files.count && good; i++)
        good = mend_file_check(&f->changes[i].file, err);
    for (size_t i = 0; i < f->plan.files.count && good; i++) {
        good = mend_file_replace(&f->changes[i].file, BACKUPS, err);
        if (!good && i > 0)
            error_context(err, "%s is changed already (the old one is %s), then", f->changes[i - 1].file.path,
                          f->changes[i - 1].file.backup);
    }
    return good || RELAY(err);
}

static bool apply(struct fix *f, struct error *err) {
    struct mend_lock lock = {.fd = -1};
    /* What will be done is shown before it is. Where that is lost, main says so, but for a closed pipe. */
    if (fflush(stdout) != 0 || ferror(stdout))
        return errno == EPIPE
                   ? FAIL(err, ERROR_SYSTEM, "nobody reads what would be changed: nothing is changed")
                   : false;
    bool good = f->plan.format != MEND_PROXMOX ||
                mend_lock_proxmox(f->plan.container->name, lock_seconds, &lock, err);
    good = good && write_all(f, err);
    mend_lock_release(&lock);
    f->applied = good;
    return good || RELAY(err);
}

/* The findings about one container, the rest dropped. */
static void only_about(struct findings *findings, const char *name) {
    struct findings kept = {0}, rest = {0};
    struct text begin = {0};
    text_addf(&begin, "container %s ", name);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *one = &findings->items[i];
        bool ours = text_starts(one->rule->id, "lxc.") && text_starts(one->title, text_string(&begin));
        struct findings *to = ours ? &kept : &rest;
        to->items = mem_grow(to->items, to->count, &to->capacity, sizeof *to->items);
        to->items[to->count++] = *one;
    }
    free(findings->items);
    *findings = kept;
    findings_free(&rest);
    text_free(&begin);
}

static bool look_again(struct fix *f, struct error *err) {
    static const char *const words[] = {"ok", "warn", "fail"};
    struct doctor_view view;
    bool good = doctor_view_open(&f->options->view, &view, err);
    if (good) {
        doctor_judge(&view.scene, &f->findings);
        only_about(&f->findings, f->plan.container->name);
        f->verdict = words[findings_worst(&f->findings)];
    }
    doctor_view_close(&view);
    return good || RELAY(err);
}

/* Why nothing is to be done, or cannot be. */
static int nothing(const struct fix *f) {
    const char *name = f->plan.container->name;
    if (!f->plan.wants_gpu)
        printf("Container %s takes no GPU: nothing is to be done.\n", name);
    else if (!f->plan.enough)
        printf("Container %s: what is wrong cannot be mended without a guess.\n", name);
    else
        printf("Container %s: its configuration lets CUDA's devices in: nothing is to be done.\n", name);
    return f->plan.enough || !f->plan.wants_gpu ? 0 : 1;
}

static int fix_container(struct fix *f, struct error *err) {
    bool json = f->options->json;
    bool apply_it = f->options->apply && f->plan.edits.count > 0;
    if (!json)
        print_plan(f);
    if (f->plan.edits.count == 0 && !json)
        return nothing(f);
    if (apply_it && (!apply(f, err) || !look_again(f, err)))
        return 2;
    if (json) {
        print_json(f);
    } else {
        print_next(f);
        print_verdict(f);
    }
    if (f->applied)
        return findings_worst(&f->findings) == SEVERITY_FAIL ? 1 : 0;
    return f->plan.edits.count > 0 || (f->plan.wants_gpu && !f->plan.enough) ? 1 : 0;
}

static bool check_options(const struct doctor_fix_options *options, struct error *err) {
    if (options->apply && options->view.from != NULL)
        return FAIL(err, ERROR_USAGE, "--apply changes this machine; %s is a capture", options->view.from);
    if (options->apply && geteuid() != 0)
        return FAIL(err, ERROR_USAGE, "--apply needs root; without it the change is shown");
    return true;
}

/* Nobody knows what the numbers are before the driver is loaded. */
static bool check_numbers(const struct fix *f, struct error *err) {
    bool uvm = false;
    for (size_t i = 0; i < f->view.facts->n_chrdevs; i++)
        uvm = uvm || strcmp(f->view.facts->chrdevs[i].name, "nvidia-uvm") == 0;
    return uvm || !f->plan.wants_gpu ||
           FAIL(err, ERROR_DATA,
                "/proc/devices has no nvidia-uvm, so its number is not known: load the driver first "
                "(modprobe nvidia_uvm)");
}

/* A cluster file system whose server is gone would hold us for ever, perhaps with Proxmox's lock. */
static bool check_mounts(const struct doctor_fix_options *options, struct error *err) {
    static const char *const folders[] = {"/etc/pve/lxc/", "/var/lib/lxc/", "/etc/cdi/"};
    js *dead = options->view.from == NULL ? dead_mounts() : NULL;
    bool good = true;
    for (size_t i = 0; i < js_length(dead); i++)
        for (size_t k = 0; k < sizeof folders / sizeof *folders && good; k++) {
            const char *point = js_string(js_at(dead, i), "");
            if (text_starts(folders[k], point) && folders[k][strlen(point)] == '/')
                good = FAIL(err, ERROR_SYSTEM,
                            "the file system mounted at %s does not answer; bring its server back", point);
        }
    js_free(dead);
    return good;
}

int doctor_fix(const struct doctor_fix_options *options) {
    struct error err = {0};
    struct fix f = {.options = options};
    int status = 2;
    if (!check_options(options, &err) || !check_mounts(options, &err))
        goto out;
    if (strcmp(options->what, "cdi") == 0 || strcmp(options->what, "udev") == 0)
        status = doctor_fix_shown(options, &err);
    else if (doctor_view_open(&options->view, &f.view, &err) && make_plan(&f, &err) &&
             check_numbers(&f, &err) && make_changes(&f, &err))
        status = fix_container(&f, &err);
out:
    if (err.kind != ERROR_NONE)
        log_error(&err);
    free_fix(&f);
    return status;
}
