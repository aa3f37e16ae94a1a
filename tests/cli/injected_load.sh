#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What tests/gpu/injected_load.sh judges by, on the runs that it recorded beside an H200: each load moves its own series and
# no other, and neither passes for the other or for a quiet run.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
recorded=$GPUVET_SOURCE/results/reference/h200-load
judge() { # STATUS RUN LOAD
    "$GPUVET" compare --json --before "$recorded"/quiet-[1-4].jsonl.gz --after "$recorded/$2.jsonl.gz" >"$2.json" 2>err
    expect "$1" python3 "$GPUVET_SOURCE/tests/gpu/load_check.py" "$3" "$2.json"
}
judge 0 copying copying
judge 0 competing competing
has out "wake.p99 local cpu_node=0 idle_us=1000 timer"
has out "wake.p50 local cpu_node=0 idle_us=1000 remote"
judge 1 copying competing
has out "FAIL: a thread takes the pinned core away, 7 of every 10 ms: nothing of"
has out "copy.h2d bandwidth GPU 0 local 512 MiB ce pinned regressed"
judge 1 competing copying
has out "wake.p99 local cpu_node=0 idle_us=1000 timer regressed"
judge 1 quiet-2 competing
judge 1 quiet-2 copying
has out "nothing moved"
exit 0
