/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/p2p_proof.h"

#include "base/log.h"
#include "base/text.h"
#include "cli/doctor_view.h"
#include "doctor/doctor.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PROOF = 256 };

/* ---- taking ---- */

static bool is(const js *record, const char *key, const char *value) {
    return strcmp(js_get_string(record, key, ""), value) == 0;
}

/* What the record proves broken; NULL: nothing. */
static const char *finding_of(const js *record) {
    const js *detail = js_get(record, "detail");
    const char *told = js_get_string(detail, "finding", NULL);
    if ((is(record, "outcome", "error") || is(record, "outcome", "skip")) &&
        text_starts(js_get_string(record, "reason", ""), "no P2P: "))
        return "p2p.access"; /* the mapping was refused, after the driver had offered it */
    if (is(record, "outcome", "hang"))
        return "p2p.hang";
    if (is(record, "outcome", "ok") && js_get_bool(detail, "collapsed", false))
        return is(js_get(record, "params"), "access", "write") ? "p2p.write-collapse" : NULL;
    if (told != NULL && (is(record, "outcome", "ok") || is(record, "outcome", "fail")))
        return strcmp(told, "p2p.status") == 0 ? NULL : told; /* the rules read that one themselves */
    if (!is(record, "outcome", "fail"))
        return NULL;
    if (is(record, "metric", "flag"))
        return "p2p.exchange";
    return js_get_int(js_get(record, "verify"), "bad_words", 0) > 0 ? "p2p.copy" : NULL;
}

/* The same of a collective. What was asked to go wrong says so in its proof, and goes the same way, so that a
 * try shows what a real one would lead to; a process that hangs without any GPU proves nothing of them. */
static const char *collective_finding_of(const js *record) {
    if (is(record, "case", "nccl.fault") && js_get_string(js_get(record, "where"), "gpus", NULL) == NULL)
        return NULL;
    if (is(record, "outcome", "hang"))
        return "nccl.hang";
    if (is(record, "outcome", "fail") && js_get_int(js_get(record, "verify"), "bad_words", 0) > 0)
        return "nccl.wrong";
    bool space = strstr(js_get_string(record, "reason", ""), "out of space in /dev/shm") != NULL;
    return is(record, "outcome", "error") && space ? "nccl.no-space" : NULL;
}

static bool is_collective(const js *record) {
    return text_starts(js_get_string(record, "case", ""), "nccl.") || is(record, "case", "decode.step");
}

/* As the look after a hang saw it. */
static bool busy_afterwards(const js *node) {
    const js *busy = js_get(node, "utilization_percent");
    for (struct js_member m = js_first(busy); m.key != NULL; m = js_next(busy, m))
        if (js_int(m.value, 0) >= 99)
            return true;
    return false;
}

static void describe(const js *record, char *out, size_t size) {
    bool is_fault = is(record, "case", "nccl.fault");
    const js *detail = js_get(record, "detail");
    const js *samples = js_get(record, "samples");
    const char *reason = js_get_string(record, "reason", NULL);
    if (js_get_bool(detail, "collapsed", false) && reason == NULL)
        snprintf(out, size, "%.20s by %lld GPUs at once: %.1f GB/s together, %.1f one after the other",
                 js_get_string(js_get(record, "params"), "pattern", "?"),
                 (long long)js_length(js_get(detail, "lanes")), js_number(js_at(samples, 0), 0),
                 js_get_number(detail, "isolated_sum", 0));
    else
        snprintf(out, size, "%.40s%s%.20s%s: %.250s%s%s", js_get_string(record, "case", "?"),
                 is_fault ? " (asked to go wrong: " : "",
                 is_fault ? js_get_string(js_get(record, "params"), "how", "?") : "", is_fault ? ")" : "",
                 reason != NULL ? reason : "",
                 is(js_get(record, "control"), "outcome", "ok") ? "; with NCCL_P2P_DISABLE=1 it ends" : "",
                 busy_afterwards(js_get(record, "node")) ? "; a GPU is still 100 % busy" : "");
}

/* Addresses of the first and the second GPU, UUIDs where a record has none. */
static void places_of(const js *record, const char **from, const char **to) {
    const js *where = js_get(record, "where");
    const js *attributes = js_get(record, "attributes");
    const js *lane = js_at(js_get(js_get(record, "detail"), "lanes"), 0);
    const js *bdfs = js_get(attributes, "bdfs");
    if (js_length(bdfs) > 1) {
        *from = js_string(js_at(bdfs, 0), "?");
        *to = js_length(bdfs) > 2 ? "others" : js_string(js_at(bdfs, 1), "?");
        return;
    }
    *from =
        js_get_string(attributes, "from_bdf", js_get_string(lane, "from", js_get_string(where, "from", "?")));
    *to = js_get_string(attributes, "to_bdf", js_get_string(lane, "to", js_get_string(where, "to", "?")));
}

void p2p_proof_take(js *proof, const js *record) {
    const char *finding = NULL;
    const char *from = "", *to = "";
    bool collective = is_collective(record);
    if ((!collective && !text_starts(js_get_string(record, "case", ""), "p2p.")) ||
        js_get(js_get(record, "params"), "corrupt") != NULL || js_length(proof) >= MAX_PROOF)
        return;
    finding = collective ? collective_finding_of(record) : finding_of(record);
    if (finding == NULL)
        return;
    places_of(record, &from, &to);
    for (size_t i = 0; i < js_length(proof); i++)
        if (is(js_at(proof, i), "finding", finding) && is(js_at(proof, i), "from", from) &&
            is(js_at(proof, i), "to", to))
            return;
    char why[400];
    js *one = js_new_object();
    describe(record, why, sizeof why);
    js_set_string(one, "from", from);
    js_set_string(one, "to", to);
    js_set_string(one, "finding", finding);
    js_set_string(one, "why", why);
    js_set_int(one, "round", js_get_int(record, "round", 0));
    if (js_get(record, "control") != NULL)
        js_set_string(one, "control", js_get_string(js_get(record, "control"), "outcome", NULL));
    js_append(proof, one);
}

/* ---- judging ---- */

static bool write_one(const js *finding, const char *target, struct run_writer *writer, struct error *err) {
    js *line = js_new_object();
    js_set_string(line, "type", "finding");
    js_set_string(line, "target", target);
    for (struct js_member m = js_first(finding); m.key != NULL; m = js_next(finding, m))
        js_set(line, m.key, js_copy(m.value));
    bool good = run_writer_add(writer, line, false, err);
    js_free(line);
    return good || RELAY(err);
}

static void say(const js *finding) {
    const js *evidence = js_at(js_get(finding, "evidence"), 0);
    const js *remedy = js_at(js_get(finding, "remedy"), 0);
    if (js_get(finding, "consequence_of") != NULL || is(finding, "severity", "info"))
        return;
    log_warning("%s: %s (%s: %s)%s%s", js_get_string(finding, "id", "?"),
                js_get_string(finding, "title", "?"), js_get_string(evidence, "path", "?"),
                js_get_string(evidence, "value", "?"), remedy != NULL ? "; " : "", js_string(remedy, ""));
}

bool p2p_proof_find(const js *proof, const char *target, struct run_writer *writer, struct error *err) {
    const struct doctor_view_options options = {.probe = true};
    struct doctor_view view;
    struct error why = {0};
    bool good = true;
    if (js_length(proof) == 0)
        return true;
    if (!doctor_view_open(&options, &view, &why) || view.source.probes == NULL) {
        log_warning("P2P is broken, and what stands in its way cannot be read: %s", why.text);
        doctor_view_close(&view);
        return true;
    }
    js_set(view.source.probes, "p2p_proof", js_copy(proof));
    struct findings findings;
    doctor_judge(&view.scene, &findings);
    js *judged = findings_to_json(&findings, &view.scene);
    const js *all = js_get(judged, "findings");
    for (size_t i = 0; good && i < js_length(all); i++) {
        const char *id = js_get_string(js_at(all, i), "id", "");
        if (!text_starts(id, "p2p.") && !text_starts(id, "nccl."))
            continue;
        good = write_one(js_at(all, i), target, writer, err);
        say(js_at(all, i));
    }
    js_free(judged);
    findings_free(&findings);
    doctor_view_close(&view);
    return good || RELAY(err);
}
