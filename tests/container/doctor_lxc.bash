# SPDX-License-Identifier: Apache-2.0
# LXC containers for doctor: their configuration is what is judged, so it is written as people write it.
# shellcheck shell=bash

# allow MAJOR…: rules that let these in; everything else that a container needs is let in by box.
allow() { for major in "$@"; do echo "$CONTROLLER.devices.allow = c $major:* rwm"; done; }
# binds [NODE…]: mount entries as people write them.
binds() {
    local node nodes=("$@")
    [ "$#" -gt 0 ] || nodes=(nvidiactl nvidia-uvm nvidia0)
    for node in "${nodes[@]}"; do echo "lxc.mount.entry = /dev/$node dev/$node none bind,optional,create=file 0 0"; done
}

# box LINE…: the container as it would be, not started: its host is asked about it then.
box() {
    lxc-stop -k -n "$NAME" 2>/dev/null
    lxc_make "lxc.mount.auto = cgroup:mixed:force" "lxc.mount.entry = $PWD/devices proc/devices none bind,ro 0 0" \
        "$CONTROLLER.devices.deny = a" "$(allow 1 5 136)" "$@"
}

# inside [COMMAND…]: doctor in the running container, by COMMAND (setpriv …) if given.
# shellcheck disable=SC2120
inside() {
    bring
    doctor_by lxc-attach --clear-env -n "$NAME" -- /usr/bin/env ASAN_OPTIONS="$ASAN_OPTIONS" "$@" /run/gpuvet
}
bring() {
    # shellcheck disable=SC2016
    lxc-attach --clear-env -n "$NAME" -- /bin/sh -c \
        '[ -x /run/gpuvet ] || { dd of=/run/gpuvet conv=excl status=none && chmod 755 /run/gpuvet; }' <"$GPUVET" ||
        fail "the program could not be brought in"
}
# probes, probed '['KEY']…': probes.json of a capture taken inside.
probes() {
    bring
    lxc-attach --clear-env -n "$NAME" -- /bin/sh -c "ASAN_OPTIONS=$ASAN_OPTIONS /run/gpuvet doctor --capture /run/taken >/dev/null; cat /run/taken/probes.json; rm -rf /run/taken" >probes.json
}
probed() { python3 -c "import json; print(json.load(open('probes.json'))$1)"; }

# lxc_faults VERSION: what a configuration can get wrong, with that version of cgroups: before the start on the host,
# running on the host, inside.
lxc_faults() {
    local other
    CONTROLLER=lxc.cgroup2 other=lxc.cgroup
    [ "$1" = 2 ] || { CONTROLLER=lxc.cgroup other=lxc.cgroup2; }

    box "$(allow 195 "$UVM")" "$(binds)"
    on_host
    only
    lxc_up
    on_host
    only
    inside
    reached
    only

    # No rule for nvidia-uvm; one of another boot; one for the other version of cgroups.
    for line in "" "$CONTROLLER.devices.allow = c $OLD:* rwm" "$other.devices.allow = c $UVM:* rwm"; do
        box "$(allow 195)" "$(binds)" "$line"
        on_host
        case $line in
            "$other".*) found "fail lxc.other-cgroup" "$NAME" "$UVM" ;;
            *) found "fail lxc.rule-missing" "$NAME" "$UVM" "$CONTROLLER.devices.allow = c $UVM:* rwm" ;;
        esac
        only lxc.rule-missing lxc.other-cgroup
        lxc_up
        on_host
        found "fail cgroup.container-denied" "$NAME" "$UVM:0" "$CONTROLLER.devices.allow"
        not_found "denies c 195"
        [ "$1" = 1 ] || found cgroup.container-denied "/lxc.payload.$NAME"
        inside
        found "fail cgroup.uvm-denied" "$UVM:0" EPERM "$CONTROLLER.devices.allow: c $UVM:* rwm"
        reached nvidiactl nvidia0
        only cgroup.uvm-denied
        [ "$1" = 1 ] || found cgroup.uvm-denied "first level that denies c $UVM:0"
    done

    # Nothing is let in: the first node explains the others.
    box "$(binds)"
    on_host
    found "fail lxc.rule-missing" "major 195"
    lxc_up
    on_host
    found "fail cgroup.container-denied" "195:255"
    inside
    found "fail cgroup.ctl-denied" 195:255 EPERM
    found "fail cgroup.gpu-denied" 195:0 "follows cgroup.ctl-denied"
    not_found nodes.open-error
    only cgroup.ctl-denied cgroup.gpu-denied cgroup.uvm-denied

    # One GPU that is not let in, of two.
    mknod -m 666 /dev/nvidia1 c 195 1
    box "$CONTROLLER.devices.allow = c 195:255 rwm" "$CONTROLLER.devices.allow = c 195:0 rwm" "$(allow "$UVM")" \
        "$(binds nvidiactl nvidia-uvm nvidia0 nvidia1)"
    lxc_up
    inside
    found "fail cgroup.gpu-denied" /dev/nvidia1 195:1 EPERM
    reached
    only cgroup.gpu-denied

    # The host has no node when the container starts: an optional bind that makes files leaves a file, one that does
    # not leaves nothing.
    rm -f /dev/nvidia-uvm /dev/nvidia1
    box "$(allow 195 "$UVM")" "$(binds)"
    on_host
    found "fail lxc.node-missing" "$NAME" /dev/nvidia-uvm
    lxc_up
    inside
    found "fail nodes.not-a-device" /dev/nvidia-uvm "regular file"
    reached nvidiactl nvidia0
    only nodes.not-a-device
    box "$(allow 195 "$UVM")" "$(binds nvidiactl nvidia0)" "lxc.mount.entry = /dev/nvidia-uvm dev/nvidia-uvm none bind,optional 0 0"
    on_host
    found "fail lxc.node-missing" "$NAME" /dev/nvidia-uvm
    lxc_up
    inside
    found "fail uvm.node-missing" "$UVM"
    reached nvidiactl nvidia0
    only uvm.node-missing
    host_nodes

    # The host's node itself is of another boot: the container gets that one.
    rm /dev/nvidia-uvm
    mknod -m 666 /dev/nvidia-uvm c "$OLD" 0
    box "$(allow 195 "$UVM" "$OLD")" "$(binds)"
    on_host
    found "fail uvm.major-stale" "$OLD:0"
    lxc_up
    inside
    found "fail uvm.major-stale" "$OLD:0" "$UVM"
    only uvm.major-stale
    host_nodes
}

# left_nothing: the groups that doctor tries things in are gone, and the container's with it.
left_nothing() {
    local end=$((SECONDS + 10))
    lxc-stop -k -n "$NAME"
    while [ -n "$(find /sys/fs/cgroup -type d \( -name "gpuvet-[0-9]*" -o -name "*$NAME*" \))" ]; do
        [ $SECONDS -lt $end ] || fail "a group stayed behind: $(find /sys/fs/cgroup -type d -name '*gpuvet*' | head -3)"
        sleep 0.1
    done
}
