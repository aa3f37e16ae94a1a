#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bad input: one clear line, what and what to do, status 2, nothing half-written.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

expect 2 "$GPUVET" run --allow-busy --case copy.h2b
one_line
has err "did you mean copy.h2d"
expect 2 "$GPUVET" run --profle quick
one_line
has err "--profile"
expect 2 "$GPUVET" run --profile quickly
one_line
expect 2 "$GPUVET" run --rounds 0
one_line
expect 2 "$GPUVET" run --in moon
one_line
expect 2 "$GPUVET" run --from nowhere --dry-run
one_line
expect 2 "$GPUVET" run --from "$CAPTURES/guest-2gpu"
one_line
expect 2 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --gpu 9
one_line
has err "no GPU is called '9'"
has err "0 ("
expect 0 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --gpu 1 --profile quick
! grep '"type":"record"' "$(last_run)" | grep -q "$(grep -o 'GPU-[0-9a-f-]*' "$CAPTURES/guest-2gpu/probes.json" | head -1)" ||
    fail "GPU 0 was measured"

# The results folder.
: >file
expect 2 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --results file
one_line
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=64k none small 2>/dev/null; then
    expect 2 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --results small
    has err "No space left"
    mount -o remount,ro small
    expect 2 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --results small
    has err "Read-only file system"
    umount small
fi

# A second gpuvet at the same time.
rm -f lock
"$GPUVET" run --allow-busy --no-baseline --case 'fault@1/*how=hang}*' --rounds 4 >/dev/null 2>&1 &
pid=$!
for _ in $(seq 100); do [ -s lock ] && break; sleep 0.1; done
expect 2 "$GPUVET" run --allow-busy --case null
one_line
has err "another gpuvet is measuring"
kill "$pid"
wait "$pid" 2>/dev/null
exit 0
