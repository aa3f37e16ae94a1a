#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An unprivileged LXC container (its root is another user of the host) beside the host.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=lxc.bash
. "${0%/*}/lxc.bash"

# LXC as root maps ids only that these files grant, when there are newuidmap and newgidmap.
for file in subuid subgid; do
    { cat "/etc/$file" 2>/dev/null; echo root:100000:65536; } | sort -u >"$file"
    [ -e "/etc/$file" ] || skip "there is no /etc/$file"
    mount --bind "$file" "/etc/$file"
done
lxc_make "lxc.net.0.type = empty" "lxc.idmap = u 0 100000 65536" "lxc.idmap = g 0 100000 65536"
chown 100000:100000 "$LXC_ROOT" "$LXC_ROOT"/{dev,proc,sys,tmp,run,opt,root,var,var/tmp,work}
for d in . .. ; do chmod a+x "$d" 2>/dev/null; done
lxc_up
measure "lxc:$NAME"
python3 - "$run" "lxc:$NAME" <<'PY' || fail "that is no unprivileged container"
import json, sys
assert json.loads(open(sys.argv[1]).readline())["places"][sys.argv[2]]["view"]["user_namespace"]
PY
nothing_left 10 "$LXC_ROOT/tmp" "$LXC_ROOT/var/tmp" "$LXC_ROOT/run"
host_cases "lxc:$NAME"
hang_and_kill "lxc:$NAME" "$LXC_ROOT/tmp" "$LXC_ROOT/var/tmp" "$LXC_ROOT/run"
