#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proxmox's pct, by a stand-in that answers as it does: status, start, stop, and exec, which keeps the environment it
# is started with.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
need python3
mkdir bin
echo stopped >state
cat >bin/pct <<X
#!/bin/bash
echo "\$*" >>"$PWD/calls"
env >"$PWD/environment"
case \$1 in
    status) [ "\$2" = 129 ] || { echo "Configuration file 'nodes/pve/lxc/\$2.conf' does not exist" >&2; exit 2; }
        echo "status: \$(cat "$PWD/state")" ;;
    start) echo running >"$PWD/state" ;;
    stop) echo stopped >"$PWD/state" ;;
    exec) [ "\$(cat "$PWD/state")" = running ] || { echo "CT \$2 not running" >&2; exit 255; }
        [ "\$3" = -- ] || exit 9
        exec "\${@:4}" ;;
esac
X
printf '#!/bin/sh\nexit 1\n' >bin/lxc-info
chmod 755 bin/*
export PATH=$PWD/bin:$PATH
run() { SECRET_OF_THE_HOST=1 NCCL_DEBUG=WARN "$GPUVET" run --profile quick --rounds 2 --case null --allow-busy --no-baseline "$@"; }

expect 2 run --in pct:129
one_line
has err "--start"
expect 0 run --in host --in pct:129 --start
[ "$(cat state)" = stopped ] || fail "the container that was started still runs"
grep -qx 'start 129' calls || fail "not started"
grep -qx 'stop 129' calls || fail "not stopped"
lacks environment SECRET_OF_THE_HOST
lacks environment NCCL_DEBUG
echo running >state
: >calls
expect 0 run --in host --in pct:129
! grep -qE '^(start|stop)' calls || fail "a running container was started or stopped"
grep '"type":"record"' "$(last_run)" | grep '"target":"pct:129"' | grep -q '"outcome":"ok"' || fail "nothing measured by pct"
host_cases pct:129
# A number is pct's where Proxmox keeps a container of it.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    : >calls
    status=0
    # shellcheck disable=SC2016
    unshare -m bash -c 'mkdir -p /etc/pve 2>/dev/null; mount -t tmpfs tmpfs /etc/pve && mkdir /etc/pve/lxc && touch /etc/pve/lxc/129.conf &&
        exec "$0" run --profile quick --rounds 1 --case null --allow-busy --no-baseline --in lxc:129' "$GPUVET" >out 2>err || status=$?
    [ $status = 0 ] || fail "lxc:129 where Proxmox is: status $status"
    grep -q '^exec 129' calls || fail "lxc:129 did not go through pct"
    grep -q '"target":"lxc:129"' "$(last_run)" || fail "the target is not called as it was given"
    rmdir /etc/pve 2>/dev/null
fi
expect 2 run --in pct:130
one_line
nothing_left 10
