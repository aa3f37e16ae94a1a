/* SPDX-License-Identifier: Apache-2.0 */
/* Values without a machine: what an item "measures" under --simulate. Log-normal noise around a base that
 * depends on the series alone, so that two runs agree but for noise and the effect that was asked for. */
#include "run/measure.h"

#include "base/random.h"
#include "run/case.h"

#include <math.h>

static uint64_t hash_text(const char *s) { /* FNV-1a */
    uint64_t h = 0xcbf29ce484222325ULL;
    for (; *s != '\0'; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
    return h;
}

js *simulate_item(const js *item) {
    const js *how = js_get(item, "simulate");
    const char *key = js_get_string(how, "key", "");
    const char *series = js_get_string(how, "series", key); /* the same in every place */
    uint64_t base_state = hash_text(series);
    double limit = js_get_number(how, "limit", NAN);
    double base = isfinite(limit) ? limit * (0.85 + 0.1 * random_uniform(&base_state))
                                  : 2 + 20 * random_uniform(&base_state);
    base *= js_get_number(how, "effect", 1);

    double sigma = js_get_number(how, "sigma", 0.003);
    uint64_t seed = (uint64_t)js_get_int(how, "seed", 0);
    uint64_t run = random_mix(seed ^ random_mix(hash_text(series)));
    uint64_t round = random_mix(random_mix(seed ^ random_mix(hash_text(key))) +
                                (uint64_t)js_get_int(item, "round", 0) + 1);
    double level =
        base * exp(random_normal(&run) * js_get_number(how, "between", 0) + random_normal(&round) * sigma);

    /* Noise alone makes nothing impossible; an effect that was asked for may. */
    double most = base <= limit ? limit * 0.999 : INFINITY;
    js *values = js_new_array();
    for (int64_t i = 0; i < js_get_int(item, "samples", 1) && i < 100000; i++)
        js_append_number(values, fmin(level * exp(random_normal(&round) * sigma), most));
    js *result = js_new_object();
    js_set_string(result, "outcome", "ok");
    js_set(result, "samples", values);
    js *flags = js_new_array();
    js_append_string(flags, "simulated");
    js_set(result, "flags", flags);
    return result;
}
