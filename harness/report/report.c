/* SPDX-License-Identifier: Apache-2.0 */
/* All files of a report. The page comes last, so that a folder with one is whole. */
#include "report/report.h"

#include "base/files.h"
#include "report/parts.h"

#include <stdlib.h>

static bool write_file(const struct report *r, const char *name, const struct text *content,
                       struct error *err) {
    char *path = path_join(r->in->folder, name);
    bool good = file_replace(path, text_string(content), content->length, err);
    free(path);
    return good;
}

static bool write_tables(const struct report *r, struct error *err) {
    static const struct {
        const char *name;
        void (*make)(const struct report *r, struct text *out);
    } files[] = {
        {"results.csv", csv_results},   {"rounds.csv", csv_rounds},       {"junit.xml", junit_xml},
        {"metrics.prom", prom_metrics}, {"summary.md", markdown_summary},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct text content = {0};
        files[i].make(r, &content);
        bool good = write_file(r, files[i].name, &content, err);
        text_free(&content);
        if (!good)
            return RELAY(err);
    }
    return true;
}

static void make_plots(struct report *r) {
    plots_forest(r);
    plots_places(r);
    plots_matrices(r);
    plots_sweeps(r);
    plots_wake(r);
    plots_gemm(r);
    plots_decode(r);
    plots_rounds(r);
    plots_history(r);
}

bool report_write(const struct report_input *input, int *status, struct strings *notes, struct error *err) {
    struct report r = {.in = input, .notes = notes};
    bool good = report_make_rows(&r, err) && folder_make(input->folder, err) && write_tables(&r, err);
    if (good) {
        make_plots(&r);
        good = plots_draw(&r, err);
    }
    if (good) {
        struct text page = {0};
        html_page(&r, &page);
        good = write_file(&r, "index.html", &page, err);
        text_free(&page);
    }
    *status = good ? report_status(&r) : 0;
    report_free(&r);
    return good;
}
