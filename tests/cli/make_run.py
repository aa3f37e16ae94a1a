# SPDX-License-Identifier: Apache-2.0
"""Writes a small made-up run file: make_run.py PATH [name=value ...].

Everything that a comparison looks at can be set; equal arguments give equal bytes."""
import json
import random
import sys

options = {
    "seed": 1, "rounds": 12, "h2d": 1.0, "d2h": 1.0, "build": "b1", "machine": "m1", "boot": "boot1",
    "uuid": "GPU-11111111-aaaa", "version": 1, "simulated": 0, "width": 16, "width_max": 16, "governor": "powersave",
    "root_key": "4", "clocksource": "tsc", "path": "PIX", "end": "complete", "fail": "", "schema": "gpuvet.run/1",
    "load_gen": 0, "load_width": 16, "replays": -1, "aer": -1,
    "bytes": 536870912, "ecc": "on", "bad_round": 3, "gpus": 2, "started": "", "between": 0.001, "nodes": 2, "numa_node": 0,
}
path = sys.argv[1]
for argument in sys.argv[2:]:
    name, value = argument.split("=", 1)
    options[name] = type(options[name])(value)
o = options
draw = random.Random(o["seed"])
uuids = [o["uuid"], "GPU-22222222-bbbb"][: o["gpus"]]


def key(case, metric, where, params):
    text = [",".join(f"{k}={d[k]}" for k in sorted(d)) for d in (where, params)]
    return f"{case}@{o['version']}/{metric}{{{text[0]};{text[1]}}}@host"


items = []
for uuid in uuids:
    for case, median in (("copy.h2d", 55.0 * o["h2d"]), ("copy.d2h", 54.0 * o["d2h"])):
        items.append((case, "bandwidth", {"gpu": uuid, "role": "local"}, {"bytes": o["bytes"], "memory": "pinned"},
                      median, "GB/s", "higher", [("", "primary", 0.02, 0.0, 0.003)]))
    items.append(("launch.latency", "call", {"gpu": uuid}, {"wait": "spin", "after": "busy"}, 3.0, "us", "lower",
                  [("p50", "primary", 0.05, 0.2, 0.01), ("p99", "descriptive", 0.25, 0.0, 0.05)]))
series = []
for case, metric, where, params, _, unit, better, rows in items:
    for statistic, role, delta_rel, delta_abs, between in rows:
        suffix = "." + statistic if statistic else ""
        series.append({"key": key(case, metric + suffix, where, params), "unit": unit, "better": better,
                       "statistic": statistic, "n": 5, "delta_rel": delta_rel, "delta_abs": delta_abs,
                       "between_rel": between, "class": role})
header = {
    "type": "header", "schema": o["schema"], "tool": {"name": "gpuvet", "version": "0.1.0", "build_id": o["build"]},
    "command": ["gpuvet", "run"], "label": "", "seed": o["seed"], "profile": "standard",
    "started": o["started"] or f"2026-01-31T12:00:{o['seed'] % 60:02d}Z", "node": "node1", "machine_id": o["machine"],
    "boot_id": o["boot"], "simulated": bool(o["simulated"]), "rounds_planned": o["rounds"], "targets": ["host"],
    "environment": {"cpu.governor": o["governor"], "pm_qos.cpu_latency_us": o["root_key"], "boot_id": o["boot"],
                    "kernel.clocksource": o["clocksource"], "pci.0000:01:00.0.link_width": o["width"],
                    "pci.0000:01:00.0.numa_node": o["numa_node"], "numa.nodes": o["nodes"],
                    f"gpu.{o['uuid']}.ecc": o["ecc"]},
    "environment_volatile": {"load": draw.random()},
    "gpus": [{"uuid": u, "index": i, "bdf": f"0000:0{i + 1}:00.0", "pcie": {"width_max": o["width_max"]}}
             for i, u in enumerate(uuids)],
    "series": series,
}
lines = [header]
offsets = [draw.gauss(0, o["between"]) for _ in items]
counts = {"ok": 0, "fail": 0, "skip": 0, "hang": 0, "error": 0}
for round_ in range(o["rounds"]):
    for number, (case, metric, where, params, median, unit, better, _) in enumerate(items):
        lines.append({"type": "start", "round": round_, "target": "host", "id": number,
                      "key": key(case, metric, where, params), "at": "2026-01-31T12:00:00Z"})
        record = {"type": "record", "target": "host", "round": round_, "id": number, "case": case,
                  "version": o["version"], "metric": metric, "unit": unit, "better": better, "where": where,
                  "attributes": {"path_class": o["path"]}, "params": params, "limit": 63.0, "limit_raw": 63.0,
                  "flags": []}
        state = {}
        if o["load_gen"]:
            state["link"] = {"gen": o["load_gen"], "width": o["load_width"]}
        if o["replays"] >= 0:
            state["replays"] = o["replays"]
        if o["aer"] >= 0:
            state["aer"] = {"correctable": o["aer"], "nonfatal": 0, "fatal": 0}
        if state:
            record["gpu_state"] = {where["gpu"]: state}
        if o["fail"] == case and round_ == o["bad_round"]:
            record.update(outcome="fail", reason="4 wrong words at offset 4096")
        else:
            base = median * (1 + offsets[number])
            record.update(outcome="ok", samples=[round(base * (1 + draw.gauss(0, 0.002)), 5) for _ in range(5)])
        counts[record["outcome"]] += 1
        lines.append(record)
text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
if o["end"] == "cut":  # killed while writing a record
    text = text[: text.rindex('{"type":"record"') + 100]
elif o["end"] != "none":
    text += json.dumps({"type": "footer", "finished": "2026-01-31T12:01:00Z", "outcome": o["end"], "reason": "",
                        "rounds": o["rounds"], "counts": counts}) + "\n"
with open(path, "w", encoding="utf-8") as file:
    file.write(text)
