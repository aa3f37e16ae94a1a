/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/launch.h"
#include "kernels/load.h"

extern "C" int kernels_load(void) {
    int (*const loaders[])(void) = {empty_load, pattern_load, corrupt_load, gate_load,     clock_probe_load,
                                    delay_load, chase_load,   copy_load,    pingpong_load, collective_load};
    for (int (*loader)(void) : loaders) {
        const int status = loader();
        if (status != 0)
            return status;
    }
    return 0;
}
