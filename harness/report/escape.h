/* SPDX-License-Identifier: Apache-2.0 */
/* Text from run files on its way into other languages. Everything in a run file may have been chosen by
 * somebody else: names, labels, reasons, keys. */
#ifndef GPUVET_REPORT_ESCAPE_H
#define GPUVET_REPORT_ESCAPE_H

#include "base/text.h"

/* For text and for attribute values between double quotes. Control and invalid characters become '?', and so
 * do those that turn the direction of writing. */
void escape_html(struct text *out, const char *s);
/* XML 1.0: the same, since what HTML takes out XML forbids. */
void escape_xml(struct text *out, const char *s);
/* One field: quoted where needed; what a spreadsheet would take for a formula gets an apostrophe in front. */
void escape_csv(struct text *out, const char *s);
/* As a code span, in which Markdown, HTML and mentions mean nothing; also inside a table. */
void escape_markdown(struct text *out, const char *s);
/* A label's value between double quotes of the Prometheus text format. */
void escape_prometheus(struct text *out, const char *s);
/* For gnuplot's data files and single-quoted strings: only letters, digits and a few marks are left, the rest
 * becomes '?'. At most `most` bytes, then "..". */
void escape_plot(struct text *out, const char *s, size_t most);
/* "copy-h2d-gpu-0" of any text, for names of files and anchors. */
void escape_slug(struct text *out, const char *s);

#endif
