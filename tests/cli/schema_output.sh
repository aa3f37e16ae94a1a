#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the commands print for machines and keep in files fits its schema, and no schema takes what is broken. Runs,
# comparisons and baselines: schema_run.sh; doctor and topo: schema_doctor.sh.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is missing"
NODE=$CAPTURES/guest-2gpu
fits() { # SCHEMA FILE
    python3 - "$GPUVET_SOURCE/results/schema/$1.schema.json" "$2" >out 2>err <<'P' || fail "$2 against $1"
import copy, json, sys
import jsonschema
schema, whole = (json.load(open(f)) for f in sys.argv[1:])
check = jsonschema.Draft7Validator(schema)
check.validate(whole)
# What a schema asks for it must miss, and a value of another type it must see, wherever that is set down.
for name in schema["required"] or list(whole):
    broken = copy.deepcopy(whole)
    if name in schema["required"]:
        del broken[name]
        assert not check.is_valid(broken), f"without {name} it fits"
    broken = {**whole, name: [[]] if not isinstance(whole[name], list) else "x"}
    assert name not in schema["properties"] or not check.is_valid(broken), f"with another {name} it fits"
P
}

expect 0 "$GPUVET" env --json
cp out env.json
fits env env.json
expect 0 "$GPUVET" env --json --from "$NODE"
cp out env.json
fits env env.json
for profile in quick standard thorough; do
    expect 0 "$GPUVET" list --profile $profile --from "$NODE" --json
    cp out list.json
    fits list list.json
done
for s in 1 2 3; do
    expect 0 "$GPUVET" run --simulate --from "$NODE" --profile quick --seed $s --no-baseline --json
    cp out run.json
    fits run-summary run.json
done
expect 0 env GPUVET_RESULTS="$PWD/real" "$GPUVET" run --allow-busy --no-baseline --rounds 1 --case null --json
cp out run.json
fits run-summary run.json
# What was predicted stands in both, and counts what no item is; what a hypervisor took stands with each figure.
python3 - run.json real/runs/*.jsonl <<'P' || fail "the predicted time"
import json, sys
summary, header = json.load(open(sys.argv[1])), json.loads(open(sys.argv[2]).readline())
assert summary["predicted_s"] == header["predicted_s"] >= 3, (summary, header["predicted_s"])
records = [json.loads(line) for line in open(sys.argv[2]) if '"type":"record"' in line]
assert records and all(0 <= r["steal_before"] <= 1 for r in records), records
P
expect 0 "$GPUVET" baseline save before results/runs/*.jsonl
expect 0 "$GPUVET" run --simulate --from "$NODE" --profile quick --seed 4 --baseline before --json
cp out run.json
fits run-summary run.json
mkdir -p results/baselines/ill && echo '{' >results/baselines/ill/baseline.json
"$GPUVET" baseline list --json >baselines.json 2>err || [ $? -le 2 ] || fail "baseline list"
fits baselines baselines.json
expect 0 "$GPUVET" report results/runs/*.jsonl -o page
for summary in results/summaries/*.json; do
    cp "$summary" summary.json
    fits summary summary.json
done
"$GPUVET" doctor --capture here >out 2>err || [ $? = 1 ] || fail "doctor --capture"
fits capture-manifest here/manifest.json
fits capture-probes here/probes.json
for capture in "$CAPTURES"/*; do
    [ ! -f "$capture/manifest.json" ] || fits capture-manifest "$capture/manifest.json"
    [ ! -f "$capture/probes.json" ] || fits capture-probes "$capture/probes.json"
done
"$GPUVET" env diff "$NODE" here --json >diff.json 2>err || [ $? = 1 ] || fail "env diff"
fits env-diff diff.json
exit 0
