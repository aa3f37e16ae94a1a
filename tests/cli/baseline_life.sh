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

expect 0 "$GPUVET" baseline remove before
expect 0 "$GPUVET" baseline list
has out "No baseline yet"
expect 2 "$GPUVET" baseline remove before
has err "no baseline 'before'"
expect 2 "$GPUVET" baseline sve x
has err "did you mean save"
exit 0
