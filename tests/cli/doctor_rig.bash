# SPDX-License-Identifier: Apache-2.0
# The live tests of doctor: a mount namespace with a made-up driver, in which faults are real (nodes, modes, mounts, device
# cgroups) though there is no GPU.
# shellcheck shell=bash
# shellcheck source=made_driver.bash
. "$GPUVET_SOURCE/tests/cli/made_driver.bash"

# rig COMMANDS [PROGRAM…]: commands break something first, then gpuvet doctor judges: findings in ./found, one a line:
# severity, id, title, evidence, remedy, "follows ID", and milliseconds in ./took. With a program before gpuvet (setpriv …) it is started by that.
rig() {
    local break=$1
    shift
    rm -f found out err
    BREAK=$break unshare -m bash -eu -c '
        mount --make-rprivate /
        made_devices
        mount --bind devices /proc/devices
        made_dev newdev
        install -m 755 "$GPUVET" newdev/gpuvet
        mount --move newdev /dev
        # As inside a container, where a node is itself the wish for a GPU that nothing else names.
        mount -t tmpfs tmpfs /run
        mkdir /run/systemd
        echo docker >/run/systemd/container
        here=$PWD
        cd /
        eval "$BREAK"
        status=0
        start=$(date +%s%N)
        "$@" /dev/gpuvet doctor --json || status=$?
        echo $((($(date +%s%N) - start) / 1000000)) >"$here/took"
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

# It answered within 10 s, whatever hung.
in_time() { [ "$(cat took)" -lt 10000 ] || fail "$1: it took $(cat took) ms"; }

# found WORD…: one line has all of them.
found() {
    local lines
    lines=$(cat found)
    for word in "$@"; do lines=$(grep -F -- "$word" <<<"$lines") || { cat found >&2; fail "no finding has: $*"; }; done
}
not_found() { ! grep -qF -- "$1" found || { cat found >&2; fail "a finding has: $1"; }; }
