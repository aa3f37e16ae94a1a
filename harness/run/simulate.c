/* SPDX-License-Identifier: Apache-2.0 */
/* Values without a machine: what an item "measures" under --simulate. Log-normal noise around a base that
 * depends on the series alone, so that two runs agree but for noise and the effect that was asked for. */
#include "run/measure.h"

#include "run/case.h"

#include <math.h>
#include <string.h>

static uint64_t mix(uint64_t x) { /* splitmix64's finaliser */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

static uint64_t hash_text(const char *s) { /* FNV-1a */
    uint64_t h = 0xcbf29ce484222325ULL;
    for (; *s != '\0'; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
    return h;
}

static double uniform(uint64_t *state) { /* (0, 1) */
    *state += 0x9e3779b97f4a7c15ULL;
    return ((double)(mix(*state) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *state) { /* Box and Muller */
    double u = uniform(state);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * uniform(state));
}

js *simulate_item(const js *item) {
    const js *how = js_get(item, "simulate");
    const char *key = js_get_string(how, "key", "");
    const char *series = js_get_string(how, "series", key); /* the same in every place */
    uint64_t base_state = hash_text(series);
    double limit = js_get_number(how, "limit", NAN);
    double base =
        isfinite(limit) ? limit * (0.85 + 0.1 * uniform(&base_state)) : 2 + 20 * uniform(&base_state);
    base *= js_get_number(how, "effect", 1);

    double sigma = js_get_number(how, "sigma", 0.003);
    uint64_t seed = (uint64_t)js_get_int(how, "seed", 0);
    uint64_t run = mix(seed ^ mix(hash_text(series)));
    uint64_t round = mix(mix(seed ^ mix(hash_text(key))) + (uint64_t)js_get_int(item, "round", 0) + 1);
    double level = base * exp(normal(&run) * js_get_number(how, "between", 0) + normal(&round) * sigma);

    js *values = js_new_array();
    for (int64_t i = 0; i < js_get_int(item, "samples", 1) && i < 100000; i++)
        js_append_number(values, level * exp(normal(&round) * sigma));
    js *result = js_new_object();
    js_set_string(result, "outcome", "ok");
    js_set(result, "samples", values);
    js *flags = js_new_array();
    js_append_string(flags, "simulated");
    js_set(result, "flags", flags);
    return result;
}
