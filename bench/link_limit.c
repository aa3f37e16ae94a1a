/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/link_limit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PACKET_OVERHEAD = 24, MAX_PATH = 16, MAX_MPS = 4096 };

double link_raw(int generation, int width) {
    static const double transfers[] = {0, 2.5, 5, 8, 16, 32, 64, 128}; /* GT/s */
    bool exists = generation >= 1 && generation <= 7 && width >= 1 && width <= 32;
    if (!exists)
        return NAN;
    double encoding = generation <= 2 ? 8.0 / 10 : generation <= 5 ? 128.0 / 130 : 242.0 / 256;
    return transfers[generation] * width * encoding / 8;
}

double link_after_headers(double raw, int mps) {
    return mps <= 0 ? NAN : raw * mps / (mps + PACKET_OVERHEAD);
}

/* A number of the environment within what can be; -1 else (a capture may hold anything). */
static int within(double value, int most) {
    return value >= 1 && value <= most ? (int)value : -1;
}

/* A link idles at a low generation (the port above a sleeping GPU too), so what it can do counts; lanes that
 * did not train stay away. */
static double device_raw(const struct node *node, const char *bdf) {
    int generation = within(node_number(node, "pci.%s.link_gen_max", bdf), 7);
    int width = within(node_number(node, "pci.%s.link_width_max", bdf), 32);
    int trained = within(node_number(node, "pci.%s.link_width", bdf), 32);
    return link_raw(generation, trained > 0 && trained < width ? trained : width);
}

static int device_mps(const struct node *node, const char *bdf) {
    return within(node_number(node, "pci.%s.mps", bdf), MAX_MPS);
}

static double narrower(double a, double b) {
    return !isfinite(b) || b > a ? a : b; /* `b` where `a` is unknown */
}

static bool is_guest(const struct node *node) {
    const char *hypervisor = node_text(node, "hypervisor");
    return hypervisor != NULL && strcmp(hypervisor, "none") != 0;
}

/* Follows the bridges from the GPU up: narrows `raw`, and gives the smallest MPS; -1 where one is unknown or
 * no bridge is to be seen. */
static int follow_path(const struct node *node, const char *bdf, double *raw) {
    char at[32];
    char key[64];
    int mps = device_mps(node, bdf);
    int bridges = 0;
    for (snprintf(at, sizeof at, "%s", bdf); bridges < MAX_PATH; bridges++) {
        snprintf(key, sizeof key, "pci.%s.parent", at);
        const char *parent = node_text(node, key);
        if (parent == NULL || strlen(parent) >= sizeof at)
            break;
        snprintf(at, sizeof at, "%s", parent);
        *raw = narrower(*raw, device_raw(node, at));
        int its = device_mps(node, at);
        mps = its < mps ? its : mps; /* -1 wins */
    }
    return bridges > 0 ? mps : -1;
}

void link_set_limits(const struct node *node, const struct gpu_info *gpu, struct instance *instance) {
    double raw = device_raw(node, gpu->bdf);
    if (!isfinite(raw))
        raw = link_raw(gpu->pcie_gen_max, gpu->pcie_width_max);
    int mps = is_guest(node) ? -1 : follow_path(node, gpu->bdf, &raw);
    instance->limit_raw = raw;
    instance->limit = mps > 0 ? link_after_headers(raw, mps) : raw;
}
