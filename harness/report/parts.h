/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of report/ say to each other. */
#ifndef GPUVET_REPORT_PARTS_H
#define GPUVET_REPORT_PARTS_H

#include "base/text.h"
#include "report/report.h"

/* What one side knows of one series. */
struct point {
    size_t n_runs, n_rounds, n_samples;
    double middle;    /* geometric mean over runs of each run's over its rounds; NAN: nothing measured */
    double low, high; /* NAN: one value only */
    bool over_rounds; /* the interval is 95 % over at least 3 rounds, else what the samples of the rounds say
                       */
};

/* One series of either side. Borrowed from the input where not said otherwise. */
struct row {
    const char *key, *bench, *unit;
    struct key_parts parts; /* owned; `where`, `params` still escaped */
    char *label;            /* owned */
    bool primary, higher_is_better;
    const struct series *series; /* of the newest run that has it, AFTER first */
    bool only_before;
    struct point after, before;
    double limit;
    const js *verdict; /* its entry in the comparison; NULL: none */
};

/* One good record, in short. */
struct sighting {
    char *key; /* without a statistic's suffix */
    int round;
    size_t n;
    double least, most;                    /* its median is known to lie there; NAN: one sample */
    double sm_mhz, power_w, temperature_c; /* NAN: unknown */
};

struct sightings {
    struct sighting *items; /* sorted by key and round */
    size_t n, capacity;
    struct strings skips; /* "p2p.write: needs 2 GPUs, 1 is chosen" */
};

/* A plot: a script of scripts/plot, with data and variables beside it. */
struct plot {
    char *name;          /* of its files */
    const char *section; /* where the page shows it */
    const char *script;  /* "sweep.gp" */
    char *title, *caption;
    struct text data, variables;
    bool wide;
    char *svg;     /* cleaned, for the page; NULL: not drawn */
    char why[200]; /* then */
};

struct report {
    const struct report_input *in;
    const struct run *newest; /* of AFTER */
    struct row *rows;         /* sorted by key */
    size_t n_rows;
    struct sightings after_records, before_records;
    struct plot *plots;
    size_t n_plots, plot_capacity;
    bool gnuplot_absent;
    struct strings *notes;
};

enum { REPORT_MAX_PLOTS = 150, REPORT_MOST_VISITED = 12 };

/* ---- model.c, records.c ---- */
bool report_make_rows(struct report *r, struct error *err);
void report_free(struct report *r);
/* One part of where or params: "gpu", "bytes". Owned, unescaped; NULL: it has none. */
char *row_value(const struct row *row, const char *name);
bool row_number(const struct row *row, const char *name, double *out);
/* The key without a statistic's suffix. Owned. */
char *row_base(const struct row *row);
/* The key without one part or two (`also` may be NULL), for what differs in them alone. Owned. */
char *row_family(const struct row *row, const char *left_out, const char *also);
/* "GPU 0", or the beginning of the UUID. */
void report_gpu_name(const struct report *r, const char *uuid, char out[32]);
const char *row_verdict(const struct row *row);             /* "" without one */
double row_judged(const struct row *row, const char *name); /* "ratio", "low" …; NAN */
double row_share(const struct row *row);                    /* its figure as per cent of its limit; NAN */
bool records_gather(const struct run *runs, size_t n, struct sightings *out, struct error *err);
void records_free(struct sightings *s);
/* Those of one key: the first, and how many. */
const struct sighting *records_find(const struct sightings *s, const char *key, size_t *n);

/* What the verdict is, in one sentence, and its colour: "bad", "unsure", "good", "plain". */
const char *report_sentence(const struct report *r, struct text *out);
/* compare's exit status; 0 without a comparison, 1 where anything failed. */
int report_status(const struct report *r);

/* ---- plots ---- */
struct plot *plot_add(struct report *r, const char *section, const char *script, const char *name,
                      const char *title);
void plot_number(struct plot *p, const char *variable, double value);
void plot_string(struct plot *p, const char *variable, const char *value);
/* The line below the plot: n, and what the bars are. Ours, nothing from a run. */
void plot_note(struct plot *p, const char *note);
/* One field of the data file and a tab behind it. */
void plot_field(struct plot *p, const char *text);
void plot_value(struct plot *p, double value);
void plot_end_row(struct plot *p);
void plots_forest(struct report *r);
void plots_places(struct report *r);
void plots_matrices(struct report *r);
void plots_sweeps(struct report *r);
void plots_wake(struct report *r);
void plots_gemm(struct report *r);
void plots_decode(struct report *r);
void plots_rounds(struct report *r);
void plots_history(struct report *r);
/* Draws all, in FOLDER/plots. */
bool plots_draw(struct report *r, struct error *err);
/* The SVG that gnuplot wrote as the page may hold it; NULL with `err` when it holds anything else than
 * drawing. `prefix` keeps the names in it apart from those of others. */
char *svg_clean(const char *svg, const char *prefix, struct error *err);

/* ---- outputs, each one file ---- */
void html_page(struct report *r, struct text *out);
void csv_results(const struct report *r, struct text *out);
void csv_rounds(const struct report *r, struct text *out);
void junit_xml(const struct report *r, struct text *out);
void prom_metrics(const struct report *r, struct text *out);
void markdown_summary(const struct report *r, struct text *out);

/* ---- parts of the page ---- */
void html_first_screen(const struct report *r, struct text *out);
void html_sections(const struct report *r, struct text *out);
void html_tables(const struct report *r, struct text *out);
void html_history(const struct report *r, struct text *out);
void html_places(const struct report *r, struct text *out);
void html_topology(const struct report *r, struct text *out);
/* Figures of one section; false: it has none. */
bool html_figures(const struct report *r, const char *section, struct text *out);
void html_number(struct text *out, double value, int digits); /* "-" where unknown */
void html_cell(struct text *out, double value, int digits);   /* a table's cell that sorts */
void html_change(struct text *out, double ratio);             /* "+1.20 %" */
void html_change_cell(struct text *out, double ratio);
/* A small line of values, drawn with the page. */
void html_spark(struct text *out, const double *values, size_t n);
/* A series' key, in the type of code. */
void html_key(struct text *out, const char *key);

#endif
