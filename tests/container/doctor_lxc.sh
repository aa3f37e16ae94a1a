#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doctor in privileged LXC containers under cgroup v2, and on their host before they start and while they run.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=lxc.bash
. "${0%/*}/lxc.bash"
# shellcheck source=doctor.bash
. "${0%/*}/doctor.bash"
# shellcheck source=doctor_lxc.bash
. "${0%/*}/doctor_lxc.bash"

mount_cgroup2
driver_here
lxc_faults 2

# Files as a container's own root has them, whatever its host has: made before it starts, by a hook of its own.
own_node() { # COMMANDS in the container's /dev, then it is judged
    box "$(allow 195 "$UVM" "$OLD")" "$(binds nvidiactl nvidia0)"
    lxc_up
    lxc-attach --clear-env -n "$NAME" -- /bin/sh -ec "cd /dev; $1" || fail "not done in the container: $1"
    inside
}
own_node "mknod -m 666 nvidia-uvm c $OLD 0"
found "fail uvm.major-stale" "$OLD:0" "$UVM" ENXIO
reached nvidiactl nvidia0
only uvm.major-stale
own_node "mknod -m 666 nvidia-uvm c 1 3"
found "fail uvm.major-foreign" "1:3" mem "open() answers ok"
only uvm.major-foreign
own_node "mknod -m 666 nvidia-uvm c $UVM 1"
found "fail uvm.minor-wrong"
only uvm.minor-wrong
own_node "mkdir nvidia-uvm"
found "fail nodes.not-a-device" /dev/nvidia-uvm directory
only nodes.not-a-device
own_node "mknod -m 600 nvidia-uvm c $UVM 0"
reached
only

# Modes: root of a privileged container passes them, its users do not.
user=(/usr/bin/setpriv --reuid 1000 --regid 1000)
inside "${user[@]}" --clear-groups
found "fail nodes.mode" /dev/nvidia-uvm 0600 EACCES "chmod 0666"
reached nvidiactl nvidia0
only nodes.mode
own_node "mknod -m 660 nvidia-uvm c $UVM 0; chgrp 44 nvidia-uvm"
inside "${user[@]}" --clear-groups
found "fail nodes.mode" 0660 "usermod -aG video"
only nodes.mode
inside "${user[@]}" --groups 44
reached
only

# A group above the container's own denies, whatever its configuration allows: only trying tells, and where.
top=/sys/fs/cgroup/gpuvet-test-$$-top
mkdir "$top"
if python3 "$GPUVET_SOURCE/tests/cli/device_filter.py" "$top" "$UVM"; then
    box "lxc.cgroup.dir = ${top##*/}" "$(allow 195 "$UVM")" "$(binds)"
    on_host
    not_found "fail lxc."
    lxc_up
    on_host
    found "fail cgroup.container-denied" "$NAME" "$UVM:0" "first level that denies is /${top##*/} |" "lies above the container"
    not_found devices.allow
    inside
    found "fail cgroup.uvm-denied" "$UVM:0" EPERM
    reached nvidiactl nvidia0
    only cgroup.uvm-denied
    lxc-stop -k -n "$NAME"
    until rmdir "$top"/* "$top" 2>/dev/null || [ ! -d "$top" ]; do sleep 0.1; done
else
    rmdir "$top"
    echo "no device filter of our own may be loaded here: a denying group above the container was not tried"
fi

# NVIDIA's container runtime inside an LXC container would have to change a filter that is the host's; on a host the
# same setting is as it should be.
cp -a /etc etc
mkdir -p etc/nvidia-container-runtime
echo '[nvidia-container-cli]' >etc/nvidia-container-runtime/config.toml
box "$(allow 195 "$UVM")" "$(binds)" "lxc.mount.entry = $PWD/etc etc none bind,ro 0 0"
lxc_up
inside
found "warn docker.nested-cgroups" "no-cgroups = true" config.toml
only docker.nested-cgroups
echo 'no-cgroups = true' >>etc/nvidia-container-runtime/config.toml
inside
not_found docker.nested-cgroups
only
mount --bind etc /etc
for setting in '#no-cgroups = false' 'no-cgroups = true'; do
    printf '[nvidia-container-cli]\n%s\n' "$setting" >etc/nvidia-container-runtime/config.toml
    on_host
    not_found "fail docker."
    not_found "warn docker."
done
umount /etc

# What a small /dev/shm and seccomp look like from inside.
probes
[ "$(probed "['statfs']['/dev/shm']")" = $((64 << 20)) ] || fail "/dev/shm is $(probed "['statfs']['/dev/shm']") bytes, not 64 MiB"
[ "$(probed "['syscalls']['get_mempolicy']")" = ok ] || fail "get_mempolicy is not ok in LXC"
left_nothing
