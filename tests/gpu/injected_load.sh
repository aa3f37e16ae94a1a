#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# injected_load.sh PROGRAM OUT: does a disturbance move the series that it must, and no other? Three quiet runs are the
# baseline; then a process that copies to the GPU all the time, then a thread that spins on the pinned core. Prints the
# comparisons; the records stay under OUT. Nothing of the machine is changed.
set -u
program=$(realpath "$1")
out=$2
mkdir -p "$out"
export GPUVET_RESULTS=/tmp/gpuvet-load GPUVET_LOCK=/tmp/gpuvet-load.lock
cases=(--case 'host.wake@*idle_us=50*' --case 'host.frequency' --case 'launch.latency' --case 'copy.h2d@*pinned*'
    --case 'copy.d2h@*pinned*' --case 'copy.latency@*/call*' --case memory.copy)
failures=0
[ -e /dev/nvidiactl ] || { echo "skip: no NVIDIA driver on this machine"; exit 77; }
newest() { find "$GPUVET_RESULTS/runs" -name '*.jsonl' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-; }
measure() { "$program" run --profile quick --no-baseline --allow-busy --label "$1" "${cases[@]}" >"$out/$1.txt" 2>&1 || tail -3 "$out/$1.txt"; newest; }

# verdict REPORT SERIES-PATTERN: regressed, same, … of what matches
verdicts() { grep -E "$2" "$1" | grep -oE '(improved|regressed|same|undecided|not comparable)' | sort | uniq -c | tr '\n' ' '; }
must_move() { grep -E "$2" "$1" | grep -qE 'regressed' || { echo "FAIL: $3: nothing of $2 regressed"; failures=$((failures + 1)); }; }
must_stay() { ! grep -E "$2" "$1" | grep -E 'regressed|improved' || { echo "FAIL: $3: $2 moved"; failures=$((failures + 1)); }; }

before=()
for i in 1 2 3; do before+=("$(measure "quiet-$i" | tail -1)"); done

echo "== another process copies to the GPU all the time"
GPUVET_LOCK=/tmp/gpuvet-load-other.lock GPUVET_RESULTS=/tmp/gpuvet-load-other "$program" run --allow-busy --no-baseline \
    --rounds 500 --case 'copy.h2d@*pinned*' >/dev/null 2>&1 &
load=$!
sleep 4
copying=$(measure copying | tail -1)
kill -INT "$load"; wait "$load" 2>/dev/null
"$program" compare --before "${before[@]}" --after "$copying" >"$out/copying-compare.txt" 2>&1
cat "$out/copying-compare.txt"
must_move "$out/copying-compare.txt" 'copy\.h2d' "another process copying"
must_stay "$out/copying-compare.txt" 'host\.(wake|frequency)' "another process copying"

echo "== a thread spins on the pinned core"
cpu=$(grep -o '"pin":{"cpu":[0-9]*' "${before[0]}" | head -1 | grep -o '[0-9]*$')
taskset -c "$cpu" sh -c 'while :; do :; done' &
load=$!
spinning=$(measure spinning | tail -1)
kill "$load"; wait "$load" 2>/dev/null
"$program" compare --before "${before[@]}" --after "$spinning" >"$out/spinning-compare.txt" 2>&1
cat "$out/spinning-compare.txt"
must_move "$out/spinning-compare.txt" 'host\.(wake|frequency)|launch\.latency' "a thread on the pinned core"
must_stay "$out/spinning-compare.txt" 'copy\.(h2d|d2h)|memory\.copy' "a thread on the pinned core"
for f in "${before[@]}" "$copying" "$spinning"; do cat "$f"; done | gzip -9 >"$out/injected-load.jsonl.gz"
echo "failures: $failures"
[ "$failures" = 0 ]
