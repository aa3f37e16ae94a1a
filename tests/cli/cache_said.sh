#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every figure that memory has a part in says whether a cache served it: in its parameters, or as an attribute, which is
# no part of the key.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
for machine in switches-4gpu nps4-2gpu; do
    rm -rf results/runs
    expect 0 "$GPUVET" run --simulate --no-baseline --profile thorough --rounds 1 --from "$CAPTURES/$machine"
    python3 - "$(last_run)" "$machine" <<'P' || fail "$machine: a record does not say cold or hot"
import collections, json, sys
# What is timed is a core, a launch, a log, or a count of rungs.
none = ("host.wake", "host.frequency", "host.ramp", "launch.", "nccl.paths", "p2p.ladder")
seen = collections.defaultdict(set)
for r in map(json.loads, open(sys.argv[1])):
    if r["type"] != "record" or r["outcome"] == "skip":
        continue
    words = [part["cache"] for part in (r["params"], r["attributes"]) if "cache" in part]
    name = f'{r["case"]} {r["metric"]}'
    if r["case"].startswith(none):
        assert not words, r
        continue
    if name == "host.memory bandwidth" and sys.argv[2] == "nps4-2gpu":  # its hwloc saw no caches
        assert words == ["unknown"], r
        continue
    assert len(words) == 1 and words[0] in ("hot", "partly", "cold"), r
    seen[name].add(words[0])
    size = r["params"].get("bytes", 0)
    if r["case"].startswith("nccl."):
        assert words[0] == "hot" if size <= 32 << 10 else size < 64 << 20 or words[0] != "hot", r
        assert words[0] == "cold" or size < 256 << 20, r
for name, word in (("host.memory bandwidth", "cold"), ("host.memory latency", "cold"), ("host.handoff handoff", "hot"),
                   ("p2p.latency chase", "hot"), ("copy.h2d bandwidth", "cold"), ("copy.latency call", "hot")):
    assert seen[name] in ({word}, set()) if sys.argv[2] == "nps4-2gpu" else seen[name] == {word}, (name, seen[name])
assert "decode.step call" in seen and "nccl.all_reduce time" in seen, seen.keys()
P
done
exit 0
