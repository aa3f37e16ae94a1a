/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/skips_view.h"

#include "cli/run_view.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 110, INDENT = 4 };

/* Cases that cannot run at all come first, then items. */
static size_t entries(const struct plan *plan) {
    return plan->n_absences + plan->n_items;
}

static const char *reason_of(const struct plan *plan, size_t at) {
    return at < plan->n_absences ? plan->absences[at].reason
                                 : plan->items[at - plan->n_absences].instance.skip;
}

static const struct bench_case *case_of(const struct plan *plan, size_t at) {
    return at < plan->n_absences ? plan->absences[at].bench : plan->items[at - plan->n_absences].bench;
}

static bool same(const struct plan *plan, size_t a, size_t b, bool and_case) {
    const char *reason = reason_of(plan, b);
    return reason != NULL && strcmp(reason_of(plan, a), reason) == 0 &&
           (!and_case || case_of(plan, a) == case_of(plan, b));
}

/* How many from `at` on have its reason; 0: one before it has it too, or there is none. */
static size_t alike(const struct plan *plan, size_t at, bool and_case) {
    size_t n = 0;
    if (reason_of(plan, at) == NULL)
        return 0;
    for (size_t i = 0; i < at; i++)
        if (same(plan, at, i, and_case))
            return 0;
    for (size_t i = at; i < entries(plan); i++)
        n += same(plan, at, i, and_case) ? 1 : 0;
    return n;
}

/* "launch.latency", "host.handoff (node 0, other-socket)", "copy.h2d (8 items)" */
static void describe_case(const struct plan *plan, const struct node *node, size_t at, struct text *out) {
    size_t n = alike(plan, at, true);
    text_add(out, case_of(plan, at)->name);
    if (n > 1) {
        text_addf(out, " (%zu items)", n);
    } else if (at >= plan->n_absences) {
        struct text words = {0};
        describe_item(&plan->items[at - plan->n_absences], node, &words);
        if (words.length > 0)
            text_addf(out, " (%s)", text_string(&words));
        text_free(&words);
    }
}

static void print_cases(const struct plan *plan, const struct node *node, size_t first, FILE *out) {
    int column = 0;
    for (size_t i = first; i < entries(plan); i++) {
        struct text word = {0};
        if (!same(plan, first, i, false) || alike(plan, i, true) == 0)
            continue;
        describe_case(plan, node, i, &word);
        int length = (int)word.length;
        if (column > 0 && column + 2 + length > COLUMNS) {
            fputs(",\n", out);
            column = 0;
        }
        column += column > 0 ? fprintf(out, ", ") : fprintf(out, "%*s", INDENT, "");
        column += fprintf(out, "%s", text_string(&word));
        text_free(&word);
    }
    fputc('\n', out);
}

void skips_print(const struct plan *plan, const struct node *node, const char *word, FILE *out) {
    for (size_t i = 0; i < entries(plan); i++) {
        size_t n = alike(plan, i, false);
        if (n == 0)
            continue;
        char *reason = text_printable(reason_of(plan, i)); /* a place may have said it */
        fprintf(out, "%zu %s: %s\n", n, word, reason);
        free(reason);
        print_cases(plan, node, i, out);
    }
}
