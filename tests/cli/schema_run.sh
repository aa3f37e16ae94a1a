#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is written fits its schema, and the schema refuses what is broken.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is missing"
schema() { python3 "$GPUVET_SOURCE/tests/cli/check_schema.py" "$@" >out 2>err || fail "check_schema $*"; }
SCHEMAS=$GPUVET_SOURCE/results/schema

runs=()
for s in 1 2 3; do
    expect 0 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --profile quick --seed $s --no-baseline
    cp "$(last_run)" run$s.jsonl
    schema "$SCHEMAS/run.schema.json" run$s.jsonl
    runs+=("run$s.jsonl")
done
schema --broken "$SCHEMAS/run.schema.json" run1.jsonl
# A failure carries its reason.
expect 1 "$GPUVET" run --simulate --case fault --rounds 1 --no-baseline
schema "$SCHEMAS/run.schema.json" "$(last_run)"
# The files that other tests compare are of the same format.
python3 "$GPUVET_SOURCE/tests/cli/make_run.py" made.jsonl fail=copy.d2h
schema "$SCHEMAS/run.schema.json" made.jsonl

expect 0 "$GPUVET" baseline save before "${runs[@]}"
schema "$SCHEMAS/baseline.schema.json" results/baselines/before/baseline.json
"$GPUVET" compare --json --force before made.jsonl >comparison.json 2>err
schema "$SCHEMAS/compare.schema.json" comparison.json
"$GPUVET" compare --json before run1.jsonl >comparison.json 2>err
schema "$SCHEMAS/compare.schema.json" comparison.json
exit 0
