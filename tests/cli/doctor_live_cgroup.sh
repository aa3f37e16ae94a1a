#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Device cgroups, for real: a v2 filter on the leaf, on an ancestor above a leaf that permits, for one GPU only; v1 lists;
# and no group of gpuvet's stays, killed or not.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
. "$GPUVET_SOURCE/tests/cli/doctor_rig.bash"

V2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ -z "$V2" ] && [ -z "${OWN_MOUNTS:-}" ]; then
    OWN_MOUNTS=1 exec unshare -m bash "$0" # there may be one all the same, mounted nowhere
elif [ -z "$V2" ]; then
    { mkdir -p v2 && mount -t cgroup2 none v2 2>/dev/null; } || skip "no cgroup v2 is mounted here, and none can be"
    V2=$PWD/v2
fi
TOP=$V2/gpuvet-test.$$
mkdir -p "$TOP/middle/leaf" || skip "no group can be made in $V2"
python3 "$GPUVET_SOURCE/tests/cli/device_filter.py" "$TOP/middle/leaf" || { rmdir "$TOP"{/middle/leaf,/middle,}; skip "no device filter can be set here"; }
V1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)devices(,|$)/ { print $2; exit }' /proc/mounts)

cleanup() {
    echo $$ >"$V2/cgroup.procs"
    [ -z "$V1" ] || echo $$ >"$V1/cgroup.procs"
    rmdir "$TOP"{/middle/leaf,/middle,} 2>/dev/null
    [ -z "$V1" ] || rmdir "$V1/gpuvet-test.$$" 2>/dev/null
}
trap cleanup EXIT

# denying GROUP NUMBER…: in fresh groups, with this shell in the leaf.
denying() {
    local group=$1
    shift
    echo $$ >"$V2/cgroup.procs"
    rmdir "$TOP"{/middle/leaf,/middle,}
    mkdir -p "$TOP/middle/leaf"
    # A level with controllers takes no process itself: the answer may not depend on that.
    read -ra controllers <"$TOP/cgroup.controllers"
    for controller in "${controllers[@]}"; do
        echo "+$controller" >"$TOP/cgroup.subtree_control" 2>/dev/null
    done
    python3 "$GPUVET_SOURCE/tests/cli/device_filter.py" "$TOP/middle/leaf"
    python3 "$GPUVET_SOURCE/tests/cli/device_filter.py" "$group" "$@" || fail "no filter on $group"
}
inside() { # the rig makes its nodes before it goes into the leaf
    rig "${1:-true}; echo \$\$ >$TOP/middle/leaf/cgroup.procs"
    [ -z "$(find "$V2" -maxdepth 5 -type d -name 'gpuvet-[0-9]*')" ] || fail "a group stayed behind"
}

denying "$TOP/middle/leaf" "$UVM"
inside
found "fail cgroup.uvm-denied" "$UVM" EPERM "denies c $UVM:0 is /gpuvet-test.$$/middle/leaf"
not_found ctl-denied

denying "$TOP/middle" "$UVM"
inside
found "fail cgroup.uvm-denied" "denies c $UVM:0 is /gpuvet-test.$$/middle"
not_found "/middle/leaf"
inside "rm /dev/nvidia-uvm"
found "fail uvm.node-missing"
found "fail cgroup.uvm-denied" "denies c $UVM:0 is /gpuvet-test.$$/middle"

denying "$TOP" "$UVM:1"
inside "mknod -m 666 /dev/nvidia-uvm-tools c $UVM 1"
found "info cgroup.harmless-denied" nvidia-uvm-tools EPERM
not_found uvm-denied

denying "$TOP/middle" 195
inside
found "fail cgroup.ctl-denied" 195:255 EPERM
found "fail cgroup.gpu-denied" 195:0 "follows cgroup.ctl-denied"
not_found uvm-denied

denying "$TOP/middle" 195:255
inside "rm /dev/nvidiactl"
found "fail nodes.ctl-missing"
found "fail cgroup.ctl-denied" 195:255

denying "$TOP/middle" 195:0
inside
found "fail cgroup.gpu-denied" /dev/nvidia0 195:0 EPERM
not_found ctl-denied

# An errno that is not a device cgroup's: the driver of the node answers it, and the kernel log says why.
if python3 "$GPUVET_SOURCE/tests/cli/device_filter.py" "$TOP/middle" 195:0=EIO; then
    for node in 195:0=EIO/dev/nvidia0 195:255=EIO/dev/nvidiactl "$UVM:0=EIO/dev/nvidia-uvm"; do
        denying "$TOP/middle" "${node%%/*}"
        inside
        found "fail nodes.open-error" "/${node#*/}" "answers EIO" "I/O error" dmesg Xid
        not_found cgroup.
    done
else
    echo "this kernel's filters answer EPERM only: a driver that answers EIO was not tried"
fi

# Killed in the middle, time and again: the groups go all the same, and not by the next run's hand.
denying "$TOP/middle" "$UVM"
left() { find "$V2" -maxdepth 5 -type d -name 'gpuvet-[0-9]*'; }
export -f left
export V2
rig "echo \$\$ >$TOP/middle/leaf/cgroup.procs
for delay in 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 18 20 25 30 35 40 45 50 60; do
    /dev/gpuvet doctor >/dev/null 2>&1 &
    sleep 0.0\$(printf %02d \$delay)
    kill -9 \$! 2>/dev/null || true
    wait \$! 2>/dev/null || true
    for try in {1..80}; do # a busy machine is slow to let a killed process go
        [ -n \"\$(left)\" ] || break
        sleep 0.25
    done
    [ -z \"\$(left)\" ] || { left >&2; exit 9; }
done"
echo $$ >"$V2/cgroup.procs"

# v1: the list itself can be read.
[ -n "$V1" ] || { echo "no cgroup v1 devices here: that half was not tried"; exit 0; }
mkdir "$V1/gpuvet-test.$$"
echo a >"$V1/gpuvet-test.$$/devices.deny"
for rule in "c 1:* rwm" "c 5:* rwm" "c 195:* rwm" "c *:* m" "c 10:229 rwm"; do
    echo "$rule" >"$V1/gpuvet-test.$$/devices.allow"
done
rig "echo \$\$ >$V1/gpuvet-test.$$/cgroup.procs"
found "fail cgroup.uvm-denied" "$UVM" EPERM "$V1/gpuvet-test.$$/devices.list"
not_found ctl-denied
echo "c $UVM:* rw" >"$V1/gpuvet-test.$$/devices.allow"
rig "echo \$\$ >$V1/gpuvet-test.$$/cgroup.procs"
not_found cgroup.
