# SPDX-License-Identifier: Apache-2.0
# doctor in containers of Docker and Podman, without a registry and without the system's own daemon: an image of this
# machine's files, everything else in this test's folder.
# shellcheck shell=bash

# make_image: image.tar with the program's libraries and a few small programs; the program itself is brought in later.
make_image() {
    local program library
    small_root image
    for program in sh env mkdir mount; do
        cp -L "$(command -v "$program")" image/bin/
        ldd "$(command -v "$program")" | grep -o '/[^ ]*' | while read -r library; do
            mkdir -p "image${library%/*}"
            cp -L "$library" "image$library"
        done
    done
    cp devices image/devices
    echo root:x:0:0:root:/:/bin/sh >image/etc/passwd
    printf 'root:x:0:\nvideo:x:44:\n' >image/etc/group
    tar -C image -cf image.tar .
}

# box ARG…: a container that runs, begun with these options; the one before is gone.
box() {
    engine rm -f "${RM_OPTIONS[@]}" "$NAME" >/dev/null 2>&1
    engine run -d --name "$NAME" --network none "${RUN_OPTIONS[@]}" "$@" image sleep 600 >out 2>err || fail "$ENGINE run $*"
    PID=$(engine inspect -f '{{.State.Pid}}' "$NAME")
    nsenter -t "$PID" -m /bin/mount --bind /devices /proc/devices || fail "no list of devices for the container"
    bring
}
# inside [OPTION…]: doctor in it, by exec with these options.
inside() { doctor_by engine exec "$@" "$NAME" env ASAN_OPTIONS="$ASAN_OPTIONS" /run/gpuvet; }
bring() {
    engine exec -i -u 0 "$NAME" sh -c 'dd of=/run/gpuvet conv=excl status=none && chmod 755 /run/gpuvet' <"$GPUVET" >out 2>err ||
        fail "the program could not be brought in"
}
# probes, probed '['KEY']…': probes.json of a capture taken inside.
probes() {
    engine exec "$NAME" sh -c "ASAN_OPTIONS=$ASAN_OPTIONS /run/gpuvet doctor --capture /tmp/taken >/dev/null; cat /tmp/taken/probes.json; rm -rf /tmp/taken" >probes.json
}
probed() { python3 -c "import json; print(json.load(open('probes.json'))$1)"; }

with() { # with NODE…: --device for these
    local node
    DEVICES=()
    for node in "$@"; do DEVICES+=(--device "/dev/$node"); done
}

# engine_faults: what an engine's options and the host's nodes can get wrong.
engine_faults() {
    local id
    with nvidiactl nvidia-uvm nvidia0
    box "${DEVICES[@]}"
    id=$(engine inspect -f '{{.Id}}' "$NAME" | cut -c1-12)
    on_host
    only
    inside
    reached
    only

    # A node that was bound and not given: the group's rules do not have it.
    with nvidiactl nvidia0
    box "${DEVICES[@]}" -v /dev/nvidia-uvm:/dev/nvidia-uvm
    id=$(engine inspect -f '{{.Id}}' "$NAME" | cut -c1-12)
    inside
    found "fail cgroup.uvm-denied" "$UVM:0" EPERM "--device /dev/nvidia-uvm"
    not_found lxc.cgroup
    reached nvidiactl nvidia0
    only cgroup.uvm-denied
    on_host
    found "fail cgroup.container-denied" "$id" "$UVM:0" "recreate"
    not_found "denies c 195"
    with
    box -v /dev/nvidiactl:/dev/nvidiactl -v /dev/nvidia0:/dev/nvidia0 -v /dev/nvidia-uvm:/dev/nvidia-uvm
    inside
    found "fail cgroup.ctl-denied" 195:255 EPERM
    found "fail cgroup.gpu-denied" 195:0 "follows cgroup.ctl-denied"
    only cgroup.ctl-denied cgroup.gpu-denied cgroup.uvm-denied

    # Not given at all.
    with nvidiactl nvidia0
    box "${DEVICES[@]}"
    inside
    found "fail uvm.node-missing" "$UVM"
    reached nvidiactl nvidia0
    only uvm.node-missing cgroup.uvm-denied
    with nvidia-uvm nvidia0
    box "${DEVICES[@]}"
    inside
    found "fail nodes.ctl-missing" /dev/nvidiactl
    only nodes.ctl-missing cgroup.ctl-denied

    # Another thing in its place: a file, a folder.
    with nvidiactl nvidia0
    : >file
    box "${DEVICES[@]}" -v "$PWD/file:/dev/nvidia-uvm"
    inside
    found "fail nodes.not-a-device" /dev/nvidia-uvm "regular file"
    reached nvidiactl nvidia0
    only nodes.not-a-device cgroup.uvm-denied
    mkdir -p folder
    box "${DEVICES[@]}" -v "$PWD/folder:/dev/nvidia-uvm"
    inside
    found "fail nodes.not-a-device" /dev/nvidia-uvm directory
    only nodes.not-a-device cgroup.uvm-denied

    # The host's node is of another boot: the engine gives what it finds.
    rm /dev/nvidia-uvm
    mknod -m 666 /dev/nvidia-uvm c "$OLD" 0
    with nvidiactl nvidia-uvm nvidia0
    box "${DEVICES[@]}"
    inside
    found "fail uvm.major-stale" "$OLD:0" "$UVM" ENXIO
    reached nvidiactl nvidia0
    only uvm.major-stale cgroup.uvm-denied
    on_host
    found "fail uvm.major-stale" "$OLD:0"
    host_nodes

    # Its users: the mode shuts them out, the group lets them in.
    chmod 660 /dev/nvidia*
    chgrp 44 /dev/nvidia*
    box "${DEVICES[@]}"
    inside
    reached
    only
    inside -u 1000:1000
    found "fail nodes.mode" /dev/nvidia-uvm 0660 EACCES "$ENGINE run --group-add 44" "(video)"
    only nodes.mode
    inside -u 1000:44
    reached
    only
    host_nodes
}
