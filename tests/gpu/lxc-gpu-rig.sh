#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An LXC container with the machine's own GPUs, on a machine that reaches no package registry: to run gpuvet on host and container for real.
#   lxc-gpu-rig.sh install DEBDIR          unpack liblxc1, liblxc-common, lxc (and libapparmor1) from .deb files
#   lxc-gpu-rig.sh start NAME [UVM_MAJOR]  start it; UVM_MAJOR other than the kernel's reproduces the stale cgroup rule (try 504);
#                                          an existing /var/lib/lxc/NAME/config is kept as it is (so that a mended one is what starts)
#   lxc-gpu-rig.sh exec NAME CMD...        run a command inside (lxc-attach)
#   lxc-gpu-rig.sh stop NAME
# Worked with Debian 12's LXC 5.0.2 packages on Ubuntu 24.04, cgroup v2, root. Get the packages with:
#   apt-get download lxc liblxc1 liblxc-common libapparmor1
# The .deb files must never be unpacked at /: their ./lib replaces the /lib link of a merged-usr system and breaks it.
set -eu
W=${LXC_RIG_DIR:-/tmp/lxc-rig}; R=$W/root
case ${1:?install|start|exec|stop} in
install)
  mkdir -p "$W/x"; for f in "$2"/lxc_*.deb "$2"/liblxc1_*.deb "$2"/liblxc-common_*.deb; do dpkg -x "$f" "$W/x"; done
  [ -e /usr/lib/x86_64-linux-gnu/libapparmor.so.1 ] || dpkg -x "$2"/libapparmor1_*.deb "$W/x"
  cp -a "$W/x/usr/." /usr/; mkdir -p /var/lib/lxc /etc/lxc; ldconfig; lxc-start --version;;
start)
  name=$2; uvm=${3:-$(awk '$2=="nvidia-uvm"{print $1}' /proc/devices)}
  mkdir -p "$R"/{dev,proc,sys,tmp,usr,etc,run,opt,root,var,work}; for d in bin sbin lib lib64; do [ -L "$R/$d" ] || ln -s "usr/$d" "$R/$d"; done
  c=/var/lib/lxc/$name/config; mkdir -p "${c%/*}"; [ -e "$c" ] || { cat <<X
lxc.uts.name = $name
lxc.rootfs.path = dir:$R
lxc.mount.entry = /usr usr none rbind,ro 0 0
lxc.mount.entry = /etc etc none bind,ro 0 0
lxc.mount.entry = /opt opt none rbind,ro,optional 0 0
lxc.mount.entry = tmpfs dev/shm tmpfs rw,nosuid,nodev,size=4g,create=dir 0 0
lxc.mount.auto = proc:mixed sys:ro cgroup:mixed
lxc.net.0.type = none
lxc.apparmor.profile = unconfined
lxc.cgroup2.devices.deny = a
lxc.cgroup2.devices.allow = c 1:* rwm
lxc.cgroup2.devices.allow = c 5:* rwm
lxc.cgroup2.devices.allow = c 136:* rwm
lxc.cgroup2.devices.allow = c 195:* rwm
lxc.cgroup2.devices.allow = c $uvm:* rwm
X
    for n in /dev/nvidia[0-9]* /dev/nvidiactl /dev/nvidia-uvm /dev/nvidia-uvm-tools; do
      if [ -e "$n" ]; then echo "lxc.mount.entry = $n ${n#/} none bind,optional,create=file 0 0"; fi; done; } >"$c"
  lxc-start -n "$name" -d -o "$W/$name.log" -l INFO -- /usr/bin/sleep infinity; lxc-wait -n "$name" -s RUNNING -t 20; lxc-info -n "$name" -p;;
exec) shift; n=$1; shift; exec lxc-attach --clear-env -n "$n" -- "$@";;
stop) lxc-stop -n "$2" -k;;
*) sed -n 2,10p "$0"; exit 2;;
esac
