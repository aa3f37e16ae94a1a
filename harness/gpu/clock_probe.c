/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/clock_probe.h"
#include "base/mem.h"
#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

/* %globaltimer moves in steps of up to about 1 us: below this the step would be over 1 % of the result. */
static const uint64_t shortest_ns = 100000;

struct gpu_clock_probe {
    struct clock_reading *readings; /* two sets of CLOCK_PROBE_MAX_SM, pinned, written by the device */
};

bool gpu_clock_probe_make(struct gpu_clock_probe **out, struct error *err) {
    *out = NULL;
    void *readings = NULL;
    if (!gpu_host_alloc(2 * CLOCK_PROBE_MAX_SM * sizeof(struct clock_reading), &readings, err))
        return RELAY(err);
    memset(readings, 0, 2 * CLOCK_PROBE_MAX_SM * sizeof(struct clock_reading));
    *out = mem_zeroed(1, sizeof **out);
    (*out)->readings = readings;
    return true;
}

void gpu_clock_probe_free(struct gpu_clock_probe *probe) {
    if (probe == NULL)
        return;
    gpu_host_free(probe->readings);
    free(probe);
}

bool gpu_clock_probe_read(struct gpu_clock_probe *probe, gpu_stream stream, int which, struct error *err) {
    struct clock_reading *set = probe->readings + (which != 0 ? CLOCK_PROBE_MAX_SM : 0);
    memset(set, 0, CLOCK_PROBE_MAX_SM * sizeof *set);
    return gpu_check(clock_probe_launch(set, stream), "cannot read the GPU's clocks", err) || RELAY(err);
}

static int ascending(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double gpu_clock_probe_mhz(const struct gpu_clock_probe *probe) {
    double mhz[CLOCK_PROBE_MAX_SM];
    size_t count = 0;
    for (int i = 0; i < CLOCK_PROBE_MAX_SM; i++) {
        const struct clock_reading *first = &probe->readings[i], *last = first + CLOCK_PROBE_MAX_SM;
        if (first->ns == 0 || last->ns < first->ns + shortest_ns || last->cycles <= first->cycles)
            continue;
        mhz[count++] = (double)(last->cycles - first->cycles) * 1e3 / (double)(last->ns - first->ns);
    }
    if (count == 0)
        return -1;
    qsort(mhz, count, sizeof *mhz, ascending);
    return mhz[count / 2];
}
