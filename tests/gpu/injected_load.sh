#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# injected_load.sh PROGRAM OUT [host]: does a disturbance move the series that it must, and no other (load_check.py)? Four
# quiet runs are the baseline; then a process that copies to the GPU all the time (PyTorch), then a thread that takes the
# pinned core away. Prints what moved; the records stay under OUT. Nothing of the machine is changed; about 100 s. With
# "host" only what needs no GPU: the host's cases, and the second load.
set -u
here=$(dirname "$(realpath "$0")")
program=$(realpath "$1")
out=$2
host_only=${3:-}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GPUVET_RESULTS=$work/results GPUVET_LOCK=$work/lock
# By their keys, so that nothing but what is judged runs.
cases=(--case 'host.wake@*{core=local*control=none,idle_us=50,*' --case 'host.wake@*{core=local*control=none,idle_us=1000,*'
    --case 'host.frequency@*load=none*')
gpu_cases=(--case 'launch.latency@*after=busy,*wait=spin*' --case 'launch.latency@*after=idle,idle_us=10000,wait=block*'
    --case 'copy.h2d@*role=local;bytes=536870912,*engine=ce,memory=pinned*' --case 'copy.d2h@*role=local;bytes=536870912,*engine=ce,memory=pinned*'
    --case 'copy.latency@*/call{*role=local;after=busy,bytes=4096,*memory=pinned,wait=spin*' --case memory.copy)
failures=0
# shellcheck source=tests/gpu/lib.sh
. "$here/lib.sh"
if [ "$host_only" != host ]; then
    [ -e /dev/nvidiactl ] || { echo "skip: no NVIDIA driver on this machine"; exit 77; }
    cases+=("${gpu_cases[@]}")
fi
measure() { "$program" run --profile quick --no-baseline --allow-busy --label "$1" "${cases[@]}" >"$out/$1.txt" 2>&1 || tail -3 "$out/$1.txt" >&2; newest; }

before=()
for i in 1 2 3 4; do before+=("$(measure "quiet-$i")"); done

# loaded NAME COMMAND…: a measurement while COMMAND runs, which says "ready" when it does. It must still run at the end, else
# nothing was loaded.
loaded() {
    local name=$1
    shift
    "$@" >"$out/$name-load.txt" 2>&1 &
    local load=$!
    for _ in $(seq 300); do grep -q ready "$out/$name-load.txt" && break; sleep 0.1; done
    measure "$name"
    if ! kill -0 "$load" 2>/dev/null || ! grep -q ready "$out/$name-load.txt"; then
        echo "FAIL: the load of $name did not begin, or ended early" >&2
        touch "$work/failed"
    fi
    kill -9 "$load" 2>/dev/null
    wait "$load" 2>/dev/null
}
judge() { # NAME RUN
    "$program" compare --json --before "${before[@]}" --after "$2" >"$out/$1.json" 2>"$out/$1-compare.err"
    "$program" compare --before "${before[@]}" --after "$2" >"$out/$1-compare.txt" 2>&1
    python3 "$here/load_check.py" "$1" "$out/$1.json" || failures=$((failures + 1))
}
runs=("${before[@]}")

if [ "$host_only" != host ]; then
    echo "== another process copies to the GPU all the time"
    copying=$(loaded copying python3 -c '
import torch
host = torch.empty(256 << 20, dtype=torch.uint8, pin_memory=True)
gpu = torch.empty_like(host, device="cuda")
torch.cuda.synchronize()
print("ready", flush=True)
while True:
    for _ in range(16):
        gpu.copy_(host, non_blocking=True)
    torch.cuda.synchronize()
')
    judge copying "$copying"
    runs+=("$copying")
fi

# No higher priority, which is refused in many a place, and none is needed: whoever wakes has to wait for the end of the
# other's slice often enough to show at p99 of 1,000 tries.
echo "== a thread has the pinned core 7 of every 10 ms"
cpu=$(grep '"case":"host.wake"' "${before[0]}" | grep -o '"pin":{"cpu":[0-9]*' | head -1 | grep -o '[0-9]*$')
competing=$(loaded competing taskset -c "$cpu" python3 -c '
import time
print("ready", flush=True)
while True:
    end = time.monotonic() + 0.007
    while time.monotonic() < end:
        pass
    time.sleep(0.003)
')
judge competing "$competing"
runs+=("$competing")
[ ! -e "$work/failed" ] || failures=$((failures + 1))
for run in "${runs[@]}"; do keep "$(grep -o '"label":"[a-z0-9-]*"' "$run" | head -1 | cut -d'"' -f4)" "$run"; done
echo "failures: $failures; $SECONDS s"
[ "$failures" = 0 ]
