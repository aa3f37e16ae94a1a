#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A privileged LXC container beside the host: measured in turn, pinned where both may run, nothing left behind, stopped
# and started when asked, also where no folder lets programs run.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=lxc.bash
. "${0%/*}/lxc.bash"

lxc_make "lxc.net.0.type = none" "lxc.prlimit.nofile = 2048"
lxc_up
measure "lxc:$NAME"
python3 - "$run" "lxc:$NAME" <<'PY' || fail "the limits are not those of the container's first process"
import json, sys
place = json.loads(open(sys.argv[1]).readline())["places"][sys.argv[2]]
assert place["same_machine"], place
view = place["view"]
assert view["limits"]["nofile"] == view["init_limits"]["nofile"] == 2048, view
assert view["shm_mib"] == 64, view
PY
nothing_left 10 "$LXC_ROOT/tmp" "$LXC_ROOT/var/tmp" "$LXC_ROOT/run"
host_cases "lxc:$NAME"
hang_and_kill "lxc:$NAME" "$LXC_ROOT/tmp" "$LXC_ROOT/var/tmp" "$LXC_ROOT/run"

# Not running: refused, unless it may be started; then it is stopped again, also when we are killed.
lxc-stop -k -n "$NAME"
expect 2 "$GPUVET" run --rounds 1 --case null --allow-busy --in host --in "lxc:$NAME"
one_line
has err "--start"
sed -i '$a lxc.init.cmd = /usr/bin/sleep infinity' "/var/lib/lxc/$NAME/config"
expect 0 "$GPUVET" run --profile quick --rounds 1 --case null --allow-busy --no-baseline --in "lxc:$NAME" --start
[ "$(lxc-info -n "$NAME" -s -H)" = STOPPED ] || fail "the container that was started for the run still runs"
"$GPUVET" run --profile quick --rounds 1 --case 'fault@1/*how=hang}*' --allow-busy --no-baseline --in "lxc:$NAME" --start >out 2>err &
pid=$!
lxc-wait -n "$NAME" -s RUNNING -t 20
sleep 1
kill -9 $pid
wait $pid 2>/dev/null
lxc-wait -n "$NAME" -s STOPPED -t 30 || fail "killed, the run left its container running"
expect 2 "$GPUVET" run --rounds 1 --case null --allow-busy --in "lxc:$NAME-missing"
one_line

# No folder there lets a program run.
for folder in tmp var/tmp run; do
    sed -i "\$a lxc.mount.entry = tmpfs $folder tmpfs rw,noexec,size=512m 0 0" "/var/lib/lxc/$NAME/config"
done
sed -i 's,^\(lxc.mount.entry = tmpfs dev/shm tmpfs rw\),\1\,noexec,' "/var/lib/lxc/$NAME/config"
lxc_up
measure "lxc:$NAME"
nothing_left 10
# What was brought to folders in vain takes no room of theirs while it is measured.
"$GPUVET" run --profile quick --rounds 1 --case 'fault@1/*how=hang}*' --allow-busy --no-baseline --in "lxc:$NAME" >out 2>err &
pid=$!
for _ in $(seq 200); do grep -qs '"type":"start"' results/runs/*-$pid.jsonl && break; sleep 0.1; done
for _ in $(seq 200); do pgrep -P $pid -f ' enter ' >/dev/null && break; sleep 0.05; done
pgrep -P $pid -f ' enter ' >/dev/null || fail "it is not entered by its namespaces"
left=$(lxc-attach --clear-env -n "$NAME" -- /usr/bin/find /tmp /var/tmp /run /dev/shm -name '.gpuvet-*')
[ -z "$left" ] || fail "it lies there while it is measured: $left"
kill -9 $pid
wait $pid 2>/dev/null
nothing_left 20
