/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/link_limit.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PACKET_OVERHEAD = 24, MAX_PATH = 17, MAX_MPS = 4096, MAX_GPUS = 64 };

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

/* ---- one path ---- */

/* From a GPU (at 0) up to its root port. */
struct path {
    char bdf[MAX_PATH][16];
    double raw[MAX_PATH]; /* of the link that each device tells of; NAN unknown */
    int mps[MAX_PATH];    /* -1 unknown */
    int count;
};

/* A number of the environment within what can be; -1 else (a capture may hold anything). */
static int within(double value, int most) {
    return value >= 1 && value <= most ? (int)value : -1;
}

static int generation_within(double value) {
    return within(value, 7);
}

static int width_within(double value) {
    return within(value, 32);
}

/* The smaller one of what is known. */
static int smaller(int a, int b) {
    return a < 0 || (b > 0 && b < a) ? b : a;
}

static double narrower(double a, double b) {
    return !isfinite(a) || b < a ? b : a;
}

static bool is_guest(const struct node *node) {
    const char *hypervisor = node_text(node, "hypervisor");
    return hypervisor != NULL && strcmp(hypervisor, "none") != 0;
}

/* The generation that a GPU's own link is trained to, -1 where it may be asleep: one in P0 keeps its link up.
 * Idle links are at Gen1 or Gen2, so what is as low is never taken for trained: a limit that is too high
 * hides something, one that is too low calls a sound figure impossible. */
static int awake_generation(const struct node *node, const struct gpu_info *gpu) {
    int generation = generation_within(node_number(node, "gpu.%s.pcie_gen", gpu->uuid));
    bool awake = node_number(node, "gpu.%s.pstate", gpu->uuid) == 0; /* -1: unknown */
    return awake && generation >= 3 ? generation : -1;
}

/* The link that the device at `i` tells of. */
static double device_raw(const struct node *node, const struct gpu_info *gpu, const struct path *path,
                         int i) {
    const char *bdf = path->bdf[i];
    int generation = generation_within(node_number(node, "pci.%s.link_gen_max", bdf));
    int width = width_within(node_number(node, "pci.%s.link_width_max", bdf));
    int trained = width_within(node_number(node, "pci.%s.link_width", bdf));
    if (width > 0)
        width = smaller(width, trained);
    /* In a guest NVML sees the slot that the hypervisor made up, so there the device goes before it. */
    if (i == 0 && (!is_guest(node) || generation < 0))
        generation = smaller(generation, generation_within(gpu->pcie_gen_max));
    if (i == 0 && (!is_guest(node) || width < 0))
        width = smaller(width, width_within(gpu->pcie_width_max));
    if (generation > 0)
        generation =
            smaller(generation, i < 2 ? awake_generation(node, gpu)
                                      : generation_within(node_number(node, "pci.%s.link_gen", bdf)));
    return link_raw(generation, width);
}

static bool has_seen(const struct path *path, const char *bdf) {
    for (int i = 0; i < path->count; i++)
        if (strcmp(path->bdf[i], bdf) == 0)
            return true;
    return false;
}

static struct path follow(const struct node *node, const struct gpu_info *gpu) {
    struct path path = {0};
    const char *at = gpu->bdf;
    /* A captured parent may be of any length, or lead back. */
    while (at != NULL && path.count < MAX_PATH && strlen(at) < sizeof path.bdf[0] && !has_seen(&path, at)) {
        char key[64];
        int i = path.count++;
        snprintf(path.bdf[i], sizeof path.bdf[i], "%s", at);
        path.raw[i] = device_raw(node, gpu, &path, i);
        path.mps[i] = within(node_number(node, "pci.%s.mps", at), MAX_MPS);
        snprintf(key, sizeof key, "pci.%s.parent", at);
        at = is_guest(node) ? NULL : node_text(node, key);
    }
    return path;
}

static struct link_limits limits_of(double raw, int mps) {
    return (struct link_limits){.raw = raw, .limit = mps > 0 ? link_after_headers(raw, mps) : raw};
}

static double narrowest(const struct path *path, int count) {
    double raw = NAN;
    for (int i = 0; i < count; i++)
        raw = narrower(raw, path->raw[i]);
    return raw;
}

/* -1 where one is unknown, or no bridge is to be seen at all. */
static int smallest_mps(const struct path *path, int count) {
    int mps = path->count < 2 ? -1 : MAX_MPS;
    for (int i = 0; i < count; i++)
        mps = path->mps[i] < mps ? path->mps[i] : mps; /* -1 wins */
    return mps;
}

static struct link_limits whole(const struct path *path) {
    return limits_of(narrowest(path, path->count), smallest_mps(path, path->count));
}

struct link_limits link_path_limits(const struct node *node, const struct gpu_info *gpu) {
    struct path path = follow(node, gpu);
    return whole(&path);
}

/* ---- several GPUs ---- */

/* What of each GPU's flow comes through, in a tree whose links narrow what is below them. */
struct flow {
    const struct path *path;
    double raw, limit; /* so far */
    double efficiency; /* limit ÷ raw of its packets */
};

/* The place of a bridge in a path; -1: not in it. */
static int place_in(const struct path *path, const char *bdf) {
    for (int i = 0; i < path->count; i++)
        if (strcmp(path->bdf[i], bdf) == 0)
            return i;
    return -1;
}

/* Lets all flows that cross one bridge share its link. */
static void narrow(struct flow *flows, size_t n, const char *bdf, double link) {
    double raw = 0;
    double limit = 0;
    double best = 0;
    for (size_t i = 0; i < n; i++)
        if (place_in(flows[i].path, bdf) >= 0) {
            raw += flows[i].raw;
            limit += flows[i].limit;
            best = fmax(best, flows[i].efficiency);
        }
    double raw_share = link < raw ? link / raw : 1;
    double limit_share = link * best < limit ? link * best / limit : 1;
    for (size_t i = 0; i < n; i++)
        if (place_in(flows[i].path, bdf) >= 0) {
            flows[i].raw *= raw_share;
            flows[i].limit *= limit_share;
        }
}

/* Bridges are met once each, always before those above them: whoever is as far from the top comes in the same
 * turn, and a bridge that was met already narrows nothing more. */
static struct link_limits sum_of(struct flow *flows, size_t n) {
    for (int below = MAX_PATH; below >= 1; below--) /* devices from here to the top, this one counted */
        for (size_t i = 0; i < n; i++) {
            int at = flows[i].path->count - below;
            if (at >= 1 && isfinite(flows[i].path->raw[at]))
                narrow(flows, n, flows[i].path->bdf[at], flows[i].path->raw[at]);
        }
    struct link_limits sum = {0, 0};
    for (size_t i = 0; i < n; i++) {
        sum.raw += flows[i].raw; /* NAN wins */
        sum.limit += flows[i].limit;
    }
    return sum;
}

struct link_limits link_shared_limits(const struct node *node, const struct gpu_info *const *gpus, size_t n) {
    if (n == 0 || n > MAX_GPUS)
        return (struct link_limits){NAN, NAN};
    struct path *paths = mem_zeroed(n, sizeof *paths);
    struct flow flows[MAX_GPUS];
    for (size_t i = 0; i < n; i++) {
        paths[i] = follow(node, gpus[i]);
        struct link_limits own = whole(&paths[i]);
        flows[i] = (struct flow){&paths[i], own.raw, own.limit, own.limit / own.raw};
    }
    struct link_limits sum = sum_of(flows, n);
    free(paths);
    return sum;
}

/* ---- two GPUs ---- */

/* GB/s of data per direction of one NVLink of this GPU; NAN where its generation is not known. Sources:
 * docs/method.md. */
static double nvlink_raw(const struct gpu_info *gpu) {
    static const struct {
        int major, minor;
        double rate;
    } rates[] = {
        {6, 0, 20}, {7, 0, 25}, {8, 0, 25}, {8, 6, 14.0625}, {9, 0, 25}, {10, 0, 50}, {10, 3, 50},
    };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (rates[i].major == gpu->cc_major && rates[i].minor == gpu->cc_minor)
            return rates[i].rate;
    return NAN;
}

struct link_limits link_peer_limits(const struct node *node, const struct gpu_info *from,
                                    const struct gpu_info *to, int nvlinks) {
    if (nvlinks < 0)
        return (struct link_limits){NAN, NAN};
    if (nvlinks > 0) {
        double raw = nvlinks * narrower(nvlink_raw(from), nvlink_raw(to));
        return (struct link_limits){raw, raw};
    }
    struct path a = follow(node, from);
    struct path b = follow(node, to);
    int up = 0;
    while (up < a.count && place_in(&b, a.bdf[up]) < 0)
        up++;
    /* The bridge that both share turns round inside itself: its own link is not crossed. */
    int down = up < a.count ? place_in(&b, a.bdf[up]) : b.count;
    double raw = narrower(narrowest(&a, up), narrowest(&b, down));
    int mps = smallest_mps(&a, up);
    int its = smallest_mps(&b, down);
    return limits_of(raw, its < mps ? its : mps);
}

/* ---- instances ---- */

void link_set(struct instance *instance, struct link_limits limits, double times) {
    instance->limit_raw = limits.raw * times;
    instance->limit = limits.limit * times;
}

void link_set_limits(const struct node *node, const struct gpu_info *gpu, struct instance *instance) {
    link_set(instance, link_path_limits(node, gpu), 1);
}
