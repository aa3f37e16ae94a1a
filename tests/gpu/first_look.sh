#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One call on a GPU machine: first_look.sh PROGRAM OUT [deep]. Runs every case of `run`, an A/A comparison, a
# baseline, and with `deep` the deliberate faults; prints what a reader needs, keeps the run files (gzip) under OUT, and in
# OUT/anchors.md the standard runs' figures beside those of unmodified peers. Each standard run must take 0.8 to 1.2 times
# what `list` predicts. Nothing of the machine is changed.
set -u
program=$(realpath "$1")
out=$2
here=$(dirname "$(realpath "$0")")
mkdir -p "$out"
export GPUVET_RESULTS=${GPUVET_RESULTS:-/tmp/gpuvet-results} GPUVET_LOCK=${GPUVET_LOCK:-/tmp/gpuvet.lock}
node=${GPUVET_LOOK_NODE:-/dev/nvidiactl}
failures=0
# shellcheck source=tests/gpu/lib.sh
. "$here/lib.sh"

# expect STATUS COMMAND…
expect() {
    local want=$1 got=0
    shift
    "$@" || got=$?
    [ "$got" = "$want" ] || { echo "FAIL: status $got instead of $want: $*"; failures=$((failures + 1)); }
}
# reasons: how many records of the newest run went wrong in which way
reasons() { grep '"type":"record"' "$(newest)" | grep -o '"outcome":"[a-z]*","reason":"[^"]*"' | sort | uniq -c; }

# lasted NAME RUN: whether it took as long as was said before
lasted() {
    python3 - "$1" "$2" "$predicted" <<'P' || { echo "FAIL: standard $1 took another time than was predicted"; failures=$((failures + 1)); }
import datetime, json, sys
name, path, predicted = sys.argv[1], sys.argv[2], float(sys.argv[3])
lines = [json.loads(line) for line in open(path)]
at = lambda line, key: datetime.datetime.fromisoformat(line[key].replace("Z", "+00:00"))
took = (at(lines[-1], "finished") - at(lines[0], "started")).total_seconds()
print(f"standard {name} took {took:.0f} s, predicted were {predicted:.0f} s: {took / predicted:.2f} times")
sys.exit(0 if 0.8 <= took / predicted <= 1.2 else 1)
P
}

if ! [ -e "$node" ]; then
    echo "skip: no NVIDIA driver on this machine"
    exit 77
fi
echo "== env"; "$program" env >"$out/env.txt"; grep -E '^(gpu|pci|kernel.clock|hypervisor|numa.nodes)' "$out/env.txt"
command -v python3 >/dev/null || { echo "skip: python3 reads the runs, and is not here"; exit 77; }
echo "== list"; "$program" list --profile standard
predicted=$("$program" list --profile standard --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["seconds"])')
echo "== quick"; start=$SECONDS; expect 0 "$program" run --profile quick --no-baseline; echo "quick took $((SECONDS - start)) s"; keep quick
echo "== standard A"; expect 0 "$program" run --no-baseline --label A; keep standard-a; a=$(newest); lasted A "$a"
echo "== standard B"; expect 0 "$program" run --no-baseline --label B; keep standard-b; b=$(newest); lasted B "$b"
if "$program" compare --help >/dev/null 2>&1; then
    echo "== A/A"
    expect 0 "$program" compare "$a" "$b"
fi
echo "== before and after, as a user does it"
third=$(mktemp)
expect 0 "$program" run --no-baseline --label C; keep standard-c; cp "$(newest)" "$third"; lasted C "$third"
expect 0 "$program" baseline save before "$a" "$b" "$third"
expect 0 "$program" run --label after | tee "$out/against-baseline.txt"; keep standard-after
echo "== anchors"
anchored=0
python3 "$here/anchors.py" "$a" "$b" "$third" >"$out/anchors.md" || anchored=$?
cat "$out/anchors.md"
case $anchored in 0 | 77) ;; *) echo "FAIL: figures outside what peers measured"; failures=$((failures + 1)) ;; esac
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
[ -n "${GPUVET_LOOK_NODE:-}" ] || nvidia-smi --query-gpu=index,utilization.gpu,memory.used --format=csv
echo "failures: $failures"
[ "$failures" = 0 ]
