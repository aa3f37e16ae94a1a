# SPDX-License-Identifier: Apache-2.0
"""Writes a made-up run of a whole node: make_node.py PATH [name=value ...].

4 GPUs on 2 NUMA nodes, with P2P, NUMA, sweeps, collectives, GEMM, decoding, a container beside the host and findings of
doctor: what a report shows. `hostile` puts TEXT wherever a run file holds a name that somebody may choose. Equal
arguments give equal bytes.
"""
import json
import math
import random
import sys

o = {"seed": 1, "rounds": 12, "gpus": 4, "h2d": 1.0, "wake": 1.0, "gemm": 1.0, "label": "", "hostile": "", "governor": "powersave",
     "node": "node1", "day": 1, "series": "all"}
path = sys.argv[1]
for argument in sys.argv[2:]:
    name, value = argument.split("=", 1)
    o[name] = type(o[name])(value)
draw = random.Random(o["seed"])
bad = o["hostile"]
uuids = [f"GPU-{i}{i}{i}{i}{i}{i}{i}{i}-aaaa" for i in range(o["gpus"])]
place = [i * 2 // o["gpus"] for i in range(o["gpus"])]
items = []  # case, metric, where, params, median, unit, better, limit, statistics, target, extras, rounds


def escape(value):
    return "".join(c if c not in ",;{}=@/%" and ord(c) >= 32 else "".join(f"%{b:02X}" for b in c.encode()) for c in str(value))


def key(case, metric, where, params, target):
    text = [",".join(f"{k}={escape(d[k])}" for k in sorted(d)) for d in (where, params)]
    return f"{case}@1/{metric}{{{text[0]};{text[1]}}}@{escape(target)}"


def add(case, metric, where, params, median, unit, better="lower", limit=None, statistics=("",), primary=True, target="host",
        extras=None, rounds=None, noise=0.004):
    items.append(dict(case=case, metric=metric, where=where, params=params, median=median, unit=unit, better=better, limit=limit,
                      statistics=statistics, primary=primary, target=target, extras=extras or {}, rounds=rounds or o["rounds"],
                      noise=noise))


for target, price in (("host", 1.0), ("lxc:" + (bad or "129"), 1.02)):
    for uuid in uuids:
        add("copy.h2d", "bandwidth", {"gpu": uuid, "role": "local"}, {"bytes": 536870912, "memory": "pinned"},
            55 * o["h2d"] / price, "GB/s", "higher", 57.6, target=target)
        add("launch.latency", "call", {"gpu": uuid}, {"wait": "spin", "after": "busy"}, 3.1 * price, "us",
            statistics=("p50", "p99"), target=target, noise=0.02)
if o["series"] == "all":
    for size in range(12, 29, 2):
        for case in ("copy.h2d", "copy.d2h"):
            add(case, "bandwidth", {"gpu": uuids[0], "role": "local"}, {"bytes": 2**size, "memory": "pageable"},
                55 / (1 + 2**18 / 2**size), "GB/s", "higher", 57.6, primary=False, rounds=1)
        add("nccl.all_reduce", "time", {"gpus": "+".join(uuids)}, {"bytes": 2**size, "ranks": len(uuids), "dtype": "bf16", "place": "in"},
            12 + 2**size / 3e4, "us", statistics=("p50",), primary=size in (20, 26))
    for a in range(len(uuids)):
        add("copy.d2h", "bandwidth", {"gpu": uuids[a], "role": "remote1"}, {"bytes": 536870912, "memory": "pinned"}, 44, "GB/s",
            "higher", 57.6)
        add("copy.d2h", "bandwidth", {"gpu": uuids[a], "role": "local"}, {"bytes": 536870912, "memory": "pinned"}, 54, "GB/s",
            "higher", 57.6)
        for b in range(len(uuids)):
            if a == b:
                continue
            near = place[a] == place[b]
            extras = {"attributes": {"path_class": bad or ("PIX" if near else "SYS")}}
            add("p2p.write", "bandwidth", {"from": uuids[a], "to": uuids[b]}, {"bytes": 536870912, "engine": "ce"},
                51 if near else 33, "GB/s", "higher", 57.6, extras=extras)
            add("p2p.latency", "latency", {"from": uuids[a], "to": uuids[b]}, {"loads": "sys"}, 640 if near else 1210, "ns",
                statistics=("p50",), extras=extras)
    for cpu in range(2):
        for mem in range(2):
            add("host.memory", "bandwidth", {"cpu_node": cpu, "mem_node": mem}, {"bytes": 1 << 30}, 210 if cpu == mem else 92, "GB/s",
                "higher", primary=cpu == mem)
            add("host.memory", "latency", {"cpu_node": cpu, "mem_node": mem}, {"bytes": 1 << 30}, 96 if cpu == mem else 171, "ns",
                primary=cpu == mem)
    for idle, median in ((50, 3), (1000, 22), (10000, 61), (100000, 140)):
        for source in ("timer", "remote"):
            add("host.wake", "wake", {"cpu_node": 0, "core": "local"}, {"idle_us": idle, "source": source},
                median * o["wake"] * (1.2 if source == "remote" else 1), "us", statistics=("p50",), primary=idle < 10000, noise=0.05)
    for case, rate, limit in (("gemm.nvfp4", 2900, 4000), ("gemm.bf16", 640, 830)):
        add(case, "rate", {"gpu": uuids[0]}, {"m": 8192, "n": 8192, "k": 8192}, rate * o["gemm"], "TFLOP/s", "higher", limit,
            extras={"gemm": True})
    for m in (1, 4, 16, 64):
        for graph in ("yes", "no"):
            add("decode.step", "call", {"gpu": uuids[0]}, {"m": m, "graph": graph}, (210 if graph == "yes" else 460) + 2 * m, "us",
                statistics=("p50", "p99"), primary=m in (1, 16), noise=0.02)
series = []
for i in items:
    for statistic in i["statistics"]:
        suffix = "." + statistic if statistic else ""
        series.append({"key": key(i["case"], i["metric"] + suffix, i["where"], i["params"], i["target"]), "unit": i["unit"],
                       "better": i["better"], "statistic": statistic, "n": 5, "delta_rel": 0.25 if statistic == "p99" else 0.02,
                       "delta_abs": 0.0, "between_rel": 0.003, "class": "primary" if i["primary"] and statistic != "p99" else "descriptive"})
seen = set()
series = [s for s in series if not (s["key"] in seen or seen.add(s["key"]))]
started = f"2026-{1 + (o['day'] - 1) // 28 % 12:02d}-{1 + (o['day'] - 1) % 28:02d}T12:{o['seed'] // 60 % 60:02d}:{o['seed'] % 60:02d}Z"
topology = {"schema": "gpuvet.topo/1", "gpus": [{"index": i, "uuid": u, "numa_node": place[i],
                     "path": [{"bdf": f"0000:{i + 1:02x}:00.0"}, {"bdf": f"0000:{place[i] + 9:02x}:01.0"},
                              {"bdf": bad or f"0000:{place[i]:02x}:01.1"}]} for i, u in enumerate(uuids)],
            "pairs": [{"from": a, "to": b, "class": bad or ("PIX" if place[i] == place[k] else "SYS"), "p2p": "OK"}
                      for i, a in enumerate(uuids) for k, b in enumerate(uuids) if i != k]}
header = {
    "type": "header", "schema": "gpuvet.run/1", "tool": {"name": "gpuvet", "version": "0.1.0", "build_id": bad or "b1"},
    "command": ["gpuvet", "run"], "label": bad or o["label"], "seed": o["seed"], "profile": bad or "standard", "started": started,
    "node": bad or o["node"], "machine_id": "m1", "boot_id": f"boot{o['seed']}", "simulated": False, "rounds_planned": o["rounds"],
    "targets": ["host", "lxc:" + (bad or "129")], "topology": topology,
    "environment": {"cpu.governor": bad + str(o["seed"]) if bad else o["governor"], (bad or "thp"): o["governor"],
                    "kernel.clocksource": bad + str(o["seed"]) if bad and o["seed"] > 1 else "tsc", "kernel.release": "6.14.11-5-pve"},
    "environment_volatile": {"load": 0.1},
    "gpus": [{"uuid": u, "index": i, "bdf": bad or f"0000:{i + 1:02x}:00.0", "name": bad or "Made-up GPU",
              "pcie": {"gen": 5, "gen_max": 5, "width": 8 if i == 1 else 16, "width_max": 16}} for i, u in enumerate(uuids)],
    "series": series,
}
if bad:
    for s in header["series"][-3:]:
        s["unit"] = bad
lines = [header]
counts = {"ok": 0, "fail": 0, "skip": 0, "hang": 0, "error": 0}
offsets = [draw.gauss(0, 0.001) for _ in items]
for round_ in range(o["rounds"]):
    for number, i in enumerate(items):
        if round_ >= i["rounds"]:
            continue
        record = {"type": "record", "target": i["target"], "round": round_, "id": number, "case": i["case"], "version": 1,
                  "metric": i["metric"], "unit": i["unit"], "better": i["better"], "where": i["where"], "params": i["params"],
                  "limit": i["limit"], "limit_raw": i["limit"], "flags": [], "attributes": i["extras"].get("attributes", {})}
        if bad and number == 0 and round_ == 3:
            record.update(outcome="fail", reason=bad)
        else:
            base = i["median"] * (1 + offsets[number]) * math.exp(draw.gauss(0, i["noise"]))
            record.update(outcome="ok", samples=[round(base * (1 + draw.gauss(0, 0.002)), 5) for _ in range(5)])
        if "gemm" in i["extras"]:
            record["sm_mhz"] = [2000 - 9 * round_ + draw.gauss(0, 4) for _ in range(3)]
            record["gpu_state"] = {i["where"]["gpu"]: {"power_w": 520 + 5 * round_, "temperature_c": 44 + round_}}
        counts[record["outcome"]] += 1
        lines.append(record)
lines.append({"type": "finding", "id": bad or "pci.link-width", "severity": "warn", "title": bad or "GPU 1 has 8 of its 16 lanes",
              "cause": bad or "the slot or the riser carries 8", "remedy": [bad or "lspci -vv -s 02:00.0"],
              "evidence": [{"path": bad or "/sys/bus/pci/devices/0000:02:00.0/current_link_width", "value": bad or "8"}]})
lines.append({"type": "footer", "finished": started, "outcome": "complete", "reason": "", "rounds": o["rounds"], "counts": counts})
with open(path, "w", encoding="utf-8") as file:
    file.write("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
