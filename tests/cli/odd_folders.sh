#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Results folders that are full, forbidden, links, or hold what does not belong there: nothing is lost, no half run or
# baseline is left, and the one line names the true cause.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
make_run() { python3 "$GPUVET_SOURCE/tests/cli/make_run.py" "$@"; }
make_run a.jsonl seed=1
make_run b.jsonl seed=2
baseline() { expect "$1" "$GPUVET" baseline "${@:2}"; }
same() { cmp -s "$1" "results/baselines/$2/$1" || fail "$1 is not what baseline $2 holds"; }

# A results folder may be a link.
mkdir real
ln -s real results
expect 0 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --profile quick
baseline 0 save x a.jsonl
[ -e real/baselines/x/baseline.json ] || fail "the link was not followed"

# What is in the way of a baseline stays.
echo kept >results/baselines/f
ln -s x results/baselines/l
mkfifo results/baselines/p
for name in f l p; do
    for force in '' --force; do
        # shellcheck disable=SC2086
        baseline 2 save $name a.jsonl $force
        one_line
        has err 'in the way'
    done
    baseline 2 remove $name
    baseline 2 show $name
done
[ "$(cat results/baselines/f)" = kept ] || fail "a file was replaced"
rm results/baselines/[flp]

# FIFOs and folders where files belong hang nobody.
mkdir results/baselines/q
mkfifo results/baselines/q/baseline.json fifo
for command in 'baseline show q' 'compare q a.jsonl' 'compare fifo a.jsonl' 'baseline save y fifo' 'run --simulate --results fifo' \
    'run --allow-busy --case null --results fifo'; do
    # shellcheck disable=SC2086
    expect 2 timeout 20 "$GPUVET" $command
    one_line
done
expect 0 timeout 20 "$GPUVET" baseline list
has out x
has err "'q' is damaged"
baseline 0 remove q

# A replaced baseline is the old or the new one, also when something goes wrong.
baseline 0 save x b.jsonl --force
same b.jsonl x
[ ! -e results/baselines/x/a.jsonl ] || fail "the replaced baseline holds the old run"
baseline 2 save x a.jsonl nonesuch --force
same b.jsonl x
[ -z "$(find results/baselines -name '.*')" ] || fail "something half-made is left"

# What a killed save left is swept away a day later, and nothing else.
mkdir results/baselines/.x.new.1 results/baselines/.x.new.2 results/baselines/.x.old.3 results/baselines/.mine
cp a.jsonl results/baselines/.x.new.1/
touch -d '2 days ago' results/baselines/.x.new.1 results/baselines/.x.old.3 results/baselines/.mine
baseline 0 save z a.jsonl
[ "$(cd results/baselines && echo .[a-z]*)" = '.mine .x.new.2 .x.old.3' ] || fail "swept away or left: $(ls -A results/baselines)"
rmdir results/baselines/.[a-z]*
baseline 0 remove z

# A file that is no lock is not overwritten.
echo precious >precious
expect 2 env GPUVET_LOCK="$PWD/precious" "$GPUVET" run --allow-busy --case null
one_line
has err GPUVET_LOCK
[ "$(cat precious)" = precious ] || fail "GPUVET_LOCK overwrote a file"

if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=8k none small 2>/dev/null; then
    expect 2 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --results small
    one_line
    [ -z "$(find small -type f)" ] || fail "a run file without a header is left"
    baseline 2 save x a.jsonl --results small
    one_line
    [ -z "$(find small/baselines -mindepth 1)" ] || fail "a half baseline is left"
    mount -o remount,size=64k small
    baseline 0 save x a.jsonl --results small
    baseline 2 save x b.jsonl --force --results small
    has err 'No space left'
    baseline 0 show x --results small
    has out a.jsonl
    umount small
fi

# An ordinary user without permission is told so, and not that a baseline is damaged.
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
chmod 755 .
[ "$(id -u)" = 0 ] && nobody "$GPUVET" version >/dev/null 2>&1 && nobody ls . >/dev/null 2>&1 || exit 0
forbidden() {
    expect "$1" nobody "$GPUVET" "${@:2}"
    has err 'Permission denied'
    lacks err damaged
}
chmod 600 a.jsonl results/baselines/x/*
forbidden 2 compare a.jsonl b.jsonl
one_line
forbidden 2 compare x b.jsonl
one_line
forbidden 2 baseline remove x
one_line
forbidden 0 baseline list
chmod 644 results/baselines/x/*
chmod 700 results/baselines
for command in 'baseline list' 'baseline show x' 'compare x b.jsonl' 'baseline save y b.jsonl' \
    "run --simulate --results results" 'run --simulate --results new' "compare $PWD/results/baselines/x/b.jsonl b.jsonl"; do
    # shellcheck disable=SC2086
    forbidden 2 $command
    one_line
done
