#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/anchors.py on made-up and recorded runs: what is inside, outside, faster, too wide, and ratios to peers.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
anchors=$GPUVET_SOURCE/tests/gpu/anchors.py

run_of() { # FILE GPU-NAME FACTOR FLAGGED: collectives at FACTOR times the peer's medians, FLAGGED of them too wide
    python3 - "$anchors" "$@" <<'P'
import importlib.util, json, sys
_, path, out, name, factor, flagged = sys.argv
spec = importlib.util.spec_from_file_location("anchors", path)
anchors = importlib.util.module_from_spec(spec)
spec.loader.exec_module(anchors)
left = int(flagged)
with open(out, "w") as f:
    write = lambda o: f.write(json.dumps(o) + "\n")
    write({"type": "header", "started": "2026-01-31T12:00:00Z", "environment": {"gpu.GPU-1.name": name}})
    for case, sizes in anchors.COLLECTIVES.items():
        for size, (low, high, median) in sizes.items():
            wide = size >= 2 << 20 and left > 0
            left -= wide
            write({"type": "record", "case": case, "metric": "busbw", "where": {"gpus": "GPU-1+GPU-2"}, "outcome": "ok", "samples": [1.0],
                   "params": {"bytes": size, "dtype": "float", "place": "out", "ranks": 2}, "flags": ["spread"] if wide else [],
                   "detail": {"time_us": median * float(factor), "median_interval": 0.006 if wide else 0.002}})
    write({"type": "footer", "finished": "2026-01-31T12:00:27.500Z"})
    f.write('{"type":"rec')
P
}
told() { has out "$1"; }

run_of good "NVIDIA H200" 1 1
expect 0 python3 "$anchors" good
told "50 figures, 0 outside"
told "25 series of collectives from 2 MiB up: 1 flagged"
told "0.60 % at most"
told "1 runs, 28 s"

# 0.8 of the medians: under the range at small sizes, which explains itself, and wrong at large ones.
run_of fast "NVIDIA H200" 0.8 0
expect 1 python3 "$anchors" fast
told "| nccl.all_reduce | 16 KiB | 6.4 to 6.4 (median 6.4) us | 7.5 to 11.1 (8) | nccl-tests | faster |"
told "faster: under the peer's range"
told "| nccl.all_reduce | 64 MiB | 200 to 200 (median 200) us | 248 to 251 (250) | nccl-tests | OUTSIDE (-20.0 % of the median) |"

# Over both: the range and the median are the runs' together.
expect 1 python3 "$anchors" good fast
told "6.4 to 8 (median 7.2)"
told "2 runs"

run_of slow "NVIDIA H200" 1.02 0
expect 1 python3 "$anchors" slow
told "| nccl.sendrecv | 64 MiB | 255 to 255 (median 255) us | 246 to 256 (250) | nccl-tests | inside |"
told "OUTSIDE (+2.0 % of the median)"

run_of wide "NVIDIA H200" 1 2
expect 1 python3 "$anchors" wide
told "too many series are wide"
told "nccl.all_reduce busbw"

run_of other "NVIDIA A100" 1 0
expect 77 python3 "$anchors" other
expect 2 python3 "$anchors"

recorded=$GPUVET_SOURCE/results/reference/h200-x2-p2p-nccl/standard.jsonl.gz
expect 1 python3 "$anchors" "$recorded"
told "| nccl.all_gather | 64 MiB |"
told "No record says how wide"

# Beside peers in alternation: five pairs are judged by their ratio, whatever the stored range says.
kept=$GPUVET_SOURCE/results/reference/h200-x2-peers
ours=("$kept"/ours-[1-5].jsonl.gz)
mkdir peers
tar -xzf "$kept/peers.tar.gz" -C peers
expect 1 python3 "$anchors" --beside peers "${ours[@]}" # of the width of intervals alone
told "65 figures, 0 outside, too many series are wide"
told "| nccl.all_reduce 64 MiB, us | 249 to 251.5 (median 249.53) | 248.8 to 250 (median 249.3) | 5 | 1.002 (0.998 to 1.006) | ± 1 % | inside |"
told "| copy.bidir h2d 0000:00:06.0, GB/s |"
told "| copy.all d2h sum, GB/s |"
# The committed table is what it prints.
sed '/^| case | where/,/^$/d' out | cmp - "$kept/beside-peers.md" || fail "beside-peers.md is not what the files say"
# The same with a peer that is 5 % faster: the large ones are outside, each by its ratio.
mkdir faster
python3 - <<'P'
import glob, os
for path in glob.glob("peers/*.txt"):
    lines = []
    for line in open(path):
        w = line.split()
        if len(w) > 8 and w[0].isdigit() and w[2] == "float":
            w[5] = f"{float(w[5]) / 1.05:.3f}"
            line = " ".join(w) + "\n"
        lines.append(line)
    open("faster/" + os.path.basename(path), "w").writelines(lines)
P
expect 1 python3 "$anchors" --beside faster "${ours[@]}"
told "| 1.053 (1.048 to 1.056) | ± 1 % | OUTSIDE |"
lacks out "65 figures, 0 outside"
# Four pairs are too few: the ranges judge, or where there is nothing else, nothing does.
expect 2 python3 "$anchors" --beside peers "${ours[@]:0:4}"
has err "fewer than 5 pairs"
exit 0
