#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An interrupt ends with a footer and leaves nothing running; kill -9 leaves a file that still reads.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

# start PATTERN: a run in the background, waited for until its first item has begun.
start() {
    rm -rf results
    "$GPUVET" run --allow-busy --no-baseline --case "$1" >out 2>err &
    pid=$!
    for _ in $(seq 200); do
        grep -qs '"type":"start"' results/runs/*.jsonl && return 0
        sleep 0.1
    done
    fail "no item began"
}
children_of() { pgrep -P "$1"; }

for signal in INT TERM; do
    start 'fault@1/*how=hang}*'
    workers=$(children_of "$pid")
    kill -"$signal" "$pid"
    status=0
    wait "$pid" || status=$?
    want=130
    [ "$signal" = TERM ] && want=143
    [ "$status" = "$want" ] || fail "SIG$signal: status $status instead of $want"
    grep -q '"type":"footer".*"outcome":"interrupted"' "$(last_run)" || fail "SIG$signal: no footer"
    for w in $workers; do
        for _ in $(seq 80); do [ -d "/proc/$w" ] || break; sleep 0.1; done
        [ ! -d "/proc/$w" ] || fail "SIG$signal: worker $w is left"
    done
done

start 'fault@1/*how=hang}*'
workers=$(children_of "$pid")
kill -KILL "$pid"
wait "$pid" 2>/dev/null
for w in $workers; do
    for _ in $(seq 80); do [ -d "/proc/$w" ] || break; sleep 0.1; done
    [ ! -d "/proc/$w" ] || fail "kill -9: worker $w is left"
done
! grep -q '"type":"footer"' "$(last_run)" || fail "a footer after kill -9"
expect 2 "$GPUVET" compare "$(last_run)" "$(last_run)"
