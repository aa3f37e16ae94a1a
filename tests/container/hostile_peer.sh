#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A place that misbehaves gets a clear outcome and costs nothing that was measured elsewhere.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
need python3

peer() { printf '%s\n' python3 "$GPUVET_SOURCE/tests/container/peer.py" "$GPUVET" "$1" >"$1.argv"; }
rounds=2
run() { "$GPUVET" run --profile quick --rounds $rounds --case null --allow-busy --no-baseline "$@"; }

# Before anything was measured: one line, status 2.
refused() {
    peer "$1"
    expect 2 run --in host --in "command:$1.argv"
    one_line
    has err "$2"
    lacks err $'\x1b'
    nothing_left 10 /tmp /dev/shm
}
refused escape-name "no room"
refused hello-garbage "protocol"
refused hello-endless "longer than 1 MiB"
refused hello-version "does not speak protocol"
refused hello-build "another build"
refused hello-number "missing"
refused hello-death "last words"
refused hello-facts ""
refused facts-topology "a PU or a NUMA node with no os_index"

# In the middle of a run: its own items are errors by name, the host's and the footer are there.
broken() {
    peer "$1"
    expect 1 run --in host --in "command:$1.argv"
    python3 - "$(last_run)" "command:$1.argv" "$2" "$3" <<'PY' || fail "$1: not the outcome wanted"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
assert lines[-1]["type"] == "footer" and lines[-1]["outcome"] == "complete", lines[-1]
records = [l for l in lines if l["type"] == "record"]
assert [r["outcome"] for r in records if r["target"] == "host"] == ["ok", "ok"], records
bad = [r for r in records if r["target"] == sys.argv[2]]
assert len(bad) == 2 and all(r["outcome"] == sys.argv[3] and sys.argv[4] in r["reason"] for r in bad), bad
PY
    nothing_left 10 /tmp /dev/shm
}
broken item-garbage error "broke the protocol"
broken item-endless error "longer than 1 MiB"
broken item-death error "ended in the middle"
broken item-other error "does not run"
broken item-unknown error "unknown message 'surprise'"
broken item-values error ""
broken item-skip-number error "missing"
broken item-silence hang "no longer answers"
broken item-flood hang "no longer answers"
broken item-deep error "nested deeper"

# Between rounds, while nothing is asked of it, and at the end: nothing is lost.
for mode in park-noise park-death wake-other bye-never; do
    peer $mode
    [ $mode != bye-never ] || rounds=1
    expect 0 run --in host --in "command:$mode.argv"
    has out "$((2 * rounds)) measured, 0 skipped"
    nothing_left 10 /tmp /dev/shm
done

# What it says of itself when the rules are asked there (the host has made-up GPUs, it has none).
export GPUVET_NVML=$GPUVET_BUILD/tests/fakes/libnvml.so GPUVET_FAKE_NVML=$PWD/nvml
: >nvml
for mode in doctor-nothing doctor-entries doctor-escape doctor-many; do
    peer $mode
    expect 1 run --case memory.copy --in host --in "command:$mode.argv"
    lacks err $'\x1b'
    lacks out $'\x1b'
    has out "skipped: command:$mode.argv: "
    python3 - "$(last_run)" <<'PY' || fail "$mode: not the outcome wanted"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
assert [l["type"] for l in lines].count("header") == 1 and lines[-1]["outcome"] == "complete", lines[-1]
there = [l for l in lines if l["type"] == "record" and l["case"] == "memory.copy" and l["target"] != "host"]
assert there and all(r["outcome"] == "skip" and len(r["reason"]) < 1100 and r["reason"].split(": ")[1] != "?" for r in there), there
assert all("\x1b" not in r["reason"] for r in there), there
PY
    nothing_left 10 /tmp /dev/shm
done
unset GPUVET_NVML GPUVET_FAKE_NVML

# One that does not answer at all is asked once, not in every folder.
if [ -n "${GPUVET_TEST_LONG:-}" ]; then
    printf '%s\n' sh -c 'exec sleep 1000' >silent.argv
    began=$SECONDS
    expect 2 run --in host --in command:silent.argv
    has err "did not end within 60 s"
    [ $((SECONDS - began)) -lt 190 ] || fail "it was asked more than once: $((SECONDS - began)) s"
fi

# Names that can be none, files that are none.
for target in moon lxc: lxc:-x pct:abc like:x like:99999999999 "docker:--privileged" "ssh:-oProxyCommand=x" command:missing \
    "lxc:$(printf 'a\tb')" "command:$PWD" "slurm:"; do
    expect 2 run --in "$target"
    one_line
done
: >empty.argv
expect 2 run --in command:empty.argv
one_line
expect 2 run --in host --in host
one_line
expect 2 run --in like:4194300
one_line
