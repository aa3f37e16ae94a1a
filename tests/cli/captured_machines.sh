#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plans for machines that are captured only: places, roles, pins, limits and skips, each against what the machine is.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

plan() { # CAPTURE: everything that could run there, as JSON in ./out
    expect 0 "$GPUVET" list --profile thorough --from "$CAPTURES/$1" --json
}

cat >check.py <<'P'
import json, re, sys

plan = json.load(open("out"))
case = re.compile(r"^(?P<case>[^@]+)@\d+/(?P<metric>[^{]+)\{(?P<where>[^;]*);(?P<params>[^}]*)\}@host$")


def pairs(text):
    return dict(p.split("=", 1) for p in text.split(",") if p)


class Item:
    def __init__(self, raw):
        m = case.match(raw["key"])
        assert m, raw["key"]
        self.raw, self.case = raw, m["case"]
        self.where, self.params = pairs(m["where"]), pairs(m["params"])
        self.key, self.cpu, self.skip = raw["key"], raw["cpu"], raw.get("skip")
        self.limit, self.limit_raw = raw["limit"], raw["limit_raw"]
        self.gpu = int(self.where["gpu"][-1]) if "gpu" in self.where else None


items = [Item(i) for i in plan["items"]]
copies = [i for i in items if i.case in ("copy.h2d", "copy.d2h")]
assert copies, "no copy was planned"


def near(value, expected, what):
    assert value is not None and abs(value - expected) < 0.006, f"{what}: {value} instead of {expected}"


def limits(gpu, raw, limit):
    """Of copies within local memory, in GB/s by hand: GT/s x lanes x 128/130 / 8, times MPS / (MPS + 24)."""
    mine = [i for i in copies if i.gpu == gpu]
    assert {i.case for i in mine} == {"copy.h2d", "copy.d2h"}, gpu
    for i in mine:
        near(i.limit_raw, raw, i.key)
        near(i.limit, limit, i.key)


def order(gpu, *nodes):
    """Role local is the first of these nodes, remote1 the next."""
    for i in items:
        role = i.where.get("role", "")
        if i.gpu == gpu and (role == "local" or re.fullmatch(r"remote\d+", role)) and "os_node" in i.raw["attributes"]:
            want = nodes[0 if role == "local" else int(role[6:])]
            assert i.raw["attributes"]["os_node"] == want, f"{i.key}: node {i.raw['attributes']['os_node']}, not {want}"


def pinned(gpu, cpus):
    """What runs for one GPU alone and is not meant for another node's cores runs on its own node's."""
    seen = 0
    for i in items:
        if i.gpu == gpu and i.skip is None and i.where.get("core", "local") == "local" and "cpu_node" not in i.where:
            assert i.cpu in cpus, f"{i.key}: on CPU {i.cpu}"
            seen += 1
    assert seen >= 5, seen
P
check() {
    cat check.py - >checked.py
    python3 checked.py 2>trace || { tail -1 trace >&2; fail "the plan is not what the machine is"; }
}

# Two sockets, a GPU on a root port of its own each: 63.0 and 57.6.
plan two-socket-8gpu
check <<'P'
for gpu in range(8):
    limits(gpu, 63.015, 57.614)
    order(gpu, gpu // 4, 1 - gpu // 4)
    pinned(gpu, range(64 * (gpu // 4), 64 * (gpu // 4) + 64))
assert not [i for i in items if i.skip and "cpuset" in i.skip]
# The card's own clock and bus: 12481 MHz x 2 x 512 bit / 8.
for i in items:
    if i.case == "memory.copy":
        near(i.limit_raw, 1597.568, i.key)
        assert i.limit == i.limit_raw
P

# What is faster than packets allow is flagged; what is faster than the link fails.
figures() { # FACTOR: a made-up run whose copy.h2d is that much faster; prints outcome, flags and figure of GPU 0's
    "$GPUVET" run --simulate --from "$CAPTURES/two-socket-8gpu" --gpu 0 --case copy.h2d --profile quick --rounds 1 \
        --seed 1 --effect "copy.h2d=$1" >out 2>err
    echo $? >status
    python3 - "$(last_run)" <<'P'
import json, sys
r = [r for r in map(json.loads, open(sys.argv[1])) if r["type"] == "record"][0]
print(r["outcome"], ",".join(r["flags"]), r.get("reason", "-").split(":")[0], r["samples"][0])
P
}
read -r outcome flags reason figure < <(figures 1)
[ "$outcome $flags $reason $(<status)" = "ok simulated - 0" ] || fail "an ordinary figure is not ok: $outcome $flags"
read -r outcome flags reason _ < <(figures "$(python3 -c "print(60 / $figure)")")
[ "$outcome $flags $reason $(<status)" = "ok simulated,above-header-limit - 0" ] || fail "60 GB/s: $outcome $flags"
read -r outcome _ reason _ < <(figures "$(python3 -c "print(65 / $figure)")")
[ "$outcome $reason $(<status)" = "fail impossible 1" ] || fail "65 GB/s: $outcome $reason"

# Four nodes a socket: node 2 has its three neighbours before the far socket's four, node 5 likewise.
plan nps4-2gpu
check <<'P'
limits(0, 63.015, 57.614)
limits(1, 63.015, 57.614)
order(0, 2, 0, 1, 3, 4, 5, 6, 7)
order(1, 5, 4, 6, 7, 0, 1, 2, 3)
pinned(0, range(8, 12))
pinned(1, range(20, 24))
assert {i.where["cpu_node"] for i in items if i.case == "host.wake" and i.where["core"] == "local"} == {"2", "5"}
assert not [i for i in items if i.skip and "cpuset" in i.skip]
# The first GPU's interrupts go to CPU 3, which is on another node.
irq = [i for i in items if i.where.get("core") == "irq" and i.where["cpu_node"] == "2"]
assert irq and all(i.cpu == 3 for i in irq), [(i.key, i.cpu, i.skip) for i in irq]
P

# A container without the second GPU's node: what needs its cores or its memory says so, the rest runs.
plan cpuset-2gpu
check <<'P'
pinned(0, range(0, 4))
for i in items:
    assert i.cpu is None or i.cpu in range(0, 4), f"{i.key}: on CPU {i.cpu}, outside the cpuset"
    if i.gpu == 1 and i.case in ("copy.h2d", "copy.d2h", "copy.latency", "launch.latency"):
        if i.where.get("role", "local") == "local":
            assert i.skip and "NUMA node 1" in i.skip and "cpuset" in i.skip, f"{i.key}: {i.skip}"
    if i.gpu == 0 and i.where.get("role", "local") == "local":
        assert i.skip is None, f"{i.key}: {i.skip}"
    if i.gpu == 0 and i.where.get("role", "local") != "local" and i.case in ("copy.h2d", "copy.d2h"):
        assert i.skip and "NUMA node 1" in i.skip, f"{i.key}: {i.skip}"
for i in items:
    if i.where.get("mem_node") == "1" or (i.where.get("cpu_node") == "1" and i.where.get("core", "local") == "local"):
        assert i.skip and ("cpuset" in i.skip or "allowed" in i.skip), f"{i.key}: {i.skip}"
assert [i for i in items if i.case == "host.memory" and i.where["mem_node"] == "1" and "cpuset.mems" in i.skip]
assert [i for i in items if i.case == "memory.copy" and i.gpu == 1 and i.skip is None], "device memory needs no node"
P
expect 0 "$GPUVET" run --simulate --from "$CAPTURES/cpuset-2gpu" --profile quick --rounds 1
python3 - "$(last_run)" <<'P' || fail "skips are not recorded as such"
import json, sys
records = [r for r in map(json.loads, open(sys.argv[1])) if r["type"] == "record"]
far = [r for r in records if r["case"] == "copy.h2d" and r["where"]["gpu"].endswith("1")]
assert far and all(r["outcome"] == "skip" and "cpuset" in r["reason"] and "samples" not in r for r in far), far
assert [r for r in records if r["case"] == "copy.h2d" and r["outcome"] == "ok"]
P
# Nothing but skips is no success.
expect 77 "$GPUVET" run --simulate --from "$CAPTURES/cpuset-2gpu" --gpu 1 --case 'copy.h2d*' --rounds 1

# Links as they are trained, idle ones as they can be: Gen4 x16 above two GPUs, Gen4 x8 and 128 bytes above the third,
# Gen3 x16 to the fourth.
plan switches-4gpu
check <<'P'
limits(0, 31.508, 28.807)
limits(1, 31.508, 28.807)
limits(2, 15.754, 13.266)
limits(3, 15.754, 14.404)
P

# A guest sees the GPU's own link, and no way to it.
plan guest-2gpu
check <<'P'
limits(0, 63.015, 63.015)
P
expect 0 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --profile quick --rounds 1
python3 - "$(last_run)" <<'P' || fail "host figures of a guest are not flagged, or others are"
import json, sys
for r in map(json.loads, open(sys.argv[1])):
    if r["type"] == "record" and r["outcome"] == "ok":
        calls = r["metric"] == "call" and r["case"].startswith(("copy.latency", "nccl.", "decode."))
        by_host = calls or r["case"].startswith(("host.", "launch."))
        assert ("guest" in r["flags"]) == by_host, (r["case"], r["flags"])
P
exit 0
