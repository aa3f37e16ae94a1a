/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for people. What matters most comes first; what is the same is one line. */
#include "compare/compare.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { FIGURES_WIDTH = 66, LIST_LIMIT = 40, LABEL_LEAST = 24, LABEL_MOST = 60, SHOWN_LENGTH = 300 };

static int width_of(FILE *out) {
    struct winsize size = {0};
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col >= 60)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    int64_t n = 0;
    return columns != NULL && text_to_int(columns, &n) && n >= 60 && n <= 1000 ? (int)n : 120;
}

/* Columns for labels: as wide as the longest one shown, within what the terminal leaves. */
static int label_width(const struct comparison *c, FILE *out) {
    int room = width_of(out) - FIGURES_WIDTH;
    int longest = LABEL_LEAST;
    for (size_t i = 0; i < c->n_rows; i++) {
        const enum verdict v = c->rows[i].result.verdict;
        int length = (int)strnlen(c->rows[i].label, LABEL_MOST);
        if (v != VERDICT_NOT_COMPARABLE && v != VERDICT_SAME && length > longest)
            longest = length;
    }
    room = room < LABEL_LEAST ? LABEL_LEAST : room > LABEL_MOST ? LABEL_MOST : room;
    return longest < room ? longest : room;
}

static void put(FILE *out, const char *s) {
    char *clean = text_shown(s, SHOWN_LENGTH);
    fputs(clean, out);
    free(clean);
}

/* A ratio as a change in per cent, or as a multiple where that reads better. */
static void put_change(FILE *out, double ratio) {
    if (!isfinite(ratio))
        fprintf(out, " %9s", "-");
    else if (ratio >= 10)
        fprintf(out, " %8.3gx", ratio);
    else
        fprintf(out, " %+7.2f %%", 100 * (ratio - 1));
}

static void print_row(FILE *out, const struct compare_row *row, int width) {
    const struct decide_result *r = &row->result;
    bool cut = strlen(row->label) > (size_t)width;
    char *unit = text_printable(row->unit);
    char before[TEXT_FIGURE_SIZE], after[TEXT_FIGURE_SIZE];
    fprintf(out, "  %-*.*s%s %9s -> %-9s %-5.8s", width - (cut ? 1 : 0), width - (cut ? 1 : 0), row->label,
            cut ? "~" : "", text_figure(r->before, before), text_figure(r->after, after), unit);
    free(unit);
    put_change(out, r->ratio);
    if (isfinite(r->low) && isfinite(r->high))
        fprintf(out, " [%+.2f, %+.2f]%s", 100 * (r->low - 1), 100 * (r->high - 1),
                r->between_is_default ? "*" : "");
    if (row->primary && isfinite(100 * r->delta))
        fprintf(out, "  d %.2g", 100 * r->delta);
    fputc('\n', out);
    if (r->reason[0] != '\0') {
        fprintf(out, "      ");
        put(out, r->reason);
        fputc('\n', out);
    }
}

static int by_size_of_change(const void *a, const void *b) {
    double x = fabs(log((*(const struct compare_row *const *)a)->result.ratio));
    double y = fabs(log((*(const struct compare_row *const *)b)->result.ratio));
    return (x < y) - (x > y);
}

/* The rows of one verdict, largest change first, at most `limit`. */
static void print_verdict(FILE *out, const struct comparison *c, enum verdict verdict, size_t limit,
                          int width) {
    size_t n = 0;
    const struct compare_row **rows = mem_zeroed(c->n_rows, sizeof *rows);
    for (size_t i = 0; i < c->n_rows; i++)
        if (c->rows[i].result.verdict == verdict)
            rows[n++] = &c->rows[i];
    if (n > 0) {
        qsort(rows, n, sizeof *rows, by_size_of_change);
        fprintf(out, "\n%s (%zu)\n",
                verdict == VERDICT_DESCRIPTIVE ? "descriptive, not judged" : verdict_name(verdict), n);
        for (size_t i = 0; i < n && i < limit; i++)
            print_row(out, rows[i], width);
        if (n > limit)
            fprintf(out, "  and %zu more (--json has all)\n", n - limit);
    }
    free(rows);
}

static void print_same(FILE *out, const struct comparison *c) {
    const struct compare_row *largest = NULL;
    size_t n = comparison_count(c, VERDICT_SAME);
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct compare_row *row = &c->rows[i];
        if (row->result.verdict == VERDICT_SAME &&
            (largest == NULL || fabs(log(row->result.ratio)) > fabs(log(largest->result.ratio))))
            largest = row;
    }
    if (largest == NULL)
        return;
    fprintf(out, "\nsame (%zu)\n  the largest change, %+.2f %%, is below what matters: %s\n", n,
            100 * (largest->result.ratio - 1), largest->label);
}

/* One line a reason. */
static void print_not_comparable(FILE *out, const struct comparison *c) {
    struct strings reasons = {0};
    enum { MOST_REASONS = 20 };
    for (size_t i = 0; i < c->n_rows && reasons.count < MOST_REASONS; i++)
        if (c->rows[i].result.verdict == VERDICT_NOT_COMPARABLE &&
            !strings_contain(&reasons, c->rows[i].result.reason))
            strings_add(&reasons, c->rows[i].result.reason);
    if (reasons.count > 0)
        fprintf(out, "\nnot comparable (%zu)\n", comparison_count(c, VERDICT_NOT_COMPARABLE));
    for (size_t k = 0; k < reasons.count; k++) {
        const char *example = NULL;
        size_t n = 0;
        for (size_t i = 0; i < c->n_rows; i++) {
            bool fits = c->rows[i].result.verdict == VERDICT_NOT_COMPARABLE &&
                        strcmp(c->rows[i].result.reason, reasons.items[k]) == 0;
            example = fits && example == NULL ? c->rows[i].label : example;
            n += fits ? 1 : 0;
        }
        fprintf(out, "  %zu series: ", n);
        put(out, reasons.items[k]);
        fprintf(out, " (%s%s)\n", example, n > 1 ? ", ..." : "");
    }
    strings_free(&reasons);
}

static void print_facts(FILE *out, const struct comparison *c) {
    if (c->n_worse > 0)
        fprintf(out, "\nchanged for the worse (%zu)\n", c->n_worse);
    for (size_t i = 0; i < c->n_worse; i++) {
        fprintf(out, "  %s: ", c->worse[i].text);
        put(out, c->worse[i].key);
        fputs(" was ", out);
        put(out, c->worse[i].before);
        fputs(", is ", out);
        put(out, c->worse[i].after);
        fputc('\n', out);
    }
    if (c->n_failures > 0)
        fprintf(out, "\nfailed in AFTER (%zu)\n", c->n_failures);
    for (size_t i = 0; i < c->n_failures && i < LIST_LIMIT; i++) {
        const struct compare_failure *f = &c->failures[i];
        fprintf(out, "  %s: %s", f->label, f->outcome);
        if (f->count > 1)
            fprintf(out, " (%zu times)", f->count);
        fputs(": ", out);
        put(out, f->reason);
        fprintf(out, "%s\n", f->before_too ? " (as in BEFORE)" : "");
    }
}

static void print_environment(FILE *out, const struct comparison *c) {
    if (c->n_differences > 0)
        fprintf(out, "\nenvironment (%zu differences)\n", c->n_differences);
    for (size_t i = 0; i < c->n_differences && i < LIST_LIMIT; i++) {
        const struct compare_difference *d = &c->differences[i];
        fputs("  ", out);
        put(out, d->key);
        fputs(": ", out);
        put(out, d->kind == DIFFERENCE_ADDED ? "(not there)" : d->before);
        fputs(" -> ", out);
        put(out, d->kind == DIFFERENCE_REMOVED ? "(not there)" : d->after);
        fputc('\n', out);
    }
    if (c->n_differences > LIST_LIMIT)
        fprintf(out, "  and %zu more (--json has all)\n", c->n_differences - LIST_LIMIT);
    if (c->not_visible.count > 0) {
        fputs("  not visible on one side (run gpuvet as root on both): ", out);
        put(out, c->not_visible.items[0]);
        fprintf(out, "%s\n", c->not_visible.count > 1 ? ", ..." : "");
    }
}

static void print_runs(FILE *out, const js *runs, const char *name) {
    for (size_t i = 0; i < js_length(runs); i++) {
        const js *run = js_at(runs, i);
        fprintf(out, "%-7s ", i == 0 ? name : "");
        put(out, js_get_string(run, "path", "?"));
        fputs("  ", out);
        put(out, js_get_string(run, "started", ""));
        fputs("  ", out);
        put(out, js_get_string(run, "label", ""));
        fputc('\n', out);
    }
}

static void print_legend(FILE *out, const struct comparison *c) {
    bool marked = false;
    for (size_t i = 0; i < c->n_rows; i++)
        marked = marked || (c->rows[i].result.between_is_default && isfinite(c->rows[i].result.low));
    fputs(
        "\nFigures are geometric means over runs of each run's over its rounds, the change is their ratio; [low, high]\n"
        "is its 95 % interval, d the smallest change that matters, all in %.\n",
        out);
    if (marked)
        fputs(
            "* The spread between runs is the shipped default, not measured: a baseline of 3 runs gives it.\n",
            out);
    if (c->n_family > 0)
        fprintf(
            out,
            "%zu primary series were tested together: if nothing changed, the chance that any of them is called\n"
            "improved or regressed is at most 1 %%; over 100 such comparisons expect about one false alarm.\n",
            c->n_family);
}

void comparison_print(const struct comparison *c, FILE *out) {
    int width = label_width(c, out);
    print_runs(out, c->before, "BEFORE");
    print_runs(out, c->after, "AFTER");
    print_facts(out, c);
    print_verdict(out, c, VERDICT_REGRESSED, c->n_rows, width);
    print_verdict(out, c, VERDICT_IMPROVED, c->n_rows, width);
    print_verdict(out, c, VERDICT_UNDECIDED, LIST_LIMIT, width);
    print_same(out, c);
    print_verdict(out, c, VERDICT_DESCRIPTIVE, LIST_LIMIT, width);
    print_not_comparable(out, c);
    print_environment(out, c);
    if (c->notes.count > 0)
        fputs("\nnotes\n", out);
    for (size_t i = 0; i < c->notes.count; i++) {
        fputs("  ", out);
        put(out, c->notes.items[i]);
        fputc('\n', out);
    }
    if (comparison_count(c, VERDICT_NOT_COMPARABLE) == c->n_rows)
        fputs("\nNothing was comparable.\n", out);
    else
        print_legend(out, c);
}
