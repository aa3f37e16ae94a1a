/* SPDX-License-Identifier: Apache-2.0 */
/* Every file of a report on whatever run_read takes: what its places cost, its history, set against itself.
 */
#define FUZZ_CORPUS "report"
#define FUZZ_MUTATIONS 60
#include "compare/compare.h"
#include "compare/places.h"
#include "fuzz/fuzz.h"
#include "report/parts.h"

#include <math.h>
#include <sys/mman.h>

static size_t count(const char *text, const char *word) {
    size_t n = 0;
    for (; (text = strstr(text, word)) != NULL; text++)
        n++;
    return n;
}

/* Every figure of the metrics is a number. */
static void check_metrics(const char *text) {
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        char *line = mem_copy_bytes(text, length);
        const char *last = strrchr(line, ' ');
        double value = 0;
        if (line[0] != '#' && (last == NULL || !text_to_double(last + 1, &value) || !isfinite(value)))
            abort();
        free(line);
        text += length + (text[length] == '\n');
    }
}

static void check_page(const char *html) {
    if (count(html, "<script") != 1 ||
        count(html, "<iframe") + count(html, "<img") + count(html, "<object") > 0)
        abort(); /* the page's own script and nothing that a run brought */
}

static void check_junit(const char *xml) {
    size_t ends = count(xml, "</") + count(xml, "/>");
    size_t tags = count(xml, "<") - count(xml, "<?") - count(xml, "</");
    if (tags != ends || count(xml, "<") != count(xml, ">"))
        abort();
}

static void make_tables(const struct report *r) {
    static const struct {
        void (*make)(const struct report *r, struct text *out);
        void (*check)(const char *text);
    } files[] = {{csv_results, NULL},
                 {csv_rounds, NULL},
                 {markdown_summary, NULL},
                 {junit_xml, check_junit},
                 {prom_metrics, check_metrics}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct text content = {0};
        files[i].make(r, &content);
        if (files[i].check != NULL)
            files[i].check(text_string(&content));
        text_free(&content);
    }
}

static void make_page(struct report *r) {
    static void (*const plots[])(struct report *) = {plots_forest, plots_places, plots_matrices,
                                                     plots_sweeps, plots_wake,   plots_gemm,
                                                     plots_decode, plots_rounds, plots_history};
    struct text page = {0};
    r->gnuplot_absent = true; /* what is drawn is data, and gnuplot no part of this */
    for (size_t i = 0; i < sizeof plots / sizeof *plots; i++)
        plots[i](r);
    html_page(r, &page);
    check_page(text_string(&page));
    text_free(&page);
}

static void make_report(const struct report_input *input) {
    struct error err = {0};
    struct strings notes = {0};
    struct report r = {.in = input, .notes = &notes};
    if (report_make_rows(&r, &err)) {
        make_tables(&r);
        make_page(&r);
        (void)report_status(&r);
    }
    report_free(&r);
    strings_free(&notes);
}

static js *history_of(const struct run *run) {
    js *history = js_new_array();
    for (int i = 0; i < 4; i++)
        js_append(history, report_summary(run));
    for (size_t i = 0; i < js_length(history); i++)
        if (!report_summary_fits(js_at(history, i)))
            abort();
    return history;
}

static void print_places(const struct place_costs *costs) {
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere != NULL) {
        place_costs_print(costs, nowhere);
        fclose(nowhere);
    }
}

static void report_on(const struct run *before, const struct run *run) {
    struct place_costs costs;
    struct compare_options options = {.force = true};
    struct comparison c;
    struct error err = {0};
    place_costs_make(run, &costs);
    js *places = place_costs_json(&costs);
    js *history = history_of(run);
    struct report_input input = {.after = run, .n_after = 1, .places = places, .history = history};
    make_report(&input);
    if (compare_runs(before, 1, run, 1, &options, &c, &err)) {
        js *comparison = comparison_json(&c);
        input.comparison = comparison;
        input.before = before;
        input.n_before = 1;
        input.before_name = "another";
        make_report(&input);
        js_free(comparison);
        comparison_free(&c);
    }
    print_places(&costs);
    js_free(history);
    js_free(places);
    place_costs_free(&costs);
}

/* A file without a name, which lasts until `fd` is closed. */
static bool read_bytes(const char *data, size_t size, int *fd, struct run *run) {
    char path[64];
    struct error err = {0};
    *fd = memfd_create("run", MFD_CLOEXEC);
    if (*fd < 0)
        return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    return fd_write_all(*fd, data, size, &err) && run_read(path, run, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char mark[] = "\n@\n"; /* between the run before and the one that the report is about */
    const char *text = (const char *)data;
    const char *at = size == 0 ? NULL : memmem(text, size, mark, 3);
    size_t first = at == NULL ? 0 : (size_t)(at - text) + 3;
    struct run run, before;
    int fd = -1, fd_before = -1;
    if (read_bytes(text + first, size - first, &fd, &run)) {
        bool two = first > 0 && read_bytes(text, first - 2, &fd_before, &before);
        report_on(two ? &before : &run, &run);
        if (two)
            run_free(&before);
        run_free(&run);
    }
    if (fd >= 0)
        close(fd);
    if (fd_before >= 0)
        close(fd_before);
    return 0;
}
