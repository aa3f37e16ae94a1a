#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doctor in Docker containers, and on their host.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=doctor.bash
. "${0%/*}/doctor.bash"
# shellcheck source=engines.bash
. "${0%/*}/engines.bash"

need_root
need dockerd docker nsenter tar
in_own_mounts "$@"
mount_cgroup2
driver_here
PATH=/usr/bin:/usr/sbin:$PATH # the client of the same packages as the daemon
ENGINE=docker
NAME=gpuvet-test-$$
RUN_OPTIONS=()
RM_OPTIONS=()
engine() { docker -H "unix://$PWD/docker.sock" "$@"; }

stop_docker() {
    engine rm -f "$NAME" >/dev/null 2>&1
    [ ! -e docker.pid ] || { kill "$(cat docker.pid)" && wait; }
}
trap stop_docker EXIT
start_docker() { # OPTION…
    dockerd --bridge=none --iptables=false --ip6tables=false --storage-driver vfs \
        --exec-opt native.cgroupdriver=cgroupfs --data-root "$PWD/docker" --exec-root "$PWD/docker.run" \
        --pidfile "$PWD/docker.pid" -H "unix://$PWD/docker.sock" "$@" >dockerd.log 2>&1 &
    for _ in $(seq 150); do engine info >/dev/null 2>&1 && return; sleep 0.1; done
    skip "dockerd $* does not start here: $(tail -1 dockerd.log | cut -c1-300)"
}
start_docker
make_image
engine import image.tar image >/dev/null || fail "no image"
engine_faults

# What seccomp and a small /dev/shm look like from inside, and with the options that change them.
box
probes
[ "$(probed "['syscalls']['get_mempolicy']")" = EPERM ] || fail "get_mempolicy answers $(probed "['syscalls']")"
[ "$(probed "['statfs']['/dev/shm']")" = $((64 << 20)) ] || fail "/dev/shm has $(probed "['statfs']['/dev/shm']") bytes, not 64 MiB"
with nvidiactl nvidia-uvm nvidia0
box "${DEVICES[@]}"
inside
found "info nccl.mempolicy" EPERM "--cap-add SYS_NICE"
only
box "${DEVICES[@]}" --cap-add SYS_NICE --shm-size 1g
probes
[ "$(probed "['syscalls']['get_mempolicy']")" = ok ] || fail "get_mempolicy answers $(probed "['syscalls']")"
[ "$(probed "['statfs']['/dev/shm']")" = $((1 << 30)) ] || fail "/dev/shm has $(probed "['statfs']['/dev/shm']") bytes, not 1 GiB"
inside
not_found nccl.
only

# NVIDIA's container runtime in a Docker container is nobody's mistake.
mkdir toml
echo '[nvidia-container-cli]' >toml/config.toml
with nvidiactl nvidia-uvm nvidia0
box "${DEVICES[@]}" -v "$PWD/toml:/etc/nvidia-container-runtime"
inside
not_found docker.
only

# Its root is another user of the host: the id map is the cause.
for file in subuid subgid; do
    { cat "/etc/$file" 2>/dev/null; echo daemon:100000:65536; } | sort -u >"$file"
    [ -e "/etc/$file" ] || skip "there is no /etc/$file"
    mount --bind "$file" "/etc/$file"
done
stop_docker
chmod a+x . docker
start_docker --userns-remap daemon:daemon
engine import image.tar image >/dev/null || fail "no image"
box "${DEVICES[@]}"
inside
reached
only
chmod 660 /dev/nvidia-uvm
chgrp 44 /dev/nvidia-uvm
inside
found "fail nodes.id-unmapped" /dev/nvidia-uvm "65534:65534" EACCES uid_map "docker run --userns=host" "0666"
not_found nodes.mode
reached nvidiactl nvidia0
only nodes.id-unmapped
box "${DEVICES[@]}" --userns=host
inside
reached
only
