/* SPDX-License-Identifier: Apache-2.0 */
/* p2p.write: large copies from one GPU to another, issued by the source's GPU, for every ordered pair; sizes,
 * kernel copies, and the staged control (peer access off) for one pair of each kind. */
#include "bench/p2p_copies.h"

static void instances(const struct node *node, struct instance_list *out) {
    p2p_copies_instances(node, false, out);
}

const struct bench_case case_p2p_write = {
    .name = "p2p.write",
    .version = 1,
    .summary = "bandwidth of copies from one GPU to another, pushed by the source's GPU",
    .block = BLOCK_P2P,
    .loads_link = true,
    .needs = {.gpus = 2, .peer = true},
    .metrics = p2p_bandwidth,
    .series = p2p_bandwidth_series,
    .instances = instances,
    .prepare = p2p_prepare,
    .sample = p2p_sample,
    .verify = p2p_verify,
    .finish = p2p_finish,
};
