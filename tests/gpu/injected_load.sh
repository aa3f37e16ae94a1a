#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# injected_load.sh PROGRAM OUT: does a disturbance move the series that it must, and no other? Three quiet runs are the
# baseline; then a process that copies to the GPU all the time (PyTorch), then a thread that takes the pinned core away. Prints the
# comparisons; the records stay under OUT. Nothing of the machine is changed.
set -u
program=$(realpath "$1")
out=$2
mkdir -p "$out"
export GPUVET_RESULTS=/tmp/gpuvet-load GPUVET_LOCK=/tmp/gpuvet-load.lock
cases=(--case 'host.wake@*core=local*control=none,idle_us=1000,*' --case 'host.frequency' --case 'launch.latency' --case 'copy.h2d@*bytes=536870912*engine=ce,memory=pinned*'
    --case 'copy.d2h@*bytes=536870912*engine=ce,memory=pinned*' --case 'copy.latency@*/call*bytes=4096*' --case memory.copy)
failures=0
[ -e /dev/nvidiactl ] || { echo "skip: no NVIDIA driver on this machine"; exit 77; }
newest() { find "$GPUVET_RESULTS/runs" -name '*.jsonl' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-; }
measure() { "$program" run --profile quick --no-baseline --allow-busy --label "$1" "${cases[@]}" >"$out/$1.txt" 2>&1 || tail -3 "$out/$1.txt"; newest; }

# What stands under the heading "regressed" (or improved) of a comparison.
moved() { awk '/^(improved|regressed|undecided|same|descriptive|not comparable|notes|changed)/ { on = /^(improved|regressed)/; next } on' "$1"; }
must_move() { moved "$1" | grep -qE "$2" || { echo "FAIL: $3: nothing of $2 moved"; failures=$((failures + 1)); }; }
must_stay() { ! moved "$1" | grep -E "$2" || { echo "FAIL: $3: $2 moved"; failures=$((failures + 1)); }; }

before=()
for i in 1 2 3; do before+=("$(measure "quiet-$i" | tail -1)"); done

# loaded NAME COMMAND…: a measurement while COMMAND runs; it must still run at the end, else nothing was loaded.
loaded() {
    local name=$1
    shift
    "$@" >"$out/$name-load.txt" 2>&1 &
    local load=$!
    sleep 6
    measure "$name" | tail -1
    kill -0 "$load" 2>/dev/null || { echo "FAIL: the load of $name ended early" >&2; touch "$out/failed"; }
    kill -9 "$load" 2>/dev/null
    wait "$load" 2>/dev/null
}
compare() { "$program" compare --before "${before[@]}" --after "$1" 2>&1; }

echo "== another process copies to the GPU all the time"
copying=$(loaded copying python3 -c '
import torch
host = torch.empty(256 << 20, dtype=torch.uint8, pin_memory=True)
gpu = torch.empty_like(host, device="cuda")
while True:
    for _ in range(16):
        gpu.copy_(host, non_blocking=True)
    torch.cuda.synchronize()
')
compare "$copying" >"$out/copying-compare.txt"
sed '/^descriptive/,/^notes/d' "$out/copying-compare.txt"
must_move "$out/copying-compare.txt" 'copy\.h2d' "another process copying"
must_stay "$out/copying-compare.txt" 'host\.(wake|frequency)' "another process copying"

echo "== a thread of higher priority has the pinned core 7 of 10 ms"
cpu=$(grep -o '"pin":{"cpu":[0-9]*' "${before[0]}" | head -1 | grep -o '[0-9]*$')
competing=$(loaded competing nice -n -20 taskset -c "$cpu" python3 -c '
import time
while True:
    end = time.monotonic() + 0.007
    while time.monotonic() < end:
        pass
    time.sleep(0.003)
')
compare "$competing" >"$out/competing-compare.txt"
sed '/^descriptive/,/^notes/d' "$out/competing-compare.txt"
must_move "$out/competing-compare.txt" 'host\.wake' "a thread on the pinned core"
must_stay "$out/competing-compare.txt" 'copy\.(h2d|d2h) |memory\.copy' "a thread on the pinned core"
[ ! -e "$out/failed" ] || failures=$((failures + 1))
for f in "${before[@]}" "$copying" "$competing"; do cat "$f"; done | gzip -9 >"$out/injected-load.jsonl.gz"
echo "failures: $failures"
[ "$failures" = 0 ]
