# SPDX-License-Identifier: Apache-2.0
# A host to mend on, in a mount namespace of its own: own /etc, /run, /var/lib, /dev and /proc/devices, cgroup v2 where it
# can be mounted. Numbers: 195 nvidia, UVM nvidia-uvm, CAPS nvidia-caps; OLD is nobody's.
# shellcheck shell=bash

[ "$(id -u)" = 0 ] || { echo "skip: files of root are mended in a mount namespace: needs root"; exit 77; }
unshare -m true 2>/dev/null || { echo "skip: this user may make no mount namespace"; exit 77; }
command -v python3 >/dev/null || { echo "skip: python3 is not here"; exit 77; }

free_major() { # the first from $1 that no driver has
    local n=$1
    while grep -qE "^ *$n " /proc/devices; do n=$((n + 1)); done
    echo "$n"
}
UVM=$(free_major 400)
CAPS=$(free_major $((UVM + 1)))
OLD=$(free_major $((CAPS + 1)))
HERE=$PWD
MEND_RIG=$GPUVET_SOURCE/tests/cli/mend_rig.bash
export UVM CAPS OLD HERE MEND_RIG

# In the namespace: everything that gpuvet reads or writes of a host is this test's own.
make_host() {
    mount --make-rprivate /
    sed "s/^Block devices:/195 nvidia\n195 nvidiactl\n195 nvidia-modeset\n$CAPS nvidia-caps\n$UVM nvidia-uvm\n\n&/" \
        /proc/devices >devices
    mount --bind devices /proc/devices
    rm -rf own
    mkdir -p own/etc own/dev
    cp -a /etc/passwd /etc/group /etc/machine-id /etc/ld.so.cache /etc/os-release /etc/alternatives own/etc/ 2>/dev/null || true
    mount -t tmpfs -o mode=755 tmpfs own/dev
    cp -a /dev/null /dev/zero /dev/urandom own/dev/
    [ ! -e /dev/fuse ] || cp -a /dev/fuse own/dev/
    mkdir own/dev/shm
    mknod -m 666 own/dev/nvidiactl c 195 255
    mknod -m 666 own/dev/nvidia0 c 195 0
    mknod -m 666 own/dev/nvidia-uvm c "$UVM" 0
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
