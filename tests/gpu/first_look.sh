#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One call on a GPU machine: first_look.sh PROGRAM OUT [deep]. Runs every case of `run`, an A/A comparison, a
# baseline, and with `deep` the deliberate faults; prints what a reader needs, keeps the run files (gzip) under OUT. Nothing of the machine is changed.
set -u
program=$(realpath "$1")
out=$2
mkdir -p "$out"
export GPUVET_RESULTS=/tmp/gpuvet-results GPUVET_LOCK=/tmp/gpuvet.lock
failures=0

# expect STATUS COMMAND…
expect() {
    local want=$1 got=0
    shift
    "$@" || got=$?
    [ "$got" = "$want" ] || { echo "FAIL: status $got instead of $want: $*"; failures=$((failures + 1)); }
}
newest() { find "$GPUVET_RESULTS/runs" -name '*.jsonl' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-; }
keep() { gzip -9 -c "$(newest)" >"$out/$1.jsonl.gz"; }
# field KEY: of the fault and corruption records of the newest run
reasons() { grep '"type":"record"' "$(newest)" | grep -o '"outcome":"[a-z]*","reason":"[^"]*"' | sort | uniq -c; }

if ! [ -e /dev/nvidiactl ]; then
    echo "skip: no NVIDIA driver on this machine"
    exit 77
fi
echo "== env"; "$program" env >"$out/env.txt"; grep -E '^(gpu|pci|kernel.clock|hypervisor|numa.nodes)' "$out/env.txt"
echo "== list"; time "$program" list --profile standard
echo "== quick"; start=$SECONDS; expect 0 "$program" run --profile quick --no-baseline; echo "quick took $((SECONDS - start)) s"; keep quick
echo "== standard A"; start=$SECONDS; expect 0 "$program" run --no-baseline --label A; echo "standard took $((SECONDS - start)) s"; keep standard-a; a=$(newest)
echo "== standard B"; start=$SECONDS; expect 0 "$program" run --no-baseline --label B; echo "standard took $((SECONDS - start)) s"; keep standard-b; b=$(newest)
if "$program" compare --help >/dev/null 2>&1; then
    echo "== A/A"
    expect 0 "$program" compare "$a" "$b"
fi
echo "== before and after, as a user does it"
third=$(mktemp)
expect 0 "$program" run --no-baseline --label C; keep standard-c; cp "$(newest)" "$third"
expect 0 "$program" baseline save before "$a" "$b" "$third"
expect 0 "$program" run --label after | tee "$out/against-baseline.txt"; keep standard-after
if [ "${3:-}" = deep ]; then
echo "== corruption"
expect 1 "$program" run --no-baseline --rounds 1 --case '*/bandwidth*corrupt=*'; reasons; keep corruption
echo "== faults"
for how in gpu-sticky gpu-hang hang crash; do
    expect 1 "$program" run --no-baseline --allow-busy --rounds 1 --case "fault@1/*how=$how}*" --case 'copy.latency'
    reasons
    grep -c '"outcome":"ok"' "$(newest)"
    keep "fault-$how"
done
echo "== wrong GPU"; expect 2 "$program" run --gpu 99
fi
nvidia-smi --query-gpu=index,utilization.gpu,memory.used --format=csv
echo "failures: $failures"
[ "$failures" = 0 ]
