#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Control: the host against the host, once through the path of containers (a file brought in, a parked worker): quick
# runs. What is the same must not be called different more often than declared. Also the verdict's other side: a place
# that is slower by construction (--simulate) is found.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
need python3
printf '%s\n' env -i PATH=/usr/bin:/bin >self.argv
runs=6
[ -z "${GPUVET_TEST_LONG:-}" ] || runs=20
runs=${GPUVET_CONTROL_RUNS:-$runs}
for i in $(seq "$runs"); do
    expect 0 "$GPUVET" run --profile quick --case host.frequency --case null --allow-busy --no-baseline --json --seed "$i" \
        --in host --in command:self.argv
    cp out "out.$i"
done
python3 - "$runs" <<'PY' || fail "the same place is called different"
import json, sys
runs = int(sys.argv[1])
judged = alarms = 0
for i in range(1, runs + 1):
    places = json.load(open(f"out.{i}"))["places"]
    assert len(places) == 1 and places[0]["rounds"] == 5, places
    judged += places[0]["family"]
    bad = [s for s in places[0]["series"] if s["verdict"] in ("improved", "regressed")]
    alarms += bool(bad)
    for s in bad:
        print(f"run {i}: {s['label']}: {100 * (s['ratio'] - 1):+.2f} % [{s['low']:.4f}, {s['high']:.4f}] p {s['p_adjusted']:.2g}")
assert judged > 0
print(f"control: {runs} runs, {judged} series judged, {alarms} runs with a difference")
# At 1 % a run, two or more of 6 come once in seven hundred times, three or more of 20 once in a thousand.
assert alarms <= (1 if runs < 20 else max(2, runs // 20)), alarms
PY
capture=$CAPTURES/guest-2gpu
expect 0 "$GPUVET" run --profile standard --simulate --from "$capture" --no-baseline --json --in host --in command:self.argv \
    --case 'copy.*' --effect 'copy.h2d@*@command:self.argv=0.95' --effect 'copy.d2h@*placement=own}*=0.9'
python3 - <<'PY' || fail "what is slower by construction is not found, or more than that"
import json
series = json.load(open("out"))["places"][0]["series"]
for s in series:
    if s["class"] != "primary":
        continue
    slower = s["key"].startswith("copy.h2d@")
    assert s["verdict"] == ("regressed" if slower else s["verdict"]), s
    assert slower or s["verdict"] in ("same", "undecided"), s
    if slower:
        assert s["cause"], s
placed = [s for s in series if s["key"].startswith("copy.d2h@") and "placement" in s]
assert placed and all(s["placement"]["verdict"] == "regressed" and "placement" in s["cause"] for s in placed), placed
PY
