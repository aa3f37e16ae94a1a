/* SPDX-License-Identifier: Apache-2.0 */
#include "run/steady.h"

#include <math.h>
#include <stddef.h>

static const double clock_tolerance = 0.01;

static bool links_agree(const js *before, const js *now) {
    for (struct js_member m = js_first(now); m.key != NULL; m = js_next(now, m))
        if (js_get(before, m.key) != NULL && !js_equal(js_get(before, m.key), m.value))
            return false;
    return true;
}

bool steady_agrees(struct steady *steady, double seconds, double mhz, const js *links) {
    bool both_clocks = steady->mhz > 0 && mhz > 0;
    bool agrees = steady->batches > 0 &&
                  fabs(seconds - steady->seconds) <= steady->tolerance * steady->seconds &&
                  (!both_clocks || fabs(mhz - steady->mhz) <= clock_tolerance * steady->mhz) &&
                  links_agree(steady->links, links);
    js_free(steady->links);
    steady->links = links != NULL ? js_copy(links) : NULL;
    steady->seconds = seconds;
    steady->mhz = mhz;
    steady->batches++;
    return agrees;
}

void steady_free(struct steady *steady) {
    js_free(steady->links);
    steady->links = NULL;
}
