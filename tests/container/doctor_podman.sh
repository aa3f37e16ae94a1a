#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doctor in Podman containers, and on their host.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=doctor.bash
. "${0%/*}/doctor.bash"
# shellcheck source=engines.bash
. "${0%/*}/engines.bash"

need_root
need podman runc conmon nsenter tar
in_own_mounts "$@"
mount_cgroup2
driver_here
ENGINE=podman
NAME=gpuvet-test-$$
RUN_OPTIONS=(--pids-limit 0 --ulimit nofile=1024:4096 --ulimit nproc=1024:4096)
RM_OPTIONS=(-t 0) # it gives the first process ten seconds otherwise
engine() {
    podman --root "$PWD/podman" --runroot "$PWD/podman.run" --tmpdir "$PWD/podman.tmp" --runtime runc \
        --cgroup-manager cgroupfs --storage-driver vfs --events-backend none "$@"
}
from_taken() { "$GPUVET" "$1" --from taken "${@:2}"; }
trap 'engine rm -f -t 0 "$NAME" >/dev/null 2>&1' EXIT
engine info >/dev/null 2>err || skip "podman does not work here: $(tail -1 err | cut -c1-300)"
make_image
engine import image.tar image >/dev/null 2>err || fail "no image"
engine_faults

# Its root is another user of the host: the id map is the cause, and a mode for everybody or the map the cure.
maps=(--uidmap 0:100000:65536 --gidmap 0:100000:65536)
with nvidiactl nvidia-uvm nvidia0
box "${maps[@]}" "${DEVICES[@]}"
inside
reached
only
chmod 660 /dev/nvidia*
chgrp 44 /dev/nvidia*
inside
found "fail nodes.id-unmapped" /dev/nvidia-uvm "65534:65534" EACCES uid_map "keep-groups"
not_found nodes.mode
only nodes.id-unmapped
host_nodes

# What seccomp and a small /dev/shm look like from inside: Podman 4 lets get_mempolicy through, others do not.
box
probes
case $(probed "['syscalls']['get_mempolicy']") in ok | EPERM) ;; *) fail "get_mempolicy answers $(probed "['syscalls']")" ;; esac
[ "$(probed "['statfs']['/dev/shm']")" = 65536000 ] || fail "/dev/shm has $(probed "['statfs']['/dev/shm']") bytes"

# ---- containers that do not run: what is foreseen, and what the start then shows ----
# The host's own configuration, with Podman's folder being this test's.
cp -a /etc etc
mkdir -p etc/containers etc/cdi
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s/podman"\nrunroot = "%s/podman.run"\n' "$PWD" "$PWD" >etc/containers/storage.conf
cat >etc/cdi/nvidia.yaml <<'CDI'
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: all
  containerEdits:
    deviceNodes:
    - path: /dev/nvidiactl
    - path: /dev/nvidia-uvm
    - path: /dev/nvidia0
CDI
mount --bind etc /etc
OLD=$(free_major 490) # one that the kernel gives out at run time

# made MAJOR OPTION…: a container made, and started once, when nvidia-uvm had this number; it is stopped, and the number is
# the driver's.
made() {
    rm -f /dev/nvidia-uvm
    mknod -m 666 /dev/nvidia-uvm c "$1" 0
    shift
    box "$@"
    engine stop -t 0 "$NAME" >/dev/null 2>&1
    host_nodes
}
again() {
    engine start "$NAME" >/dev/null 2>err || fail "the container does not start again: $(tail -1 err)"
    PID=$(engine inspect -f '{{.State.Pid}}' "$NAME" 2>/dev/null) # it warns of the number
    nsenter -t "$PID" -m /bin/mount --bind /devices /proc/devices || fail "no list of devices for the container"
}
# Nothing is foreseen, and nothing comes true.
stays_well() {
    on_host
    only
    again
    inside
    reached
    only
}
binds() {
    local node
    BINDS=()
    for node in "$@"; do BINDS+=(-v "/dev/$node:/dev/$node"); done
}
with nvidiactl nvidia-uvm nvidia0
binds nvidiactl nvidia-uvm nvidia0

made "$UVM" "${DEVICES[@]}"
stays_well

made "$OLD" "${DEVICES[@]}" -e LICENCE=hush
on_host
found "fail podman.device-stale" "$NAME" "$OLD:0" "$UVM" "podman rm $NAME"
only podman.device-stale
# shellcheck disable=SC2016 # for the shell inside
unshare -m bash -c 'mount --bind devices /proc/devices && exec "$0" doctor --capture taken' "$GPUVET" >out 2>err || [ $? = 1 ] || fail "no capture"
! grep -rl hush taken || fail "what a container's variables hold is in a capture"
doctor_by from_taken
found "fail podman.device-stale" "$NAME" "$OLD:0" "$UVM"
rm -rf taken
again
inside
found "fail uvm.major-stale" "$OLD:0" ENXIO
on_host # while it runs, its group is tried
not_found podman.
engine stop -t 0 "$NAME" >/dev/null 2>&1
engine inspect -f '{{.Config.CreateCommand}}' "$NAME" >out 2>&1
grep -q nvidia-uvm out || fail "what doctor says to look at shows no command"

made "$OLD" "${maps[@]}" "${DEVICES[@]}"
on_host
found "fail podman.device-stale" "$OLD:0" "$UVM"
again
inside
found "fail cgroup.uvm-denied" EPERM

made "$OLD" "${BINDS[@]}" --device-cgroup-rule 'c 195:* rmw' --device-cgroup-rule "c $OLD:* rmw"
on_host
found "fail podman.rule-stale" "$NAME" "$OLD" "$UVM"
only podman.rule-stale
again
inside
found "fail cgroup.uvm-denied" EPERM

made "$UVM" "${BINDS[@]}" --device-cgroup-rule 'c 195:* rmw'
on_host
found "fail podman.node-denied" "$NAME" /dev/nvidia-uvm
only podman.node-denied
again
inside
found "fail cgroup.uvm-denied" EPERM

rm /dev/nvidia-uvm
engine stop -t 0 "$NAME" >/dev/null 2>&1
on_host
found "fail podman.node-missing" "$NAME" /dev/nvidia-uvm
! engine start "$NAME" >/dev/null 2>&1 || fail "a container starts without what it binds"
host_nodes

# What is looked up at each start.
for options in "--device nvidia.com/gpu=all" --privileged; do
    # shellcheck disable=SC2086 # words
    made "$OLD" $options
    stays_well
done
# Nothing is known of a container that was never started.
engine rm -f -t 0 "$NAME" >/dev/null 2>&1
rm /dev/nvidia-uvm
mknod -m 666 /dev/nvidia-uvm c "$OLD" 0
engine create --name "$NAME" --network none "${RUN_OPTIONS[@]}" "${DEVICES[@]}" image sleep 600 >out 2>err || fail "podman create"
host_nodes
on_host
only
