#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doctor in LXC containers under cgroup v1, whose device lists can be read.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=lxc.bash
. "${0%/*}/lxc.bash"
# shellcheck source=doctor.bash
. "${0%/*}/doctor.bash"
# shellcheck source=doctor_lxc.bash
. "${0%/*}/doctor_lxc.bash"

mountpoint -q /sys/fs/cgroup/devices || skip "no device cgroup v1 is mounted here"
driver_here
lxc_faults 1

# The list itself is the evidence: in the container its own, on the host the container's.
box "$(allow 195)" "$CONTROLLER.devices.allow = c $UVM:* m" "$(binds)"
lxc_up
inside
found "fail cgroup.uvm-denied" "$UVM:0" EPERM devices.list "\"m\" alone only makes nodes"
on_host
found "fail cgroup.container-denied" "$NAME" "$UVM:0" "devices.list"

# The kernel asks the mode first: EACCES hides the second fault from open(), not from who reads the list.
chmod 600 /dev/nvidia-uvm
inside /usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups
found "fail nodes.mode" /dev/nvidia-uvm 0600 EACCES
found "fail cgroup.uvm-denied" devices.list
reached nvidiactl nvidia0
only nodes.mode cgroup.uvm-denied
host_nodes

# Without a mount of it inside, the answer of open() is all there is.
box "$(allow 195)" "$(binds)"
sed -i '/^lxc.mount.auto = cgroup/d' "/var/lib/lxc/$NAME/config"
lxc_up
inside
found "fail cgroup.uvm-denied" "$UVM:0" EPERM
reached nvidiactl nvidia0
only cgroup.uvm-denied
left_nothing
