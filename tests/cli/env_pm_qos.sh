#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A process that holds a PM-QoS bound is named, in the environment, in a run's header and in a capture; one that only
# reads the device is none. Needs root and the device. The bound is held for a few seconds.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
[ -c /dev/cpu_dma_latency ] || skip "there is no /dev/cpu_dma_latency here"
{ [ -w /dev/cpu_dma_latency ] && [ "$(id -u)" = 0 ]; } || skip "holding a PM-QoS bound needs root"

us=12345
cp "$(command -v sleep)" qos-holder # the command's name
python3 -c "
import os, struct
f = os.open('/dev/cpu_dma_latency', os.O_RDWR)
os.write(f, struct.pack('i', $us))
os.set_inheritable(f, True)
open('held', 'w').close()
os.execv('./qos-holder', ['qos-holder', '60'])
" &
holder=$!
python3 -c "
import os
f = os.open('/dev/cpu_dma_latency', os.O_RDONLY)
open('read', 'w').close()
import time; time.sleep(60)
" &
reader=$!
trap 'kill $holder $reader 2>/dev/null' EXIT
for _ in $(seq 100); do [ -e held ] && [ -e read ] && grep -q qos-holder "/proc/$holder/comm" && break; sleep 0.1; done
{ [ -e held ] && [ -e read ]; } || skip "the device cannot be opened or written here"

names() { # FILE KEY…: the bound and its holders, where others may hold one as well
    python3 - "$us" "$holder" "$reader" "$@" <<'P' || fail "bound or holder are not told in $1"
import json, sys
us, holder, reader, path = sys.argv[1:5]
found = json.loads(open(path).readline() if path.endswith(".jsonl") else open(path).read())
for step in sys.argv[5:-2]:
    found = found[step]
def at(key):
    return found[key] if key in found else {**found.get("environment", {}), **found.get("environment_volatile", {})}[key]
assert at(sys.argv[-2]) <= int(us), at(sys.argv[-2])
holders = at(sys.argv[-1])
print(holders)
assert f"{holder} qos-holder" in holders and reader not in holders.split(), holders
P
}
expect 0 "$GPUVET" env --json
mv out env.json
names env.json pm_qos.cpu_latency_us pm_qos.holders
expect 0 "$GPUVET" env
grep -qE "pm_qos.holders .*$holder qos-holder" out || fail "env does not name the holder"
expect 0 "$GPUVET" run --allow-busy --no-baseline --rounds 1 --case host.handoff
names "$(last_run)" pm_qos.cpu_latency_us pm_qos.holders
"$GPUVET" doctor --capture taken >/dev/null 2>&1
names taken/probes.json pm_qos_cpu_latency_us pm_qos_holders
kill $holder $reader
wait $holder $reader 2>/dev/null
expect 0 "$GPUVET" env --json --from taken # as it was then
mv out then.json
names then.json pm_qos.cpu_latency_us pm_qos.holders
expect 0 "$GPUVET" env --json
! grep -q qos-holder out || fail "a holder that is gone is still named"
exit 0
