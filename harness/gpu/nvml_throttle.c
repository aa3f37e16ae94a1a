/* SPDX-License-Identifier: Apache-2.0 */
/* How long the driver held the clocks down, by cause, since it was loaded.
 *
 * Unit: nanoseconds. NVIDIA's DCGM hands the same fields on as DCGM_FI_DEV_CLOCKS_EVENT_REASON_…_NS (1420 to
 * 1424, dcgm_fields.h: "Throttling … in ns"), nvml.h says of the same policies' nvmlViolationTime_t
 * "violationTime: in nanoseconds", and nvidia-smi -q, which shows them in us, divides.
 *
 * Numbers: 74 and 75 have always been the same. The three slowdown counters are 251 to 253 in one numbering
 * (nvidia-smi 580.65.06 asks for 74, 76, 251, 252, 253) and 269 to 271 in another (nvml.h of CUDA 13, and
 * nvidia-ml-py 13.615, where 251 to 268 are power smoothing; 256 to 273 are that in the first). An H200 under
 * 580.159.04 answers 269 to 271. So both triples are asked, in one call, and one is believed only when it
 * looks like such counters: all three there, all unsigned long long, the first equal to field 75, which is
 * the same counter under its older name. Where both do, they must agree. */
#include "gpu/nvml_library.h"

#include <string.h>

enum { POWER_CAP, SW_THERMAL, REPLAYS, EARLIER, LATER = EARLIER + 3, FIELDS = LATER + 3 };

static bool is_counter(const struct nvml_field *field) {
    return field->status == NVML_OK && field->value_type == NVML_TYPE_ULL;
}

static js *microseconds(const struct nvml_field *field) {
    static const unsigned long long ns_per_us = 1000;
    return field != NULL && is_counter(field) ? js_new_int((int64_t)(field->value.ull / ns_per_us))
                                              : js_new_null();
}

/* Both are read within one call, but a counter may run on in between. */
static bool are_the_same(const struct nvml_field *a, const struct nvml_field *b) {
    static const unsigned long long a_call_ns = 20000000;
    unsigned long long x = a->value.ull, y = b->value.ull;
    return (x > y ? x - y : y - x) <= a_call_ns;
}

static bool is_triple(const struct nvml_field *three, const struct nvml_field *thermal) {
    return is_counter(&three[0]) && is_counter(&three[1]) && is_counter(&three[2]) &&
           (!is_counter(thermal) || are_the_same(&three[0], thermal));
}

static int64_t small_count(const struct nvml_field *field) {
    if (field->status != NVML_OK)
        return -1;
    return field->value_type == NVML_TYPE_UINT  ? (int64_t)field->value.u
           : field->value_type == NVML_TYPE_UL  ? (int64_t)field->value.ul
           : field->value_type == NVML_TYPE_ULL ? (int64_t)field->value.ull
                                                : -1;
}

js *nvml_throttle_us(const struct nvml *nvml, nvml_device device, int64_t *replays) {
    struct nvml_field fields[FIELDS];
    memset(fields, 0, sizeof fields);
    fields[POWER_CAP].id = NVML_FIELD_SW_POWER_CAP;
    fields[SW_THERMAL].id = NVML_FIELD_SW_THERMAL;
    fields[REPLAYS].id = NVML_FIELD_REPLAYS;
    for (unsigned i = 0; i < 3; i++) {
        fields[EARLIER + i].id = NVML_FIELD_SLOWDOWNS + i;
        fields[LATER + i].id = NVML_FIELD_SLOWDOWNS_LATER + i;
    }
    for (int i = 0; i < FIELDS; i++)
        fields[i].status = NVML_UNKNOWN; /* until the driver says otherwise */
    if (nvml->fields == NULL || nvml->fields(device, FIELDS, fields) != NVML_OK)
        for (int i = 0; i < FIELDS; i++)
            fields[i].status = NVML_UNKNOWN;
    if (replays != NULL)
        *replays = small_count(&fields[REPLAYS]);
    bool earlier = is_triple(&fields[EARLIER], &fields[SW_THERMAL]);
    bool later = is_triple(&fields[LATER], &fields[SW_THERMAL]);
    bool agree = are_the_same(&fields[EARLIER + 1], &fields[LATER + 1]) &&
                 are_the_same(&fields[EARLIER + 2], &fields[LATER + 2]);
    const struct nvml_field *three = later ? &fields[LATER] : earlier ? &fields[EARLIER] : NULL;
    if (earlier && later && !agree)
        three = NULL; /* nothing tells which are the counters */
    const struct nvml_field *thermal = is_counter(&fields[SW_THERMAL]) ? &fields[SW_THERMAL] : three;
    js *out = js_new_object();
    js_set(out, "sw_power_cap", microseconds(&fields[POWER_CAP]));
    js_set(out, "sw_thermal", microseconds(thermal));
    js_set(out, "hw_thermal", microseconds(three == NULL ? NULL : &three[1]));
    js_set(out, "hw_power_brake", microseconds(three == NULL ? NULL : &three[2]));
    return out;
}
