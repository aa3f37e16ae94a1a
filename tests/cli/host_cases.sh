#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The host cases as they run: what a record tells besides its figures, bounds held and let go, damage that shows.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
run() { expect "$1" "$GPUVET" run --allow-busy --no-baseline --rounds 1 "${@:2}"; }

bound() { python3 -c 'import struct; print(struct.unpack("i", open("/dev/cpu_dma_latency", "rb").read(4))[0])'; }

# Memory that lost a bit, a way that lost a line.
run 1 --case 'host.memory@1/bandwidth{*corrupt=word*'
has out "1 wrong words in the host buffer, the first at offset"
run 1 --case 'host.memory@1/latency{*corrupt=link*'
has out "loads at line"

before=$(bound 2>/dev/null)
run 0 --case 'host.wake@2/wake{core=local*idle_us=50,*' --case 'host.wake@2/wake{core=local*control=poll,idle_us=1000,*' \
    --case host.handoff --case 'host.memory@1/latency*'
[ "$(bound 2>/dev/null)" = "$before" ] || fail "the PM-QoS bound was $before and is now $(bound)"
# The largest of a tail's samples stands beside it, with their number.
grep -qE 'host.wake +wake.p99 .*idle 0.05 ms, timer .* largest of 1000: [0-9.]+' out || fail "no largest of a tail's samples"
python3 - "$(last_run)" "$(nproc)" <<'P' || fail "a record of a host case is not what it should be"
import json, sys
records = [r for r in map(json.loads, open(sys.argv[1])) if r["type"] == "record"]
cpus = int(sys.argv[2])
seen = set()
for r in records:
    p = r["params"]
    assert r["outcome"] in ("ok", "skip"), r
    if r["outcome"] == "skip":
        assert r["reason"], r
        continue
    d = r.get("detail", {})
    assert all(s > 0 for s in r["samples"])
    seen.add(r["case"])
    if r["case"] == "host.wake":
        assert r["pin"]["cpu"] == r["pin"]["cpu_read_back"]
        assert d["clock_cost_ns"] > 0
        states = d["idle_states"]
        assert states == "not visible" or all("usage" in s for s in states.values()), states
        assert abs(d["max_us"] - max(r["samples"])) < 1e-3 and d["max_of"] == len(r["samples"]), d
        if p["idle_us"] == 50:
            assert len(r["samples"]) >= 1000
        if p["source"] == "remote":
            assert r["attributes"]["waker_cpu"] != r["pin"]["cpu"]
        if p["control"] == "poll":
            assert d["pm_qos_us"] == 0, d
            seen.add("poll")
            if states != "not visible":  # nothing but polling was entered, or the bound did not hold
                assert sum(s["usage"] for n, s in states.items() if n != "POLL") <= len(r["samples"]) // 10, states
    if r["case"] == "host.memory":
        assert d["host_node"] in (-1, r["attributes"]["os_node"]), r
        assert d["huge_pages"] is None or 0 <= d["huge_pages"] <= 1
assert {"host.wake", "host.memory"} <= seen or any(r["outcome"] == "skip" for r in records)
assert cpus < 2 or "host.handoff" in seen
P
exit 0
