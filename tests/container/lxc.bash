# SPDX-License-Identifier: Apache-2.0
# LXC containers from this machine's own files: lxc_make NAME [LINE…] writes the config, lxc_up starts it.
# shellcheck shell=bash

need_root
need lxc-start lxc-attach lxc-info lxc-stop python3
in_own_mounts "$@"
mount -t tmpfs tmpfs /var/lib/lxc || skip "cannot mount over /var/lib/lxc"
LXC_ROOT=$PWD/lxc-root
NAME=gpuvet-test-$$
trap 'lxc-stop -k -n "$NAME" 2>/dev/null' EXIT


lxc_make() {
    local d line controller=lxc.cgroup
    mkdir -p "$LXC_ROOT"/{dev,proc,sys,tmp,usr,etc,run,opt,root,var/tmp,work}
    for d in bin sbin lib lib64; do [ -L "$LXC_ROOT/$d" ] || ln -s "usr/$d" "$LXC_ROOT/$d"; done
    chmod 1777 "$LXC_ROOT/tmp" "$LXC_ROOT/var/tmp"
    chmod 755 . "$LXC_ROOT"
    grep -qw cpuset /sys/fs/cgroup/cgroup.controllers 2>/dev/null && controller=lxc.cgroup2
    mkdir -p "/var/lib/lxc/$NAME"
    {
        cat <<X
lxc.uts.name = $NAME
lxc.rootfs.path = dir:$LXC_ROOT
lxc.mount.entry = /usr usr none rbind,ro 0 0
lxc.mount.entry = /etc etc none rbind,ro 0 0
lxc.mount.entry = tmpfs dev/shm tmpfs rw,nosuid,nodev,size=64m,create=dir 0 0
lxc.mount.auto = proc:mixed sys:ro
lxc.apparmor.profile = unconfined
X
        if [ -d /sys/fs/cgroup/cpuset ] || [ "$controller" = lxc.cgroup2 ]; then
            echo "$controller.cpuset.cpus = $last_cpu"
        fi
        for line in "$@"; do echo "$line"; done
    } >"/var/lib/lxc/$NAME/config"
}
lxc_up() {
    lxc-start -n "$NAME" -d -o lxc.log -l INFO -- /usr/bin/sleep infinity ||
        skip "LXC starts no container here: $(grep -E 'ERROR' lxc.log | head -1 | cut -c1-200)"
    lxc-wait -n "$NAME" -s RUNNING -t 20 || skip "the container does not come up"
}
