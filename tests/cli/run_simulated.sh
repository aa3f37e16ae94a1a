#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole pipeline with made-up values: no GPU, no waiting, equal seeds give equal records.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

expect 0 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --seed 7
has out "copy.h2d"
has out "made up"
lacks out "against the baseline" # there is none
grep -qE '^host\.wake +wake\.p99 .*  largest of 12000: [0-9.]+ us$' out || fail "no largest of a tail's samples, in its unit"
a=$(last_run)
expect 0 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --seed 7
b=$(last_run)
[ "$a" != "$b" ] || fail "two runs in one made-up second share a file"
# Only the command and the process differ.
tail -n +2 "$a" >a.records
tail -n +2 "$b" >b.records
cmp a.records b.records || fail "equal seeds, other records"
expect 0 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --seed 8
tail -n +2 "$(last_run)" >c.records
! cmp -s a.records c.records || fail "another seed, the same records"

# A profile of twelve rounds, every primary item in each, and a footer.
[ "$(grep -c '"type":"footer"' "$a")" = 1 ] || fail "no footer"
grep -q '"outcome":"complete"' "$a" || fail "not complete"
rounds=$(grep '"type":"record"' "$a" | grep '"case":"memory.copy"' | grep -o '"round":[0-9]*' | sort -u | wc -l)
[ "$rounds" = 12 ] || fail "$rounds rounds instead of 12"

# An effect is found, and only where it is.
for s in 1 2 3; do
    expect 0 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --seed "$s" --no-baseline
    cp "$(last_run)" "before$s.jsonl"
done
expect 0 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --seed 4 --no-baseline
cp "$(last_run)" same.jsonl
expect 0 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --seed 5 --no-baseline --effect 'copy.h2d=0.9'
cp "$(last_run)" slow.jsonl
expect 0 "$GPUVET" compare --before before1.jsonl before2.jsonl before3.jsonl --after same.jsonl
! grep -qE '^(regressed|improved) \(' out || fail "a change where there is none"
expect 1 "$GPUVET" compare --before before1.jsonl before2.jsonl before3.jsonl --after slow.jsonl
grep -q '^regressed (2)' out || fail "both GPUs' copy.h2d regressed, and nothing else"
sed -n '/^regressed/,/^[a-z]/p' out | grep -q 'copy.h2d' || fail "copy.h2d is not named"
