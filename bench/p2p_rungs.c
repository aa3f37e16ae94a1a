/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/p2p_rungs.h"

#include "system/gpus.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void p2p_ladder_start(struct p2p_ladder *ladder) {
    *ladder = (struct p2p_ladder){0};
}

void p2p_ladder_set(struct p2p_ladder *ladder, enum p2p_rung rung, enum p2p_verdict verdict, const char *why,
                    ...) {
    va_list args;
    va_start(args, why);
    ladder->rungs[rung].verdict = verdict;
    vsnprintf(ladder->rungs[rung].why, sizeof ladder->rungs[rung].why, why, args);
    va_end(args);
}

void p2p_ladder_status(struct p2p_ladder *ladder, const char *there, const char *back) {
    const char *words[] = {there, back};
    bool known = there[0] != '\0' && back[0] != '\0';
    for (int i = 0; i < 2; i++)
        if (words[i][0] != '\0' && strcmp(words[i], "OK") != 0) {
            p2p_ladder_set(ladder, RUNG_STATUS, VERDICT_FAIL, "the driver says %s (%s)%s", words[i],
                           gpu_p2p_meaning(words[i]),
                           strcmp(there, back) == 0 ? ""
                           : i == 0                 ? " one way"
                                                    : " on the way back");
            return;
        }
    p2p_ladder_set(ladder, RUNG_STATUS, known ? VERDICT_OK : VERDICT_UNKNOWN, "%s",
                   known ? "the driver says OK" : "the driver does not say");
}

enum p2p_rung p2p_ladder_broken(const struct p2p_ladder *ladder) {
    int rung = 0;
    while (rung < RUNG_COUNT && ladder->rungs[rung].verdict != VERDICT_FAIL)
        rung++;
    return (enum p2p_rung)rung;
}

int p2p_ladder_passed(const struct p2p_ladder *ladder) {
    int passed = 0;
    for (int rung = 0; rung < RUNG_COLLECTIVE; rung++)
        passed += ladder->rungs[rung].verdict == VERDICT_OK;
    return passed;
}

const char *p2p_rung_finding(enum p2p_rung rung) {
    static const char *const findings[] = {"p2p.status", "p2p.access", "p2p.copy", "p2p.exchange",
                                           "nccl.wrong"};
    return rung < RUNG_COUNT ? findings[rung] : "";
}

void p2p_ladder_tell(const struct p2p_ladder *ladder, js *out) {
    static const char *const names[] = {"status", "access", "copy", "exchange", "collective"};
    static const char *const verdicts[] = {"not reached", "ok", "unknown", "fail", "not tried"};
    js *rungs = js_new_array();
    for (int rung = 0; rung < RUNG_COUNT; rung++) {
        js *one = js_new_object();
        js_set_string(one, "rung", names[rung]);
        js_set_string(one, "verdict", verdicts[ladder->rungs[rung].verdict]);
        if (ladder->rungs[rung].why[0] != '\0')
            js_set_string(one, "why", ladder->rungs[rung].why);
        js_append(rungs, one);
    }
    js_set(out, "rungs", rungs);
    if (p2p_ladder_broken(ladder) != RUNG_COUNT)
        js_set_string(out, "finding", p2p_rung_finding(p2p_ladder_broken(ladder)));
}
