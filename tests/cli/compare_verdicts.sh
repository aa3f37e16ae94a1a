#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Verdicts and exit statuses on run files with known contents.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
make() { python3 "$GPUVET_SOURCE/tests/cli/make_run.py" "$@" || fail "make_run.py $*"; }

for s in 1 2 3; do make "b$s.jsonl" seed=$s boot=boot$s; done
make same.jsonl seed=4
make slow.jsonl seed=5 h2d=0.93
make fast.jsonl seed=6 d2h=1.08

expect 0 "$GPUVET" compare --before b1.jsonl b2.jsonl b3.jsonl --after same.jsonl
lacks out regressed\ \(
lacks out "shipped default"
has out "over 100 such comparisons"
expect 1 "$GPUVET" compare --before b1.jsonl b2.jsonl b3.jsonl --after slow.jsonl
has out "regressed (2)"
lacks out "improved ("
expect 0 "$GPUVET" compare --before b1.jsonl b2.jsonl b3.jsonl --after fast.jsonl
has out "improved (2)"
# One run a side: the shipped default, marked; 7 % is beyond three times 0.3 %.
expect 1 "$GPUVET" compare b1.jsonl slow.jsonl
has out "regressed (2)"
has out "shipped default"
# Compressed runs are the same runs.
gzip -k b1.jsonl
expect 1 "$GPUVET" compare b1.jsonl.gz slow.jsonl
has out "regressed (2)"

# Undecided only counts with --strict.
make wild1.jsonl seed=7 rounds=2
make wild2.jsonl seed=8 rounds=2 h2d=1.015 d2h=1.015
expect 0 "$GPUVET" compare wild1.jsonl wild2.jsonl
has out "undecided ("
expect 3 "$GPUVET" compare --strict wild1.jsonl wild2.jsonl

# Descriptive series are shown and never judged, whatever they do.
has out "descriptive, not judged (2)"

# JSON says the same.
expect 1 "$GPUVET" compare --json b1.jsonl slow.jsonl
python3 - <<'PY' || fail "the JSON is not what was expected"
import json
c = json.load(open("out"))
assert c["schema"] == "gpuvet.compare/1" and c["exit_status"] == 1 and c["verdicts"]["regressed"] == 2
assert sorted(s["label"].split()[0] for s in c["series"] if s["verdict"] == "regressed") == ["copy.h2d"] * 2
assert all(s["between_is_default"] for s in c["series"] if s["verdict"] == "regressed")
PY

# A failed check counts, unless it failed before too.
make broken.jsonl seed=9 fail=copy.d2h
expect 1 "$GPUVET" compare b1.jsonl broken.jsonl
has out "4 wrong words"
make broken0.jsonl seed=10 fail=copy.d2h
expect 0 "$GPUVET" compare broken0.jsonl broken.jsonl
has out "as in BEFORE"

# A run that was cut off is compared with what it holds, and says what was running.
make cut.jsonl seed=11 end=cut
expect 0 "$GPUVET" compare b1.jsonl cut.jsonl
has out "was interrupted while launch.latency@1/call{gpu=GPU-22222222-bbbb;after=busy,wait=spin}@host in round 11"
make none.jsonl seed=12 end=none
expect 0 "$GPUVET" compare none.jsonl same.jsonl
has out "none.jsonl was interrupted"
exit 0
