#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sets a run's figures beside what unmodified peers measured on such a machine (lowest to highest of five runs).
Usage: anchors.py RUN.jsonl. A figure must lie within the range widened by the tolerance of its kind: copy engine 0.5 %,
kernel 1 %, latency 3 % (and 2 % between GPUs), collectives 1 % from 16 MiB, 3 % from 1 MiB. Both sides count: too high
is as wrong. Exit 1 when one is outside, 77 when the machine is another kind."""
import json
import statistics
import sys

CE, SM, LATENCY, PEER_LATENCY = 0.005, 0.01, 0.03, 0.02
# case, metric, what where and params must hold, lowest, highest, tolerance, the peer's name
ANCHORS = [
    ("copy.h2d", "bandwidth", {"memory": "pinned", "engine": "ce", "role": "local", "bytes": 536870912}, 55.01, 55.51, CE, "host_to_device_memcpy_ce"),
    ("copy.d2h", "bandwidth", {"memory": "pinned", "engine": "ce", "role": "local", "bytes": 536870912}, 55.29, 55.37, CE, "device_to_host_memcpy_ce"),
    ("copy.h2d", "bandwidth", {"memory": "hostalloc", "engine": "ce", "role": "local", "bytes": 536870912}, 55.01, 55.51, CE, "host_to_device_memcpy_ce"),
    ("copy.d2h", "bandwidth", {"memory": "hostalloc", "engine": "ce", "role": "local", "bytes": 536870912}, 55.29, 55.37, CE, "device_to_host_memcpy_ce"),
    ("copy.h2d", "bandwidth", {"engine": "sm", "role": "local", "bytes": 536870912}, 51.4, 51.4, SM, "host_to_device_memcpy_sm (one run)"),
    ("copy.d2h", "bandwidth", {"engine": "sm", "role": "local", "bytes": 536870912}, 52.6, 52.6, SM, "device_to_host_memcpy_sm (one run)"),
    ("copy.bidir", "bandwidth", {"direction": "h2d"}, 47.7, 51.3, CE, "host_to_device_bidirectional_memcpy_ce"),
    ("copy.bidir", "bandwidth", {"direction": "d2h"}, 51.0, 51.8, CE, "device_to_host_bidirectional_memcpy_ce"),
    ("memory.copy", "bandwidth", {}, 4182, 4194, SM, "device_local_copy, read + write"),
    ("copy.latency", "chase", {"memory": "hostalloc", "loads": "plain"}, 1176, 1194, LATENCY, "host_device_latency_sm"),
    ("p2p.read", "bandwidth", {"engine": "ce", "bytes": 536870912, "peer": "on"}, 393.9, 394.1, CE, "device_to_device_memcpy_read_ce"),
    ("p2p.write", "bandwidth", {"engine": "ce", "bytes": 536870912, "peer": "on"}, 396.4, 396.5, CE, "device_to_device_memcpy_write_ce"),
    ("p2p.read", "bandwidth", {"engine": "sm", "bytes": 536870912, "peer": "on"}, 376.1, 376.3, SM, "device_to_device_memcpy_read_sm"),
    ("p2p.write", "bandwidth", {"engine": "sm", "bytes": 536870912, "peer": "on"}, 369.8, 370.0, SM, "device_to_device_memcpy_write_sm"),
    ("p2p.bidir", "bandwidth", {"engine": "ce", "access": "write", "direction": "one"}, 391.8, 391.8, CE, "device_to_device_bidirectional_memcpy_write_ce, one direction"),
    ("p2p.bidir", "bandwidth", {"engine": "ce", "access": "write", "direction": "both"}, 783.7, 783.7, CE, "device_to_device_bidirectional_memcpy_write_ce, total"),
    ("p2p.latency", "chase", {"loads": "plain"}, 829.4, 830.4, PEER_LATENCY, "device_to_device_latency_sm"),
]


def read(path):
    header, figures = None, {}
    for line in open(path):
        try:
            r = json.loads(line)
        except ValueError:
            continue
        if r.get("type") == "header":
            header = r
        if r.get("type") == "record" and r.get("outcome") == "ok":
            key = (r["case"], r["metric"], json.dumps(r["where"], sort_keys=True), json.dumps(r["params"], sort_keys=True))
            figures.setdefault(key, (r, []))[1].append(statistics.median(r["samples"]))
    return header, figures


def main():
    header, figures = read(sys.argv[1])
    names = [v for k, v in header["environment"].items() if k.startswith("gpu.") and k.endswith(".name")]
    if not names or any("H200" not in n for n in names):
        print(f"skip: the anchors are an H200's, this is {names}")
        sys.exit(77)
    outside = seen = 0
    print("| case | where and parameters | measured | anchor | peer | |\n|---|---|---|---|---|---|")
    for (case, metric, _, _), (record, rounds) in sorted(figures.items()):
        for a_case, a_metric, wanted, low, high, tolerance, peer in ANCHORS:
            both = {**record["where"], **record["params"]}
            if (case, metric) != (a_case, a_metric) or "corrupt" in both or any(both.get(k) != v for k, v in wanted.items()):
                continue
            value = statistics.median(rounds)
            good = low * (1 - tolerance) <= value <= high * (1 + tolerance)
            outside += not good
            seen += 1
            shown = ",".join(f"{k}={v}" for k, v in {**record["where"], **record["params"]}.items() if k not in ("gpu", "from", "to"))
            print(f"| {case} {metric} | {shown} | {min(rounds):.4g} to {max(rounds):.4g} (median {value:.5g}) "
                  f"| {low:g} to {high:g} ± {tolerance * 100:g} % | {peer} | {'inside' if good else 'OUTSIDE'} |")
    print(f"{seen} figures, {outside} outside")
    sys.exit(1 if outside or not seen else 0)


main()
