#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Collectives for real, in one call on a GPU machine: nccl_look.sh PROGRAM SMOKE OUT [hangs] (SMOKE: gpuvet_nccl_smoke).
# What making a communicator costs with kernels loaded eagerly and lazily, every operation verified, times at the sizes
# of the reference figures, a run of the judged series, and each way to hang. With `hangs` only these and /dev/shm too
# small (rows 30 and 31), in 100 s on two GPUs. Run files are kept (gzip) under OUT. Nothing of the machine is changed.
# Exit 77 without a GPU.
set -u
program=$(realpath "$1")
smoke=$(realpath "$2")
out=$3
only=${4:-}
[ -z "$only" ] || [ "$only" = hangs ] || { echo "usage: nccl_look.sh PROGRAM SMOKE OUT [hangs]"; exit 2; }
mkdir -p "$out"
export GPUVET_RESULTS=/tmp/gpuvet-nccl GPUVET_LOCK=/tmp/gpuvet-nccl.lock
failures=0
# shellcheck source=tests/gpu/lib.sh
. "$(dirname "$(realpath "$0")")/lib.sh"
wrong() { echo "FAIL: $*"; failures=$((failures + 1)); }

[ -e /dev/nvidiactl ] || { echo "skip: no NVIDIA driver on this machine"; exit 77; }
gpus=$(nvidia-smi -L | wc -l)
began=$SECONDS

look() {
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
}

# told: of a hang the verdict's delay after the deadline, what each finding says, and whether both are right.
told() {
    python3 - "$(newest)" <<'P'
import json, sys
lines = []
for line in open(sys.argv[1]):
    try:
        lines.append(json.loads(line))
    except ValueError:
        break
wrong = []
hung = [r for r in lines if r["type"] == "record" and r["outcome"] == "hang"]
for r in hung:
    late = r.get("verdict_ms")
    print(f"  verdict {late} ms after its deadline (2000 at most)")
    if late is None or not 0 <= late <= 2000:
        wrong.append(f"verdict_ms is {late}")
found = [f for f in lines if f["type"] == "finding" and f["id"] in ("nccl.hang", "nccl.no-space")]
for f in found:
    print(f"  finding {f['id']}: {f['title']}; {(f.get('cause') or 'no cause')[:110]}")
    for where in f.get("remedy") or []:
        print(f"    look: {where[:150]}")
    if not f.get("remedy"):
        wrong.append(f"{f['id']} does not say where to look")
if any("gpus" in r["where"] for r in hung) and not any(f["id"] == "nccl.hang" for f in found):
    wrong.append("no finding nccl.hang")
if not lines or lines[-1]["type"] != "footer":
    wrong.append("no footer")
for one in wrong:
    print(f"  WRONG: {one}")
sys.exit(1 if wrong else 0)
P
}

# went HOW OUTCOME WORDS…: within its deadline of 6 s, two more for the verdict, and as much for the control.
went() {
    local how=$1 outcome=$2 start=$SECONDS record took end=,
    shift 2
    [ "$how" != stopped ] && [ "$how" != hangs-with-p2p ] || end='}' # these need no GPU
    timeout 120 "$program" run --no-baseline --allow-busy --rounds 1 --case "nccl.fault@1/*how=$how$end*" --case null >"$out/fault-$how.txt" 2>&1
    took=$((SECONDS - start))
    keep "fault-$how"
    record=$(grep '"type":"record"' "$(newest)" | grep -F "\"how\":\"$how\"")
    echo "$how ($took s): $(grep -o '"outcome":"[a-z]*","reason":"[^"]*"' <<<"$record" | head -1 | cut -c1-500)"
    grep -o '"control":.*' <<<"$record" | cut -c1-300
    grep -o '"node":{[^}]*}' <<<"$record"
    grep -qF "\"outcome\":\"$outcome\"" <<<"$record" || wrong "$how is not $outcome"
    for words in "$@"; do grep -qF -- "$words" <<<"$record" || wrong "$how does not say '$words'"; done
    grep '"type":"record"' "$(newest)" | grep '"case":"null"' | grep -q '"outcome":"ok"' || wrong "$how: null is missing"
    told || wrong "$how: see above"
    [ "$took" -le 35 ] || wrong "$how took $took s"
}

small_shm() { unshare -m sh -c 'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"' sh "$@"; }
one=(run --no-baseline --allow-busy --rounds 1 --case 'nccl.all_reduce@1/time*bytes=67108864*dtype=float*place=out*')

hangs() {
    echo "== going wrong"
    went missing-rank hang "has not come"
    went endless-kernel hang "waits for its GPU"
    # With two ranks the other one waits for it.
    went aborted "$([ "$gpus" -gt 1 ] && echo hang || echo error)" "gives up"
    [ "$gpus" -gt 1 ] || return
    # Communicator and buffers are held, one operation went well, and another rank's GPU waits in the second.
    went stopped-rank hang "is stopped" "waits for its GPU"
    went silent-with-p2p hang "waits for its GPU" '"outcome":"ok"}'
    echo "== /dev/shm of 64 MiB with P2P (row 30)"
    small_shm "$program" "${one[@]}" >"$out/row-30.txt" 2>&1 || wrong "row 30: status $?"
    tail -4 "$out/row-30.txt"
    keep row-30
    grep '"type":"record"' "$(newest)" | grep -q '"outcome":"ok"' || wrong "row 30 is not ok"
    echo "== and without (row 31)"
    NCCL_P2P_DISABLE=1 NCCL_CUMEM_HOST_ENABLE=0 small_shm "$program" "${one[@]}" >"$out/row-31.txt" 2>&1
    tail -8 "$out/row-31.txt"
    keep row-31
    grep -o '"outcome":"error","reason":"[^"]*"' "$(newest)" | head -2
    grep -q 'out of space in /dev/shm' "$(newest)" || wrong "row 31 does not speak of space"
    grep -q '"id":"nccl.no-space"' "$(newest)" || wrong "row 31 has no finding"
    told || wrong "row 31: see above"
}

if [ "$only" = hangs ]; then
    hangs
    took=$((SECONDS - began))
    echo "all took $took s"
    [ "$took" -le 100 ] || wrong "over 100 s"
    nvidia-smi --query-gpu=index,utilization.gpu,memory.used --format=csv
    echo "failures: $failures"
    [ "$failures" = 0 ]
    exit
fi
look
hangs
went none ok
went stopped hang "is stopped"
went hangs-with-p2p hang '"outcome":"ok"}'
[ "$gpus" -lt 2 ] || went no-space error "out of space in /dev/shm" "No space left on device"
echo "== a process that cannot be killed (kill made void)"
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p /tmp/gpuvet-hangs
(cd /tmp/gpuvet-hangs && GPUVET=$program GPUVET_SOURCE=$source bash "$source/tests/cli/run_hangs.sh") || wrong "run_hangs.sh"
nvidia-smi --query-gpu=index,utilization.gpu,memory.used --format=csv
echo "failures: $failures"
[ "$failures" = 0 ]
