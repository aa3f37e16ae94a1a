# SPDX-License-Identifier: Apache-2.0
# A host to mend on, in a mount namespace of its own: own /etc, /run, /var/lib, /dev and /proc/devices, cgroup v2 where it
# can be mounted.
# shellcheck shell=bash
# shellcheck source=made_driver.bash
. "$GPUVET_SOURCE/tests/cli/made_driver.bash"

HERE=$PWD
MEND_RIG=$GPUVET_SOURCE/tests/cli/mend_rig.bash
export HERE MEND_RIG

# In the namespace: everything that gpuvet reads or writes of a host is this test's own.
make_host() {
    mount --make-rprivate /
    made_devices
    mount --bind devices /proc/devices
    rm -rf own
    mkdir -p own/etc
    cp -a /etc/passwd /etc/group /etc/machine-id /etc/ld.so.cache /etc/os-release /etc/alternatives own/etc/ 2>/dev/null || true
    made_dev own/dev
    mount -t tmpfs -o mode=755 tmpfs /var/lib
    mount -t tmpfs -o mode=755 tmpfs /run
    mkdir -p /var/lib/lxc /run/lock own/etc/pve/lxc
    mount --bind own/etc /etc
    mount --move own/dev /dev
    umount -l /sys/fs/cgroup/* 2>/dev/null || true
    umount -l /sys/fs/cgroup 2>/dev/null || true
    mount -t cgroup2 cgroup2 /sys/fs/cgroup 2>/dev/null || true
    KEY=lxc.cgroup2.devices.allow
    [ -e /sys/fs/cgroup/cgroup.controllers ] || KEY=lxc.cgroup.devices.allow
    export KEY
}

# host SCRIPT: runs it there, with lib.sh.
host() {
    SCRIPT=$1 unshare -m bash -eu -c '. "$GPUVET_SOURCE/tests/cli/lib.sh"; . "$MEND_RIG"; set -e; cd "$HERE"; make_host; eval "$SCRIPT"'
}

# pve_conf NUMBER: Proxmox's configuration of a container that allows it.
pve_conf() {
    cat <<CONF
# a GPU box
arch: amd64
hostname: infer
$KEY: c 195:* rwm
$KEY:  c  $1:*  rwm
lxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind,optional,create=file
lxc.mount.entry: /dev/nvidiactl dev/nvidiactl none bind,optional,create=file
lxc.mount.entry: /dev/nvidia-uvm dev/nvidia-uvm none bind,optional,create=file
memory: 4096

[before-upgrade]
arch: amd64
$KEY: c 195:* rwm
$KEY: c $1:* rwm
CONF
}

# baseline NUMBER: a capture in ./before in which nvidia-uvm had it.
baseline() {
    mkdir -p before/root/proc
    echo '{"schema":"gpuvet.capture/1","where":"host","manager":"none"}' >before/manifest.json
    printf 'Character devices:\n195 nvidia\n%s nvidia-uvm\n\nBlock devices:\n' "$1" >before/root/proc/devices
}
