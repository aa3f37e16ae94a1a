#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Control, at length: the host beside a container that is limited in nothing (real LXC, all of the host's CPUs), every
# host case, quick paired runs with judgement. Nothing differs, so at most the declared rate may be called different.
# Long (25 s a run with little else running), so only with --all, or by hand:
#   GPUVET=PROGRAM GPUVET_SOURCE=. GPUVET_CONTROL_RUNS=20 bash tests/scratch.sh "$PWD/tests/container/control_runs.sh"
# GPUVET_CONTROL_IN=command takes the host itself through the path of containers in place of LXC; GPUVET_CONTROL_OUT
# names a file that gets the table.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
[ -n "${GPUVET_TEST_LONG:-}${GPUVET_CONTROL_RUNS:-}" ] || skip "long: with scripts/test.sh --all"
runs=${GPUVET_CONTROL_RUNS:-20}
if [ "${GPUVET_CONTROL_IN:-lxc}" = command ]; then
    need python3
    printf '%s\n' env -i PATH=/usr/bin:/bin >self.argv
    target=command:self.argv
else
    # shellcheck source=lxc.bash
    . "${0%/*}/lxc.bash"
    lxc_make "lxc.net.0.type = none"
    sed -i '/cpuset.cpus/d' "/var/lib/lxc/$NAME/config"
    lxc_up
    target=lxc:$NAME
fi
for i in $(seq "$runs"); do
    expect 0 "$GPUVET" run --profile quick --allow-busy --no-baseline --no-own-placement --json --seed "$i" \
        --case 'host.*' --in host --in "$target"
    cp out "out.$i"
done
python3 - "$runs" >table <<'PY' || { cat table; fail "the same place is called different more often than declared"; }
import collections, json, sys

runs = int(sys.argv[1])
declared = 0.01  # a comparison that names any difference
alarms = judged = 0
of_series = collections.defaultdict(collections.Counter)
print(f"{'run':>4} {'judged':>6} {'worse':>6} {'better':>6} {'same':>6} {'undecided':>9}  smallest p")
for i in range(1, runs + 1):
    with open(f"out.{i}", encoding="utf-8") as f:
        (place,) = json.load(f)["places"]
    assert place["rounds"] == 5, place["rounds"]
    primary = [s for s in place["series"] if s["class"] == "primary"]
    counts = collections.Counter(s["verdict"] for s in primary)
    least = min((s["p_adjusted"] for s in primary if s["p_adjusted"] is not None), default=1)
    print(
        f"{i:4} {place['family']:6} {counts['regressed']:6} {counts['improved']:6} {counts['same']:6}"
        f" {counts['undecided']:9}  {least:.3g}"
    )
    judged += place["family"]
    alarms += counts["regressed"] + counts["improved"] > 0
    for s in primary:
        of_series[s["label"].split(" in ")[0]][s["verdict"]] += 1
        if s["verdict"] in ("regressed", "improved"):
            print(f"       {s['label']}: {100 * (s['ratio'] - 1):+.2f} % [{s['low']:.4f}, {s['high']:.4f}] p {s['p_adjusted']:.2g}")
print()
print(f"{'series':60} different  same  undecided")
for label, counts in sorted(of_series.items()):
    print(f"{label:60} {counts['regressed'] + counts['improved']:9} {counts['same']:5} {counts['undecided']:10}")
print()
print(
    f"{runs} runs, {judged} series judged; {alarms} runs name a difference, {declared * runs:.1f} are declared"
    f" (at most {max(1, round(declared * runs))} may)"
)
assert judged > 0, "nothing was judged"
assert alarms <= max(1, round(declared * runs)), alarms
PY
cat table
[ -z "${GPUVET_CONTROL_OUT:-}" ] || cp table "$GPUVET_CONTROL_OUT"
nothing_left 10 /tmp /dev/shm
