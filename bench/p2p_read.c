/* SPDX-License-Identifier: Apache-2.0 */
/* p2p.read: as p2p.write, but pulled by a stream of the destination's GPU; judged for one pair of each kind.
 */
#include "bench/p2p_copies.h"

static void instances(const struct node *node, struct instance_list *out) {
    p2p_copies_instances(node, true, out);
}

const struct bench_case case_p2p_read = {
    .name = "p2p.read",
    .version = 1,
    .summary = "bandwidth of copies from one GPU to another, pulled by the destination's GPU",
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
