#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run --report: the one line of a CI job. And reports of runs of real machines.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
mkdir -p results
run() { "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" "$@"; }
for s in 1 2 3; do expect 0 run --seed $s; done
expect 0 "$GPUVET" baseline save before results/runs/*.jsonl
expect 1 run --seed 9 --effect 'copy.h2d=0.9' --baseline before --report out1
for f in index.html summary.md results.csv rounds.csv junit.xml metrics.prom; do [ -s "out1/$f" ] || fail "no $f"; done
has out1/summary.md "### Regressed"
grep -qE 'host\.wake wake\.p99 [^<]*timer<br><small>largest of 12000 samples: ' out1/index.html || fail "no largest of a tail's samples"
has out1/summary.md "copy.h2d"
has out1/index.html "Every figure here is made up"
has out1/index.html "the baseline &#39;before&#39;"
# Without a baseline there is a report too; where none can be written it is said before anything is measured.
expect 0 run --seed 10 --no-baseline --report out2
has out2/index.html "there was no baseline to compare with"
touch file
mkdir -p taken
touch taken/plots
ln -s nowhere dangling
for to in file file/out "" taken dangling; do
    expect 2 run --seed 11 --no-baseline --report "$to"
    one_line
    has err "--report: "
    has err "$to"
done
[ "$(find results/runs -name '*.jsonl' | wc -l)" = 5 ] || fail "measured for a report that cannot be written"
[ "$(ls -A taken)" = plots ] || fail "something was left in the folder"

# Two H200: nothing changed between these runs; and the last with a change made up.
reference=$GPUVET_SOURCE/results/reference/h200-x2
expect 0 "$GPUVET" report --before "$reference"/standard-{a,b,c}.jsonl.gz --after "$reference/standard-after.jsonl.gz" -o same
has same/summary.md "Nothing regressed"
lacks same/index.html "pill bad"
python3 "$GPUVET_SOURCE/tests/cli/change_run.py" "$reference/standard-after.jsonl.gz" changed.jsonl copy.h2d=0.91 \
    env:kernel.clocksource=hpet env:cmdline.intel_idle.max_cstate=1 || fail "change_run.py"
expect 1 "$GPUVET" report --before "$reference"/standard-{a,b,c}.jsonl.gz --after changed.jsonl -o changed
has changed/summary.md "clocksource is no longer tsc"
has changed/index.html "cmdline.intel_idle.max_cstate"
[ "$(grep -c '^| `copy.h2d' changed/summary.md)" = 2 ] || fail "not both GPUs' copies"
exit 0
