#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sets runs' figures beside what unmodified peers measured on such a machine (lowest to highest of five runs).
Usage: anchors.py [--beside FOLDER] RUN.jsonl[.gz]... Several runs: lowest, highest and median over the rounds of all.

A figure must lie within the range widened by the tolerance of its kind: copy engine 0.5 %, kernel 1 %, latency 3 % (and
2 % between GPUs). Both sides count: too high is as wrong. Collectives: times of nccl-tests' loop (`time_us` of the busbw
records, out of place, float, 2 ranks): from 16 MiB within 1 % of the peer's median, from 1 MiB within 3 %, or inside its
range where that is wider; below 1 MiB inside the range, and a time under it is `faster`: no failure, since how threads
meet decides small ones more than the machine does. Then how many series from 2 MiB up are flagged `spread` (at most 5 %
may), and how wide their intervals are. 
--beside FOLDER: what peers measured on the same machine in alternation with these runs, peer-COLLECTIVE-I.txt
(nccl-tests) and nvbw-I.txt (nvbandwidth's test cases), I the place of a run among the arguments. From five pairs on a
figure is judged by the ratio ours / peer alone, since a machine's own ranges may be other than those above: the median
of the ratios within 1 % (copy engine; collectives from 16 MiB) or 3 % (from 1 MiB), both sides. It is OUTSIDE when all
pairs are (lowest and highest of five hold the ratio's median in 94 of 100 cases); when only the median is, the pairs
do not tell: `unclear`. Below 1 MiB, slower in every pair is OUTSIDE.

Exit 1 when something is outside, 77 when the machine is another kind."""
import argparse
import collections
import datetime
import glob
import gzip
import json
import os
import re
import statistics
import sys

ANY = object()
PAIRS_LEAST = 5
# nvbandwidth's test case: case and direction
PEER_COPIES = {
    "host_to_device_bidirectional_memcpy_ce": ("copy.bidir", "h2d"), "device_to_host_bidirectional_memcpy_ce": ("copy.bidir", "d2h"),
    "host_to_all_memcpy_ce": ("copy.all", "h2d"), "all_to_host_memcpy_ce": ("copy.all", "d2h"),
}
CE, SM, LATENCY, PEER_LATENCY = 0.005, 0.01, 0.03, 0.02
# case, metric, what where and params must hold, lowest, highest, tolerance, the peer's name
ANCHORS = [
    ("copy.h2d", "bandwidth", {"memory": "pinned", "engine": "ce", "role": "local", "bytes": 536870912}, 55.01, 55.51, CE, "host_to_device_memcpy_ce"),
    ("copy.d2h", "bandwidth", {"memory": "pinned", "engine": "ce", "role": "local", "bytes": 536870912}, 55.29, 55.37, CE, "device_to_host_memcpy_ce"),
    ("copy.h2d", "bandwidth", {"memory": "hostalloc", "engine": "ce", "role": "local", "bytes": 536870912}, 55.01, 55.51, CE, "host_to_device_memcpy_ce"),
    ("copy.d2h", "bandwidth", {"memory": "hostalloc", "engine": "ce", "role": "local", "bytes": 536870912}, 55.29, 55.37, CE, "device_to_host_memcpy_ce"),
    ("copy.h2d", "bandwidth", {"engine": "sm", "role": "local", "bytes": 536870912}, 51.4, 51.4, SM, "host_to_device_memcpy_sm (one run)"),
    ("copy.d2h", "bandwidth", {"engine": "sm", "role": "local", "bytes": 536870912}, 52.6, 52.6, SM, "device_to_host_memcpy_sm (one run)"),
    ("copy.bidir", "bandwidth", {"engine": "ce", "direction": "h2d"}, 47.7, 51.3, CE, "host_to_device_bidirectional_memcpy_ce"),
    ("copy.bidir", "bandwidth", {"engine": "ce", "direction": "d2h"}, 51.0, 51.8, CE, "device_to_host_bidirectional_memcpy_ce"),
    ("copy.all", "bandwidth", {"engine": "ce", "direction": "h2d", "gpu": ANY}, 52.5, 54.9, CE, "host_to_all_memcpy_ce, per GPU"),
    ("copy.all", "bandwidth", {"engine": "ce", "direction": "d2h", "gpu": ANY}, 52.0, 55.3, CE, "all_to_host_memcpy_ce, per GPU"),
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



KIB, MIB = 1 << 10, 1 << 20
# us, lowest, highest, median: nccl-tests 2.19.6, NCCL 2.28, -t 2 -g 1 -w 5 -n 20, NVLS off
COLLECTIVES = {
    "nccl.all_reduce": {KIB: (7.0, 16.7, 7.4), 16 * KIB: (7.5, 11.1, 8.0), 64 * KIB: (7.9, 11.2, 8.1), 256 * KIB: (9.2, 13.7, 10.6),
                        MIB: (14.9, 15.6, 15.2), 4 * MIB: (35.3, 35.7, 35.4), 16 * MIB: (77.9, 78.6, 78.4), 64 * MIB: (248, 251, 250),
                        256 * MIB: (894, 896, 894), 1024 * MIB: (3229, 3272, 3254)},
    "nccl.all_gather": {KIB: (7.3, 11.7, 8.6), 16 * KIB: (6.7, 10.3, 8.6), 64 * KIB: (7.0, 13.5, 10.4), 256 * KIB: (8.2, 12.7, 10.9),
                        MIB: (11.7, 15.0, 11.9), 4 * MIB: (27.7, 30.4, 27.8), 16 * MIB: (54.8, 55.7, 55.2),
                        64 * MIB: (157.6, 159.7, 158), 256 * MIB: (545, 548, 547), 1024 * MIB: (1956, 2006, 1996)},
    "nccl.reduce_scatter": {KIB: (8.2, 11.4, 11.1), 16 * KIB: (6.9, 10.9, 10.6), 64 * KIB: (7.6, 11.0, 10.5),
                            256 * KIB: (7.9, 15.0, 11.8), MIB: (11.2, 14.1, 12.2), 4 * MIB: (25.5, 25.9, 25.8),
                            16 * MIB: (53.2, 53.9, 53.5), 64 * MIB: (159.9, 160.6, 160), 256 * MIB: (562, 563, 562),
                            1024 * MIB: (1927, 1990, 1939)},
    "nccl.sendrecv": {KIB: (7.2, 13.9, 10.8), 16 * KIB: (8.4, 10.7, 9.9), 64 * KIB: (8.8, 12.7, 11.2), 256 * KIB: (10.3, 15.8, 14.3),
                      MIB: (15.8, 17.2, 16.0), 4 * MIB: (31.3, 33.2, 32.7), 16 * MIB: (80.5, 81.6, 81.1), 64 * MIB: (246, 256, 250),
                      256 * MIB: (873, 878, 875), 1024 * MIB: (2970, 2981, 2973)},
    "nccl.alltoall": {KIB: (7.5, 10.3, 10.0), 16 * KIB: (8.2, 12.2, 11.3), 64 * KIB: (8.7, 13.9, 11.2), 256 * KIB: (10.2, 12.8, 12.0),
                      MIB: (13.7, 18.3, 13.8), 4 * MIB: (21.6, 22.6, 22.2), 16 * MIB: (51.5, 56.0, 52.9), 64 * MIB: (137, 140, 138),
                      256 * MIB: (471, 474, 473), 1024 * MIB: (1616, 1618, 1617)},
}


def records(path):
    """Header first; a last line without its end is left out, as the reader of runs does."""
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                return


class Runs:
    def __init__(self, paths):
        self.names, self.took = set(), []
        self.bdfs = {}  # UUID: PCI address
        self.figures = {}  # key: (record, a figure each round)
        self.times = collections.defaultdict(list)  # collective, bytes: us
        self.loops = collections.defaultdict(list)  # key of a series from 2 MiB up: (flagged, width) each round
        for path in paths:
            self.read(path)

    def read(self, path):
        started = None
        for r in records(path):
            if r.get("type") == "header":
                started = r["started"]
                self.bdfs.update({g["uuid"]: g["bdf"] for g in r.get("gpus", [])})
                self.names |= {v for k, v in r["environment"].items() if k.startswith("gpu.") and k.endswith(".name")}
            elif r.get("type") == "footer":
                moments = [datetime.datetime.fromisoformat(x.replace("Z", "+00:00")) for x in (started, r["finished"])]
                self.took.append((moments[1] - moments[0]).total_seconds())
            elif r.get("type") == "record" and r.get("outcome") == "ok" and "corrupt" not in r["params"]:
                self.add(r)

    def add(self, r):
        key = (r["case"], r["metric"], json.dumps(r["where"], sort_keys=True), json.dumps(r["params"], sort_keys=True))
        self.figures.setdefault(key, (r, []))[1].append(statistics.median(r["samples"]))
        size = r["params"].get("bytes", 0)
        if not r["case"].startswith("nccl.") or r["metric"] not in ("time", "busbw", "algbw"):
            return
        if size >= 2 * MIB:
            self.loops[key].append(("spread" in r["flags"], r.get("detail", {}).get("median_interval")))
        # Below 1 MiB only what started as nccl-tests does; from there on `time` is the same loop.
        as_peer = r["metric"] == "busbw" or (r["metric"] == "time" and size >= MIB)
        if as_peer and r["params"].get("dtype") == "float" and r["params"].get("place") == "out" and r["params"].get("ranks") == 2:
            self.times[(r["case"], size)].append(r.get("detail", {}).get("time_us"))


def shown_size(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


def measured(values):
    return f"{min(values):.4g} to {max(values):.4g} (median {statistics.median(values):.5g})"


def peer_times(folder, place):
    """Of nccl-tests: out of place, {(case, bytes): us}."""
    found = {}
    for path in glob.glob(os.path.join(folder, f"peer-*-{place}.txt")):
        case = "nccl." + os.path.basename(path)[len("peer-"):-len(f"-{place}.txt")]
        for line in open(path):
            w = line.split()
            if len(w) > 8 and w[0].isdigit() and w[2] == "float":
                found[(case, int(w[0]))] = float(w[5])
    return found


def peer_copies(folder, place):
    """Of nvbandwidth: {(case, direction, PCI address, or "" of all together): GB/s}."""
    found, bdfs = {}, {}
    path = os.path.join(folder, f"nvbw-{place}.txt")
    for line in open(path) if os.path.exists(path) else []:
        device = re.match(r"# Device (\d+): .*\(([0-9a-fA-F:.]+)\)", line)
        if device:
            bdfs[device[1]] = device[2].lower()
        w = line.split()
        if w and w[0] in PEER_COPIES:
            for gpu, value in re.findall(r"gpu(\d+)=([\d.]+)", line):
                found[(*PEER_COPIES[w[0]], bdfs.get(gpu, gpu))] = float(value)
            total = re.search(r"SUM=([\d.]+)", line)
            if total and PEER_COPIES[w[0]][0] == "copy.all":
                found[(*PEER_COPIES[w[0]], "")] = float(total[1])
    return found


def copy_key(record, bdfs):
    """That of peer_copies, or None where no peer has it."""
    direction = record["params"].get("direction")
    if record["params"].get("engine") != "ce" or (record["case"], direction) not in PEER_COPIES.values():
        return None
    return (record["case"], direction, bdfs.get(record["where"].get("gpu"), "").lower())


def pairs_of(folder, paths):
    """(case, bytes) or (case, direction, PCI address): (ours, the peer's) of each run."""
    pairs = collections.defaultdict(list)
    for place, path in enumerate(paths, 1):
        one, theirs = Runs([path]), {**peer_times(folder, place), **peer_copies(folder, place)}
        ours = {k: statistics.median(v) for k, v in one.times.items() if None not in v}
        for record, rounds in one.figures.values():
            key = copy_key(record, one.bdfs)
            if key is not None:
                ours[key] = statistics.median(rounds)
        for key in ours.keys() & theirs.keys():
            pairs[key].append((ours[key], theirs[key]))
    return {k: v for k, v in pairs.items() if len(v) >= PAIRS_LEAST}


def pair_verdict(ratios, tolerance):
    if tolerance is None:
        return "OUTSIDE" if min(ratios) > 1 else "faster" if max(ratios) < 1 else "inside"
    if abs(statistics.median(ratios) - 1) <= tolerance:
        return "inside"
    return "OUTSIDE" if min(ratios) > 1 + tolerance or max(ratios) < 1 - tolerance else "unclear"


def beside(pairs):
    """Prints the ratios; how many there are, and how many are outside."""
    words = collections.Counter()
    print("\n| figure | ours | peer, in alternation | pairs | ours / peer | tolerance | |\n|---|---|---|---|---|---|---|")
    for key, both in sorted(pairs.items()):
        ratios = [a / b for a, b in both]
        collective = len(key) == 2
        tolerance = 0.01 if not collective or key[1] >= 16 * MIB else 0.03 if key[1] >= MIB else None
        word = pair_verdict(ratios, tolerance)
        words[word] += 1
        name = f"{key[0]} {shown_size(key[1])}, us" if collective else f"{key[0]} {key[1]} {key[2] or 'sum'}, GB/s"
        print(f"| {name} | {measured([a for a, _ in both])} | {measured([b for _, b in both])} | {len(both)} "
              f"| {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}) "
              f"| {'not slower' if tolerance is None else f'± {tolerance * 100:g} %'} | {word} |")
    print(f"\n{sum(words.values())} ratios: " + ", ".join(f"{n} {word}" for word, n in sorted(words.items())) + ".")
    return sum(words.values()), words["OUTSIDE"]


def copies(runs, pairs):
    outside = seen = 0
    for (case, metric, _, _), (record, rounds) in sorted(runs.figures.items()):
        both = {**record["where"], **record["params"]}
        for a_case, a_metric, wanted, low, high, tolerance, peer in ANCHORS:
            if (case, metric) != (a_case, a_metric) or any((k not in both) if v is ANY else (both.get(k) != v) for k, v in wanted.items()):
                continue
            if copy_key(record, runs.bdfs) in pairs:
                continue
            value = statistics.median(rounds)
            good = low * (1 - tolerance) <= value <= high * (1 + tolerance)
            outside += not good
            seen += 1
            shown = ",".join(f"{k}={v}" for k, v in both.items() if k not in ("gpu", "gpus", "from", "to"))
            print(f"| {case} {metric} | {shown} | {measured(rounds)} | {low:g} to {high:g} ± {tolerance * 100:g} % | {peer} "
                  f"| {'inside' if good else 'OUTSIDE'} |")
    return seen, outside


def verdict(value, size, low, high, median):
    tolerance = 0.01 if size >= 16 * MIB else 0.03 if size >= MIB else 0
    if low <= value <= high or abs(value - median) <= tolerance * median:
        return "inside"
    if value < low and size < MIB:
        return "faster"
    return f"OUTSIDE ({(value / median - 1) * 100:+.1f} % of the median)"


def collectives(runs, pairs):
    seen = outside = faster = 0
    for case, sizes in COLLECTIVES.items():
        for size, (low, high, median) in sizes.items():
            values = [v for v in runs.times.get((case, size), []) if v is not None]
            if not values or (case, size) in pairs:
                continue
            word = verdict(statistics.median(values), size, low, high, median)
            seen += 1
            outside += word.startswith("OUTSIDE")
            faster += word == "faster"
            print(f"| {case} | {shown_size(size)} | {measured(values)} us | {low:g} to {high:g} ({median:g}) | nccl-tests | {word} |")
    if faster:
        print(f"\n{faster} faster: under the peer's range, below 1 MiB. There an operation takes as long as its threads need to issue "
              "it and to meet, and five runs of the peer did not show all of that.")
    return seen, outside


def spread(runs):
    """Whether more than one series in twenty is flagged in most of its rounds."""
    if not runs.loops:
        return False
    flagged = [key for key, rounds in runs.loops.items() if sum(f for f, _ in rounds) * 2 > len(rounds)]
    widths = sorted(w for rounds in runs.loops.values() for _, w in rounds if w is not None)
    n = sum(len(rounds) for rounds in runs.loops.values())
    print(f"\n{len(runs.loops)} series of collectives from 2 MiB up: {len(flagged)} flagged `spread` in most of their rounds "
          f"({100 * len(flagged) / len(runs.loops):.1f} %, at most 5), {sum(f for r in runs.loops.values() for f, _ in r)} of {n} records.")
    for key in flagged:
        print(f"  {key[0]} {key[1]} {key[3]}: {', '.join(f'{100 * w:.2f} %' for _, w in runs.loops[key] if w is not None)}")
    if widths:
        at = lambda q: 100 * widths[min(len(widths) - 1, int(q * len(widths)))]
        print(f"Intervals of the median: {at(0.5):.2f} % wide in the middle, {at(0.95):.2f} % in 95 of 100, {at(1):.2f} % at most.")
    else:
        print("No record says how wide the interval of its median is.")
    return len(flagged) > 0.05 * len(runs.loops)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", metavar="FOLDER")
    parser.add_argument("runs", nargs="+", metavar="RUN")
    given = parser.parse_args()
    runs = Runs(given.runs)
    if not runs.names or any("H200" not in n for n in runs.names):
        print(f"skip: the anchors are an H200's, this is {sorted(runs.names)}")
        sys.exit(77)
    pairs = pairs_of(given.beside, given.runs) if given.beside else {}
    if given.beside and not pairs:
        print(f"{given.beside}: fewer than {PAIRS_LEAST} pairs of any figure", file=sys.stderr)
        sys.exit(2)
    print("| case | where and parameters | measured | anchor | peer | |\n|---|---|---|---|---|---|")
    counts = [copies(runs, pairs), collectives(runs, pairs)] + ([beside(pairs)] if pairs else [])
    seen, outside = sum(n for n, _ in counts), sum(n for _, n in counts)
    wide = spread(runs)
    print(f"\n{len(given.runs)} runs, {', '.join(f'{s:.0f} s' for s in runs.took)}; {seen} figures, {outside} outside"
          + (", too many series are wide" if wide else ""))
    sys.exit(1 if outside or wide or not seen else 0)


if __name__ == "__main__":
    main()
