#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of any process of a run, signals, stops: nothing is left running, no lock is stuck, the run file reads.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

# start: a run whose first item hangs; $pid, $worker and $child are its processes.
start() {
    rm -rf results
    "$@" "$GPUVET" run --allow-busy --no-baseline --profile quick --rounds 1 --case 'fault@1/*how=hang}*' --case null >out 2>err &
    pid=$!
    child=
    for _ in $(seq 300); do
        if grep -qs '"case":"fault\|"key":"fault' results/runs/*.jsonl; then
            worker=$(pgrep -P "$pid" | head -1)
            [ -n "$worker" ] && child=$(pgrep -P "$worker" | head -1)
            [ -n "$child" ] && return 0
        fi
        sleep 0.05
    done
    fail "no item began"
}
ended() {
    local status=0
    wait "$pid" 2>/dev/null || status=$?
    [ "$status" = "$1" ] || fail "status $status instead of $1 after $2"
    for p in $worker $child; do
        for _ in $(seq 100); do [ -d "/proc/$p" ] || break; sleep 0.1; done
        [ ! -d "/proc/$p" ] || fail "process $p is left after $2"
    done
    # The lock is free, and what there is of the run can be read.
    expect 2 "$GPUVET" run --allow-busy --case nonesuch
    has err 'no case matches'
    "$GPUVET" compare "$(last_run)" "$(last_run)" >out 2>err
    [ $? -le 2 ] || fail "the run file of $2 cannot be read"
    [ "$3" = footer ] && want=1 || want=0
    [ "$(grep -c '"type":"footer"' "$(last_run)")" = "$want" ] || fail "not $want footer after $2"
}
measured() { grep '"type":"record"' "$(last_run)" | grep "\"case\":\"$1\"" | grep -q "\"outcome\":\"$2\"" || fail "$1 is not $2 after $3"; }

start
kill -KILL "$pid"
ended 137 'kill -9 of the coordinator' none
has out 'interrupted'
start
kill -KILL "$worker"
ended 1 'kill -9 of the worker' footer
measured fault error 'kill -9 of the worker'
measured null ok 'kill -9 of the worker'
start
kill -KILL "$child"
ended 1 'kill -9 of the child' footer
measured fault error 'kill -9 of the child'
measured null ok 'kill -9 of the child'
start
kill -STOP "$child"
ended 1 'a stopped child' footer
measured fault hang 'a stopped child'
measured null ok 'a stopped child'
start
kill -HUP "$pid"
ended 129 'a hangup' footer

# Under nohup a hangup is nothing; Ctrl-C several times is one.
start nohup
kill -HUP "$pid"
ended 1 'a hangup under nohup' footer
measured null ok 'a hangup under nohup'
start
kill -TERM "$pid"
kill -TERM "$pid" 2>/dev/null
kill -TERM "$pid" 2>/dev/null
ended 143 'three signals' footer

# The keeper dies with its coordinator, whoever else holds its stdin.
mkfifo stdin
exec 9<>stdin
bash -c '"$GPUVET" keeper <stdin >keeper.out & echo $! >keeper.pid; wait' &
shell=$!
for _ in $(seq 200); do [ -s keeper.out ] && [ -s keeper.pid ] && break; sleep 0.05; done
[ -s keeper.out ] || fail "the keeper says nothing"
kill -KILL "$shell"
wait "$shell" 2>/dev/null
keeper=$(cat keeper.pid)
for _ in $(seq 100); do [ -d "/proc/$keeper" ] || break; sleep 0.05; done
[ ! -d "/proc/$keeper" ] || fail "the keeper outlives its coordinator"
exit 0
