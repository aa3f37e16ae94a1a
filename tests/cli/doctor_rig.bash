# SPDX-License-Identifier: Apache-2.0
# A made-up driver for the live tests of doctor: a mount namespace of its own with its own /dev and its own
# /proc/devices, in which faults are real (nodes, modes, mounts, device cgroups) though there is no GPU. Numbers: 195
# nvidia, UVM nvidia-uvm, CAPS nvidia-caps; no driver answers them, so that a sound node says ENXIO.
# shellcheck shell=bash

[ "$(id -u)" = 0 ] || { echo "faults are injected in a mount namespace: needs root"; exit 77; }
unshare -m true 2>/dev/null || { echo "this user may make no mount namespace"; exit 77; }
command -v python3 >/dev/null || { echo "python3 reads the findings, and is not here"; exit 77; }

free_major() { # the first from $1 that no driver has
    local n=$1
    while grep -qE "^ *$n " /proc/devices; do n=$((n + 1)); done
    echo "$n"
}
UVM=$(free_major 330)
CAPS=$(free_major $((UVM + 1)))
OLD=$(free_major $((CAPS + 1)))
export UVM CAPS OLD

# rig COMMANDS [PROGRAM…]: commands break something first, then gpuvet doctor judges: findings in ./found, one a line:
# severity, id, title, evidence, remedy, "follows ID". With a program before gpuvet (setpriv …) it is started by that.
rig() {
    local break=$1
    shift
    rm -f found out err
    BREAK=$break unshare -m bash -eu -c '
        mount --make-rprivate /
        sed "s/^Block devices:/195 nvidia\n195 nvidiactl\n195 nvidia-modeset\n$CAPS nvidia-caps\n$UVM nvidia-uvm\n\n&/" \
            /proc/devices >devices
        mount --bind devices /proc/devices
        mkdir -p newdev
        mount -t tmpfs -o mode=755 tmpfs newdev
        cp -a /dev/null /dev/zero /dev/urandom newdev
        [ ! -e /dev/fuse ] || cp -a /dev/fuse newdev
        mkdir newdev/shm
        mknod -m 666 newdev/nvidiactl c 195 255
        mknod -m 666 newdev/nvidia0 c 195 0
        mknod -m 666 newdev/nvidia-uvm c "$UVM" 0
        install -m 755 "$GPUVET" newdev/gpuvet
        mount --move newdev /dev
        # As inside a container, where a node is itself the wish for a GPU that nothing else names.
        mount -t tmpfs tmpfs /run
        mkdir /run/systemd
        echo docker >/run/systemd/container
        cd /
        eval "$BREAK"
        status=0
        "$@" /dev/gpuvet doctor --json || status=$?
        exit "$status"' rig "$@" >out 2>err
    local status=$?
    [ "$status" = 0 ] || [ "$status" = 1 ] || fail "status $status after: $break"
    [ ! -s err ] || fail "something on stderr after: $break"
    list_findings || fail "no findings after: $break"
}

# What doctor --json said into ./out, as lines in ./found.
list_findings() {
    python3 - >found <<'PY'
import json
for f in json.load(open("out"))["findings"]:
    e = "; ".join(f"{e['path']}: {e['value']}" for e in f["evidence"])
    print(f["severity"], f["id"], f["title"], "|", e, "|", "; ".join(f["remedy"]), "|",
          "follows " + f["consequence_of"] if "consequence_of" in f else "")
PY
}

# found WORD…: one line has all of them.
found() {
    local lines
    lines=$(cat found)
    for word in "$@"; do lines=$(grep -F -- "$word" <<<"$lines") || { cat found >&2; fail "no finding has: $*"; }; done
}
not_found() { ! grep -qF -- "$1" found || { cat found >&2; fail "a finding has: $1"; }; }
