#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load_check.py copying|competing COMPARISON.json: did the load move the series that it must, and no other? COMPARISON is
`gpuvet compare --json` of quiet runs and one under the load. Prints what moved and what host.wake says; exits 1 when a
series that must move did not, or one that may not did. Used by injected_load.sh."""
import json
import re
import sys

# Patterns over "case metric" and parameters. must: one at least of each is judged and regressed. may: what has part in
# the resource. Whatever is judged and is neither must stay.
LOADS = {
    "copying": {
        "what": "another process copies to the GPU all the time",
        "must": [r"copy\.h2d@.*bandwidth"],  # the link is shared
        "may": [r"copy\.", r"memory\.copy@", r"launch\."],  # the copy engines, the memory, the time on the GPU
        "better": [],
    },
    "competing": {
        "what": "a thread takes the pinned core away, 7 of every 10 ms",
        "must": [r"host\.wake@.*/wake\.p99\{core=local.*idle_us=1000,source=timer"],  # waits until the other's slice ends
        "may": [r"host\.wake@", r"launch\.", r"copy\.latency@.*/call"],  # what waits on that core, or issues from it
        # A core that never idles wakes faster at the median and keeps its clock up.
        "better": [r"host\.wake@.*/wake\.p50", r"host\.frequency@", r"/call"],
    },
}


def is_any(patterns, key):
    return any(re.match(p, key) or (p.startswith("/") and p in key) for p in patterns)


def line(s):
    if s["before"] is None or s["after"] is None:
        return f"  {s['label']}: {s['verdict']}, {s['reason']}"
    return f"  {s['label']:74} {s['before']:9.4g} -> {s['after']:9.4g} {s['unit']:5} x {s['ratio']:.3f}  {s['verdict']}"


def main():
    load = LOADS[sys.argv[1]]
    with open(sys.argv[2], encoding="utf-8") as f:
        series = json.load(f)["series"]
    judged = [s for s in series if s["class"] == "primary"]
    moved = [s for s in judged if s["verdict"] in ("regressed", "improved")]
    failures = []
    print("moved:" if moved else "nothing moved")
    for s in moved:
        print(line(s))
        if s["verdict"] == "regressed" and not is_any(load["must"] + load["may"], s["key"]):
            failures.append(f"{load['what']}: {s['label']} regressed")
        if s["verdict"] == "improved" and not is_any(load["better"], s["key"]):
            failures.append(f"{load['what']}: {s['label']} improved")
    for pattern in load["must"]:
        if not any(s["verdict"] == "regressed" and re.match(pattern, s["key"]) for s in moved):
            failures.append(f"{load['what']}: nothing of {pattern} regressed")
    print("host.wake, by the timer and by another core:")
    for s in sorted((s for s in series if s["key"].startswith("host.wake@")), key=lambda s: s["label"]):
        print(line(s))
    if sys.argv[1] == "competing":
        print("  (a p50 that falls is no gain: a core that somebody else keeps busy enters no idle state)")
    for f in failures:
        print("FAIL:", f)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
