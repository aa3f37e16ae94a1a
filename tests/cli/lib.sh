#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For the scripts in tests/cli: each runs in an empty folder of its own with $GPUVET the program.
# shellcheck shell=bash
set -u
export GPUVET_LOCK=$PWD/lock
export GPUVET_RESULTS=$PWD/results
export NO_COLOR=1
# Leak checks at exit take longer than most commands here.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
CAPTURES=$GPUVET_SOURCE/tests/fixtures/captures
export CAPTURES

fail() {
    echo "FAIL: $*" >&2
    for f in out err; do
        [ -s "$f" ] && sed "s/^/  $f: /" "$f" | head -40 >&2
    done
    exit 1
}

# What cannot be tried here, and why: scripts/test.sh takes a skip without its reason for a failure.
skip() {
    echo "skip: ${0##*/}: $*"
    exit 77
}

# expect STATUS COMMAND…: stdout in ./out, stderr in ./err.
expect() {
    local want=$1 got=0
    shift
    "$@" >out 2>err || got=$?
    [ "$got" = "$want" ] || fail "status $got instead of $want: $*"
}

# One clear line on stderr, and nothing that a sanitizer says.
one_line() {
    [ "$(wc -l <err)" = 1 ] || fail "not one line on stderr"
    grep -q "^gpuvet: " err || fail "the line does not begin with gpuvet:"
}

has() { grep -qF -- "$2" "$1" || fail "'$2' is not in $1"; }
lacks() { ! grep -qF -- "$2" "$1" || fail "'$2' is in $1"; }

# last_run: the newest run file.
last_run() { find results/runs -name '*.jsonl' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-; }
