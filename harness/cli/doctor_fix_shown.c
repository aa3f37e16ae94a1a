/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor --fix shows and does not do: CDI specifications are made by the toolkit, and a udev rule mostly
 * belongs to a package. */
#include "base/mem.h"
#include "cli/doctor_fix.h"
#include "doctor/doctor.h"
#include "doctor/mend_text.h"
#include "system/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char rule_line[] = "ACTION==\"add\", DEVPATH==\"/module/nvidia_uvm\", SUBSYSTEM==\"module\", "
                                "RUN+=\"/usr/bin/nvidia-modprobe -u -c 0\"";

/* The lines of a udev rule file with line `number` exchanged. */
static void exchange(const char *text, size_t length, int number, struct mend_lines *out) {
    int at_line = 0;
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t n = end == NULL ? length - at : (size_t)(end - (text + at)) + 1;
        bool found = ++at_line == number;
        mend_lines_add(out, found ? '-' : ' ', text + at, n);
        if (found) {
            struct text line = {0};
            text_addf(&line, "%s%s", rule_line, end != NULL ? "\n" : "");
            mend_lines_add(out, '+', text_string(&line), line.length);
            text_free(&line);
        }
        at += n;
    }
}

/* "…/71-nvidia.rules:12" of the finding's evidence; a package's file is changed by a copy under /etc. */
static bool show_udev(const struct scene *scene, const struct finding *finding, struct text *out) {
    char *path = mem_copy_string(finding->n_evidence > 0 ? finding->evidence[0].path : "");
    char *colon = strrchr(path, ':');
    struct text text = {0}, to = {0};
    struct mend_lines lines = {0};
    int64_t number = 0;
    bool good = colon != NULL && text_to_int(colon + 1, &number) && number > 0 && number < 1000000;
    if (good)
        *colon = '\0';
    good = good && look_bytes(scene->source, path, LOOK_LARGE, &text);
    if (good) {
        exchange(text_string(&text), text.length, (int)number, &lines);
        text_addf(&to, "/etc/udev/rules.d%s", strrchr(path, '/'));
        mend_lines_diff(&lines, path, text_string(&to), out);
    }
    mend_lines_free(&lines);
    text_free(&text);
    text_free(&to);
    free(path);
    return good;
}

static void show_commands(const struct finding *finding, struct text *out) {
    for (size_t i = 0; i < finding->remedy.count; i++) {
        char *safe = text_printable(finding->remedy.items[i]);
        if (strstr(text_string(out), safe) == NULL)
            text_addf(out, "  %s\n", safe);
        free(safe);
    }
}

/* What is to be shown, and how often it was found. */
static size_t show(const struct scene *scene, bool udev, struct text *out) {
    struct findings findings;
    size_t n = 0;
    doctor_judge(scene, &findings);
    for (size_t i = 0; i < findings.count; i++) {
        const struct finding *one = &findings.items[i];
        if (!text_starts(one->rule->id, udev ? "udev." : "cdi."))
            continue;
        n++;
        if (udev) {
            (void)show_udev(scene, one, out);
        } else {
            char *title = text_printable(one->title);
            text_addf(out, "%s\n", title);
            free(title);
            show_commands(one, out);
        }
    }
    findings_free(&findings);
    return n;
}

static void print_json(const char *what, const struct text *text) {
    js *out = js_new_object();
    js_set_string(out, "schema", "gpuvet.mend/1");
    js_set_string(out, "what", what);
    js_set_string(out, "shown", text_string(text));
    js_set_bool(out, "applied", false);
    js_print(out, stdout);
    js_free(out);
}

static void print_shown(const struct doctor_fix_options *options, const struct text *text, size_t n) {
    bool udev = strcmp(options->what, "udev") == 0;
    if (options->json) {
        print_json(options->what, text);
        return;
    }
    fputs(text_string(text), stdout);
    if (n == 0)
        printf("%s: nothing is to be done.\n", udev ? "udev's rules" : "CDI specifications");
    else if (udev)
        puts("\nThen: udevadm control --reload");
}

int doctor_fix_shown(const struct doctor_fix_options *options, struct error *err) {
    bool udev = strcmp(options->what, "udev") == 0;
    struct doctor_view view;
    struct text text = {0};
    int status = 2;
    if (options->apply)
        FAIL(err, ERROR_USAGE, "--apply does not go with --fix %s: %s", options->what,
             udev ? "rules mostly belong to a package, so they are shown only"
                  : "specifications are made by the toolkit; run the command that is shown");
    else if (doctor_view_open(&options->view, &view, err)) {
        size_t n = show(&view.scene, udev, &text);
        status = n > 0 ? 1 : 0;
        print_shown(options, &text, n);
        doctor_view_close(&view);
    } else {
        doctor_view_close(&view);
    }
    text_free(&text);
    return status;
}
