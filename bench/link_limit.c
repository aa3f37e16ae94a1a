/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/link_limit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PACKET_OVERHEAD = 24, MAX_PATH = 16 };

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

/* A link idles at a low generation (the port above a sleeping GPU too), so what it can do counts; lanes that did
 * not train stay away. */
static double device_raw(const struct node *node, const char *bdf) {
    double generation = node_number(node, "pci.%s.link_gen_max", bdf);
    double width = node_number(node, "pci.%s.link_width_max", bdf);
    double trained = node_number(node, "pci.%s.link_width", bdf);
    return link_raw((int)generation, (int)(trained > 0 && trained < width ? trained : width));
}

void link_set_limits(const struct node *node, const char *bdf, struct instance *instance) {
    char at[32];
    char key[64];
    double raw = device_raw(node, bdf);
    double mps = node_number(node, "pci.%s.mps", bdf);
    bool whole = false; /* a bridge was seen above the GPU */
    snprintf(at, sizeof at, "%s", bdf);
    for (int i = 0; i < MAX_PATH; i++) {
        snprintf(key, sizeof key, "pci.%s.parent", at);
        const char *parent = node_text(node, key);
        if (parent == NULL || strlen(parent) >= sizeof at)
            break;
        snprintf(at, sizeof at, "%s", parent);
        double link = device_raw(node, at);
        if (isfinite(link) && !(link > raw))
            raw = link;
        double its = node_number(node, "pci.%s.mps", at);
        mps = its < 0 || mps < 0 ? -1 : its < mps ? its : mps;
        whole = true;
    }
    if (!whole || !isfinite(raw))
        return;
    instance->limit_raw = raw;
    instance->limit = mps > 0 ? link_after_headers(raw, (int)mps) : raw;
}
