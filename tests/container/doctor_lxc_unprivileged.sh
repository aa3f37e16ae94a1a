#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doctor in unprivileged LXC containers: their root is another user of the host, which the modes and owners of the
# host's nodes shut out.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=lxc.bash
. "${0%/*}/lxc.bash"
# shellcheck source=doctor.bash
. "${0%/*}/doctor.bash"
# shellcheck source=doctor_lxc.bash
. "${0%/*}/doctor_lxc.bash"

for file in subuid subgid; do
    { cat "/etc/$file" 2>/dev/null; echo root:100000:65536; } | sort -u >"$file"
    [ -e "/etc/$file" ] || skip "there is no /etc/$file"
    mount --bind "$file" "/etc/$file"
done
mount_cgroup2
driver_here
CONTROLLER=lxc.cgroup2
unprivileged() { # LINE…
    box "lxc.net.0.type = empty" "lxc.idmap = u 0 100000 65536" "lxc.idmap = g 0 100000 65536" "$@"
    chown 100000:100000 "$LXC_ROOT" "$LXC_ROOT"/{dev,proc,sys,tmp,run,opt,root,var,var/tmp,work}
    chmod a+x . ..
}

unprivileged "$(allow 195 "$UVM")" "$(binds)"
on_host
only
lxc_up
on_host
only
inside
reached
only

# The modes and owners are the host's, so that they can be changed under a container that runs.
chmod 600 /dev/nvidia-uvm
inside
found "fail nodes.id-unmapped" /dev/nvidia-uvm "owner 65534:65534" EACCES uid_map "mode=0666"
reached nvidiactl nvidia0
only nodes.id-unmapped
chmod 660 /dev/nvidia*
chgrp 44 /dev/nvidia*
inside
found "fail nodes.id-unmapped" /dev/nvidiactl /dev/nvidia-uvm
not_found nodes.mode
only nodes.id-unmapped
# Given to the container's root: it is let in, its users are not, and the mode is why.
chown 100000:100000 /dev/nvidia*
inside
reached
only
user=(/usr/bin/setpriv --reuid 1000 --regid 1000)
inside "${user[@]}" --clear-groups
found "fail nodes.mode" /dev/nvidia-uvm 0660 EACCES
not_found nodes.id-unmapped
only nodes.mode
chgrp 100044 /dev/nvidia*
inside "${user[@]}" --clear-groups
found "fail nodes.mode" "usermod -aG video"
inside "${user[@]}" --groups 44
reached
only
host_nodes

# The kernel asks the mode first, the device cgroup after it; the host knows of the second fault all along.
unprivileged "$(allow 195)" "$(binds)"
on_host
found "fail lxc.rule-missing" "$UVM"
lxc_up
on_host
found "fail cgroup.container-denied" "$NAME" "$UVM:0"
chmod 600 /dev/nvidia-uvm
inside
found "fail nodes.id-unmapped" /dev/nvidia-uvm EACCES
only nodes.id-unmapped
on_host
found "fail cgroup.container-denied" "$NAME" "$UVM:0"
chmod 666 /dev/nvidia-uvm
inside
found "fail cgroup.uvm-denied" EPERM
reached nvidiactl nvidia0
only cgroup.uvm-denied
host_nodes

# Missing, and a file in its place.
rm /dev/nvidia-uvm
unprivileged "$(allow 195 "$UVM")" "$(binds)"
on_host
found "fail lxc.node-missing" "$NAME" /dev/nvidia-uvm
lxc_up
inside
found "fail nodes.not-a-device" /dev/nvidia-uvm "regular file"
only nodes.not-a-device
unprivileged "$(allow 195 "$UVM")" "$(binds nvidiactl nvidia0)"
lxc_up
inside
found "fail uvm.node-missing" "$UVM"
only uvm.node-missing
left_nothing
