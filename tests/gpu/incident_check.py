#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What incident.sh expects of its runs; prints what it saw, status 1 when it is not so.

incident_check.py broken RUN TARGET WORD...   TARGET's GPU items are skips whose reason has every WORD, the host's are ok
incident_check.py cases RUN TARGET BENCH      every case of BENCH/cases.def is ok, or a skip with its reason, on both sides
incident_check.py control SUMMARY             no series of this `run --json` is judged different"""
import collections
import json
import pathlib
import re
import sys


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def broken(path, target, *words):
    lines = read(path)
    records = [r for r in lines if r["type"] == "record"]
    gpu = [r for r in records if r.get("where", {}).get("gpu")]
    host, there = ([r for r in gpu if r["target"] == t] for t in ("host", target))
    others = [r for r in records if r not in gpu and r["target"] == target]
    assert lines[-1]["type"] == "footer" and lines[-1]["outcome"] == "complete", lines[-1]
    assert host and all(r["outcome"] == "ok" for r in host), [(r["case"], r["outcome"], r.get("reason")) for r in host]
    assert others and all(r["outcome"] == "ok" for r in others), others
    assert there and all(r["outcome"] == "skip" for r in there), [(r["case"], r["outcome"]) for r in there]
    for r in there:
        assert all(w in r["reason"] for w in words), (words, r["reason"])
    sides = {(f["target"], f["id"]) for f in lines if f["type"] == "finding" and f["severity"] == "fail"}
    assert (target, "cgroup.uvm-denied") in sides and any(t == "host" for t, _ in sides), sides
    print(f"broken: {len(host)} records of the host, {len(there)} skips there: {there[0]['reason']}")


def case_names(bench):
    """host_wake is host.wake; hidden ones are faults, made on purpose."""
    files = re.findall(r"^CASE\((\w+)\)", (bench / "cases.def").read_text(), re.M)
    return [f.replace("_", ".", 1) for f in files if f != "null" and not f.endswith("fault")]


def cases(path, target, bench):
    records = [r for r in read(path) if r["type"] == "record"]
    seen = collections.defaultdict(collections.Counter)
    why = {}
    for r in records:
        seen[r["case"], r["target"]][r["outcome"]] += 1
        if r["outcome"] != "ok":
            why[r["case"], r["target"], r["outcome"]] = r.get("reason")
    faults = []
    names = case_names(pathlib.Path(bench))
    print(f"{'case':20} {'host':32} {target}")
    for name in names:
        words = []
        for side in ("host", target):
            found = seen[name, side]
            words.append(", ".join(f"{n} {outcome}" for outcome, n in sorted(found.items())) or "nothing")
            if not found["ok"] and not (found["skip"] and why[name, side, "skip"]):
                faults.append(f"{name} in {side}: {words[-1]}")
        print(f"{name:20} {words[0]:32} {words[1]}")
    for (name, side, outcome), reason in sorted(why.items()):
        print(f"  {outcome}: {name} in {side}: {reason}")
        # A core that the machine lends to others now and then is no fault of the container.
        if outcome in ("fail", "hang") or (outcome == "error" and "held up too often" not in reason):
            faults.append(f"{outcome} of {name} in {side}")
        if outcome == "skip" and side == target and seen[name, "host"]["ok"] and not seen[name, side]["ok"]:
            faults.append(f"{name} is a skip in {side} only")
    assert not faults, "; ".join(faults)


def control(path):
    with open(path, encoding="utf-8") as f:
        summary = json.load(f)
    (place,) = summary["places"]
    primary = [s for s in place["series"] if s["class"] == "primary"]
    counts = collections.Counter(s["verdict"] for s in primary)
    names = sorted({s["key"].split("@")[0] for s in place["series"]})
    print(
        f"control: {place['rounds']} rounds, {place['family']} series judged of {len(names)} cases: "
        f"{counts['regressed']} worse, {counts['improved']} better, {counts['same']} the same, "
        f"{counts['undecided']} undecided; items {summary['counts']}"
    )
    print("  " + " ".join(names))
    different = [s for s in place["series"] if s["class"] == "primary" and s["verdict"] in ("improved", "regressed")]
    for s in different:
        print(f"  {s['label']}: {100 * (s['ratio'] - 1):+.2f} % [{s['low']:.4f}, {s['high']:.4f}] p {s['p_adjusted']:.2g}")
    assert place["family"] > 0 and not different, f"{len(different)} series are called different"
    assert not summary["counts"]["fail"] and not summary["counts"]["hang"], summary["counts"]


try:
    {"broken": broken, "cases": cases, "control": control}[sys.argv[1]](*sys.argv[2:])
except AssertionError as wrong:
    print(f"{sys.argv[1]}: {wrong}")
    sys.exit(1)
