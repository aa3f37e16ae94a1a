/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that the records hold: the links as they were under load, and PCIe errors that came while something
 * was measured. */
#include "base/mem.h"
#include "compare/parts.h"

#include <stdio.h>
#include <string.h>

enum { MAX_WORSE = 1000, MAX_NOTES = 200 };

static void add_worse(struct comparison *out, const char *uuid, const char *name, const char *before,
                      const char *after, const char *text) {
    struct text key = {0};
    if (out->n_worse >= MAX_WORSE)
        return;
    text_addf(&key, "gpu.%s.%s", uuid, name);
    out->worse = mem_resize(out->worse, out->n_worse + 1, sizeof *out->worse);
    out->worse[out->n_worse++] = (struct compare_change){text_take(&key), mem_copy_string(before),
                                                         mem_copy_string(after), mem_copy_string(text)};
}

static void check_link(const char *uuid, const char *name, int before, int after, const char *text,
                       struct comparison *out) {
    char was[16];
    char is[16];
    if (before == 0 || after == 0 || after >= before)
        return;
    snprintf(was, sizeof was, "%d", before);
    snprintf(is, sizeof is, "%d", after);
    add_worse(out, uuid, name, was, is, text);
}

static double rate(const struct run_count *count) {
    return count->items == 0 ? 0 : (double)count->total / (double)count->items;
}

static void say_count(const struct run_count *count, char *out, size_t size) {
    snprintf(out, size, "%lld in %zu items", (long long)count->total, count->items);
}

/* `before` is the worst of its runs, `after` the whole of its side. Errors where there were none, or more
 * than twice as many an item: a link that always had some has a few more or less of them every time. */
static void check_count(const char *uuid, const char *name, const struct run_count *before,
                        const struct run_count *after, const char *text, struct comparison *out) {
    char was[64];
    char is[64];
    if (after->items == 0 || after->total == 0)
        return;
    say_count(before, was, sizeof was);
    say_count(after, is, sizeof is);
    if (before->items > 0 && rate(after) > 2 * rate(before))
        add_worse(out, uuid, name, was, is, text);
    else if (out->notes.count < MAX_NOTES)
        strings_addf(&out->notes, "gpu.%s.%s: %s in AFTER, %s in BEFORE", uuid, name, is,
                     before->items > 0 ? was : "not known");
}

static void note_throttled(const char *uuid, const struct run_count *time, const char *by,
                           struct comparison *out) {
    if (time->total > 0 && out->notes.count < MAX_NOTES)
        strings_addf(&out->notes, "gpu.%s: clocks were held down by %s for %.1f ms while AFTER measured",
                     uuid, by, (double)time->total / 1e3);
}

static void keep_worst(struct run_count *worst, const struct run_count *count) {
    if (count->items > 0 && (worst->items == 0 || rate(count) > rate(worst)))
        *worst = *count;
}

static void add(struct run_count *sum, const struct run_count *count) {
    sum->total += count->total;
    sum->items += count->items;
}

/* The four counts of a GPU over a side: summed, or of its worst run each. */
static void gather(const struct side *side, const char *uuid, bool worst, struct run_gpu *out) {
    void (*take)(struct run_count *, const struct run_count *) = worst ? keep_worst : add;
    *out = (struct run_gpu){0};
    for (size_t i = 0; i < side->n; i++) {
        const struct run_gpu *gpu = run_find_gpu(&side->runs[i], uuid);
        if (gpu == NULL)
            continue;
        take(&out->replays, &gpu->replays);
        take(&out->correctable, &gpu->correctable);
        take(&out->nonfatal, &gpu->nonfatal);
        take(&out->fatal, &gpu->fatal);
    }
}

void compare_counters(const struct side *before, const struct side *after, struct comparison *out) {
    const struct run *new = side_newest(after);
    const char *machine = js_get_string(side_newest(before)->header, "machine_id", "");
    if (strcmp(machine, js_get_string(new->header, "machine_id", "")) != 0)
        return; /* the GPU moved: other slots, other links */
    for (size_t i = 0; i < new->n_gpus; i++) {
        const struct run_gpu *is = &new->gpus[i];
        const struct run_gpu *was = run_find_gpu(side_newest(before), is->uuid);
        struct run_gpu old;
        struct run_gpu sum;
        gather(before, is->uuid, true, &old);
        gather(after, is->uuid, false, &sum);
        if (was != NULL) {
            check_link(is->uuid, "link_under_load.gen", was->link_gen, is->link_gen, "link slower under load",
                       out);
            check_link(is->uuid, "link_under_load.width", was->link_width, is->link_width,
                       "link narrower under load", out);
        }
        check_count(is->uuid, "replays", &old.replays, &sum.replays, "new PCIe replays", out);
        check_count(is->uuid, "aer.correctable", &old.correctable, &sum.correctable,
                    "new PCIe errors (AER, correctable)", out);
        check_count(is->uuid, "aer.nonfatal", &old.nonfatal, &sum.nonfatal, "new PCIe errors (AER, nonfatal)",
                    out);
        check_count(is->uuid, "aer.fatal", &old.fatal, &sum.fatal, "new PCIe errors (AER, fatal)", out);
        note_throttled(is->uuid, &is->heat_us, "heat", out);
        note_throttled(is->uuid, &is->brake_us, "a power brake", out);
    }
}
