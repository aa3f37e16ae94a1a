#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Files that are no runs, or were: one clear line each, status 2.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
make() { python3 "$GPUVET_SOURCE/tests/cli/make_run.py" "$@" || fail "make_run.py $*"; }
make a.jsonl seed=1
bad() { # TEXT FILE
    expect 2 "$GPUVET" compare a.jsonl "$2"
    one_line
    has err "$1"
}
bad "nowhere.jsonl" nowhere.jsonl
bad "nowhere/x" nowhere/x
: >empty
bad "the file is empty" empty
head -c 50 a.jsonl >cut.jsonl
bad "the first line is cut off" cut.jsonl
head -c 300000 /dev/urandom >noise
bad "noise" noise
echo '{"schema":"gpuvet.doctor/1"}' >other
bad "first line is no header" other
make later.jsonl schema=gpuvet.run/2
bad "gpuvet.run/2" later.jsonl
sed '5s/.*/garbage/' a.jsonl >middle
bad "middle:5:" middle
sed '3s/"outcome":"ok"/"outcome":"fine"/' a.jsonl >outcome
bad "outcome:3: the record's outcome is 'fine'" outcome
cat a.jsonl a.jsonl >twice
bad "a second header" twice
{ head -1 a.jsonl; head -c 1200000 /dev/zero | tr '\0' x; echo; } >long
bad "longer than" long
gzip -c a.jsonl | head -c 2000 >cut.gz
bad "cannot unpack cut.gz" cut.gz
mkfifo fifo
bad "no regular file" ./fifo
mkdir dir
bad "no run file ./dir" ./dir
{ printf '%0.s[' $(seq 200); echo; } >deep
bad "deep" deep

expect 2 "$GPUVET" compare a.jsonl
one_line
has err "BEFORE and AFTER"
expect 2 "$GPUVET" compare --before a.jsonl
has err "both --before"
expect 2 "$GPUVET" compare --before a.jsonl a.jsonl --after a.jsonl
has err "the same run"
expect 2 "$GPUVET" compare a.jsonl a.jsonl --results nowhere
has err "nowhere"
exit 0
