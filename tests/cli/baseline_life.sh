#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A baseline's life: saved, shown, used, replaced, damaged, removed.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
make() { python3 "$GPUVET_SOURCE/tests/cli/make_run.py" "$@" || fail "make_run.py $*"; }
for s in 1 2 3; do make "b$s.jsonl" seed=$s boot=boot$s; done
make slow.jsonl seed=5 h2d=0.93

# Reading needs a folder, saving makes one.
expect 2 "$GPUVET" baseline list
one_line
has err "gpuvet run creates it"
expect 0 "$GPUVET" baseline save before b1.jsonl b2.jsonl b3.jsonl
has out "holds 3 runs"
[ ! -s err ] || fail "a warning although 3 runs of 3 boots"
[ -z "$(find results/baselines -name '.*')" ] || fail "something unfinished is left"
expect 0 "$GPUVET" baseline list
has out "before"
has out "3 runs"
expect 0 "$GPUVET" baseline show before
has out "b2.jsonl"
rm b1.jsonl b2.jsonl # the baseline has its own copies
expect 1 "$GPUVET" compare before slow.jsonl
has out "regressed (2)"
lacks out "shipped default"

# A plan says at once that the baseline named for it is not there; doctor, that no folder of results is.
expect 0 "$GPUVET" run --dry-run --profile quick --case null --baseline before
expect 2 "$GPUVET" run --dry-run --profile quick --case null --baseline nonesuch
one_line
has err "no baseline 'nonesuch'"
"$GPUVET" doctor --results nowhere >out 2>err
has err "judged without a baseline: results folder nowhere (--results)"

# A run in runs/ by its file name alone.
cp slow.jsonl results/runs/
(mkdir elsewhere && cd elsewhere && GPUVET_RESULTS=../results "$GPUVET" compare before slow.jsonl >/dev/null)
[ $? = 1 ] || fail "runs/ was not looked into"

# Not over an existing one, not under any name, not of runs that do not belong together.
expect 2 "$GPUVET" baseline save before b3.jsonl
has err "--force"
expect 0 "$GPUVET" baseline save --force before b3.jsonl
has err "with at least 3"
has err "one boot"
# One in which nothing was measured is saved, and said to be worth nothing.
sed 's/"outcome":"ok"/"outcome":"error","reason":"none"/' b3.jsonl >failed.jsonl
expect 0 "$GPUVET" baseline save failed failed.jsonl
has err "failed.jsonl holds no figure"
expect 0 "$GPUVET" baseline remove failed
for name in ../x .hidden "a b" "" a/b; do
    expect 2 "$GPUVET" baseline save "$name" b3.jsonl
    one_line
    has err "cannot name a baseline"
done
mixed() {
    make other.jsonl seed=7 "${@:2}"
    expect 2 "$GPUVET" baseline save mixed b3.jsonl other.jsonl
    has err "$1"
}
mixed "different machines" machine=m2
mixed "different builds" build=b2
mixed "different GPUs" gpus=1
mixed "a simulated and a real run" simulated=1
cp b3.jsonl copy.jsonl
expect 2 "$GPUVET" baseline save mixed b3.jsonl copy.jsonl
has err "the same run"
expect 2 "$GPUVET" baseline show mixed
has err "no baseline 'mixed'"

# Damage is named in one line.
damage() {
    expect 2 "$GPUVET" compare before slow.jsonl
    one_line
    has err "baseline 'before'"
    expect 0 "$GPUVET" baseline save --force before b3.jsonl
}
echo >>results/baselines/before/b3.jsonl
damage
rm results/baselines/before/b3.jsonl
damage
echo '{' >results/baselines/before/baseline.json
expect 0 "$GPUVET" baseline list
has err damaged
damage
sed -i 's/b3.jsonl/..\/x/' results/baselines/before/baseline.json
damage
rm results/baselines/before/baseline.json
damage

# Of a later gpuvet it is whole: nobody is told to remove it.
sed -i 's/"gpuvet.baseline\/1"/"gpuvet.baseline\/2"/' results/baselines/before/baseline.json
for command in 'compare before slow.jsonl' 'baseline show before'; do
    # shellcheck disable=SC2086
    expect 2 "$GPUVET" $command
    one_line
    has err "use the gpuvet that wrote it"
    lacks err damaged
done
expect 0 "$GPUVET" baseline remove before

# The one that is taken unasked is in doctor's way never, in run's only while it would be lost unseen.
machine=$("$GPUVET" env --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["environment"].get("machine_id", ""))')
run_here() { expect "$1" "$GPUVET" run --allow-busy --case null --rounds 1 "${@:2}"; }
doctor_here() { # what it finds here may be status 1
    local got=0
    "$GPUVET" doctor >out 2>err || got=$?
    if [ $got -gt 1 ] || [ ! -s out ]; then fail "doctor: status $got"; fi
}
if [ -n "$machine" ]; then
    make here.jsonl seed=1 machine="$machine"
    expect 0 "$GPUVET" baseline save here here.jsonl
    echo >>results/baselines/here/here.jsonl
    doctor_here
    has err "judged without a baseline: baseline 'here'"
    expect 2 "$GPUVET" doctor --baseline here
    one_line
    run_here 2
    one_line
    has err --no-baseline
    run_here 0 --no-baseline
    echo '{' >results/baselines/here/baseline.json
    doctor_here
    has err "passed over: baseline 'here'"
    run_here 0
    has err "passed over: baseline 'here'"
    expect 0 "$GPUVET" baseline remove here
    rmdir results/baselines
    : >results/baselines
    doctor_here
    has err "judged without a baseline"
    rm results/baselines
fi

expect 0 "$GPUVET" baseline list
has out "No baseline yet"
expect 2 "$GPUVET" baseline remove before
has err "no baseline 'before'"
expect 2 "$GPUVET" baseline sve x
has err "did you mean save"
exit 0
