#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command line itself: help, nearest names, statuses.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
expect 0 "$GPUVET" --help
for c in run list compare baseline env version; do
    has out "  $c "
    expect 0 "$GPUVET" "$c" --help
    has out "Usage"
    expect 0 "$GPUVET" --help
done
lacks out worker
expect 2 "$GPUVET"
expect 2 "$GPUVET" comapre
one_line
has err "did you mean compare"
expect 2 "$GPUVET" env --jsno
one_line
has err "--json"
expect 2 "$GPUVET" env surplus
one_line
expect 0 "$GPUVET" version
has out gpuvet
expect 0 "$GPUVET" version --json
has out build_id
expect 0 "$GPUVET" list
for c in host.wake host.frequency launch.latency copy.h2d copy.d2h copy.latency memory.copy; do has out "$c"; done
lacks out fault
[ -c /dev/full ] && { "$GPUVET" list >/dev/full 2>err; [ $? = 2 ] || fail "a full disk behind stdout goes unnoticed"; }
expect 0 "$GPUVET" run --dry-run --from "$CAPTURES/two-socket-8gpu"
has out "12 rounds"
expect 0 "$GPUVET" list --profile quick --from "$CAPTURES/two-socket-8gpu" --json
python3 - out <<'P' || fail "the 8-GPU plan is over its limits"
import json, sys
p = json.load(open(sys.argv[1]))
assert p["primary_series"] <= 40, p["primary_series"]
assert len(p["items"]) > 20
P
expect 0 "$GPUVET" list --profile standard --from "$CAPTURES/two-socket-8gpu" --json
python3 - out <<'P' || fail "the standard 8-GPU plan is over its limits"
import json, sys
p = json.load(open(sys.argv[1]))
assert p["primary_series"] <= 300, p["primary_series"]
assert p["seconds"] / p["rounds"] <= 25, p["seconds"]
P
