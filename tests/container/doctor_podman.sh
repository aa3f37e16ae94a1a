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
