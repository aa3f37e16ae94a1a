#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Collectives for real, in one call on a GPU machine: nccl_look.sh PROGRAM SMOKE OUT (SMOKE: gpuvet_nccl_smoke). What
# making a communicator costs with kernels loaded eagerly and lazily, every operation verified, times at the sizes of
# the reference figures, a run of the judged series, and each way to hang. Run files are kept (gzip) under OUT.
# Nothing of the machine is changed. Exit 77 without a GPU.
set -u
program=$(realpath "$1")
smoke=$(realpath "$2")
out=$3
mkdir -p "$out"
export GPUVET_RESULTS=/tmp/gpuvet-nccl GPUVET_LOCK=/tmp/gpuvet-nccl.lock
failures=0
wrong() { echo "FAIL: $*"; failures=$((failures + 1)); }
newest() { find "$GPUVET_RESULTS/runs" -name '*.jsonl' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-; }
keep() { gzip -9 -c "$(newest)" >"$out/$1.jsonl.gz"; }

[ -e /dev/nvidiactl ] || { echo "skip: no NVIDIA driver on this machine"; exit 77; }
gpus=$(nvidia-smi -L | wc -l)

echo "== loading: the same items with all kernels of the libraries loaded at once, and when they are used"
for how in EAGER LAZY; do
    start=$(date +%s%N)
    CUDA_MODULE_LOADING=$how timeout 200 "$smoke" quick >"$out/smoke-$how.txt" 2>&1
    echo "$how: status $?, $((($(date +%s%N) - start) / 1000000)) ms"
    grep -E "FAIL|NCCL:|made in [0-9.]*[1-9]|cuBLASLt loaded" "$out/smoke-$how.txt" | head -12
done

echo "== every operation"
timeout 400 "$smoke" >"$out/smoke.txt" 2>&1 || [ $? = 77 ] || wrong "smoke"
grep -E "^(PASS|FAIL|skip)" "$out/smoke.txt" | cut -c1-4 | sort | uniq -c
grep FAIL "$out/smoke.txt" | head -20
grep -E "^      nccl" "$out/smoke.txt" | sed 's/"//g' | cut -c1-170 | tail -80

echo "== a run"
if [ "$gpus" -gt 1 ]; then
    cases=(--case 'nccl.*' --case decode.step)
else
    cases=(--case 'nccl.*@1/*corrupt=none*' --case decode.step)
fi
start=$SECONDS
timeout 300 "$program" run --no-baseline --rounds 3 "${cases[@]}" | tail -60 || wrong "run"
echo "3 rounds took $((SECONDS - start)) s"
keep run
grep '"case":"nccl.paths"' "$(newest)" | grep '"type":"record"' | grep -o '"outcome":.*' | cut -c1-1500 | head -3

# went HOW OUTCOME WORDS…: within its deadline of 12 s, two more for the verdict, and as much for the control.
went() {
    local how=$1 outcome=$2 start=$SECONDS record took
    shift 2
    timeout 120 "$program" run --no-baseline --allow-busy --rounds 1 --case "nccl.fault@1/*how=$how*" --case null >"$out/fault-$how.txt" 2>&1
    took=$((SECONDS - start))
    keep "fault-$how"
    record=$(grep '"type":"record"' "$(newest)" | grep -F "\"how\":\"$how\"")
    echo "$how ($took s): $(grep -o '"outcome":"[a-z]*","reason":"[^"]*"' <<<"$record" | head -1 | cut -c1-500)"
    grep -o '"control":.*' <<<"$record" | cut -c1-300
    grep -o '"node":{[^}]*}' <<<"$record"
    grep -qF "\"outcome\":\"$outcome\"" <<<"$record" || wrong "$how is not $outcome"
    for words in "$@"; do grep -qF -- "$words" <<<"$record" || wrong "$how does not say '$words'"; done
    grep '"type":"record"' "$(newest)" | grep '"case":"null"' | grep -q '"outcome":"ok"' || wrong "$how: null is missing"
    [ "$took" -le 45 ] || wrong "$how took $took s"
}
echo "== going wrong"
went none ok
went stopped hang "is stopped"
went hangs-with-p2p hang '"outcome":"ok"}'
went missing-rank hang "has not come"
went endless-kernel hang "waits for its GPU"
went aborted "$([ "$gpus" -gt 1 ] && echo hang || echo error)" "gives up" # the other rank waits for it
if [ "$gpus" -gt 1 ]; then
    went no-space error "out of space in /dev/shm" "No space left on device"
    echo "== /dev/shm of 64 MiB with P2P (row 30)"
    unshare -m sh -c 'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"' sh "$program" run --no-baseline --allow-busy --rounds 1 \
        --case 'nccl.all_reduce@1/time*bytes=67108864*dtype=float*place=out*' | tail -4 || wrong "row 30"
    echo "== and without (row 31)"
    NCCL_P2P_DISABLE=1 NCCL_CUMEM_HOST_ENABLE=0 unshare -m sh -c 'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"' sh "$program" \
        run --no-baseline --allow-busy --rounds 1 --case 'nccl.all_reduce@1/time*bytes=67108864*dtype=float*place=out*' 2>&1 | tail -8
    grep -o '"outcome":"error","reason":"[^"]*"' "$(newest)" | head -2
    keep row-31
fi
echo "== a process that cannot be killed (kill made void)"
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p /tmp/gpuvet-hangs
(cd /tmp/gpuvet-hangs && GPUVET=$program GPUVET_SOURCE=$source bash "$source/tests/cli/run_hangs.sh") || wrong "run_hangs.sh"
nvidia-smi --query-gpu=index,utilization.gpu,memory.used --format=csv
echo "failures: $failures"
[ "$failures" = 0 ]
