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
ENGINE=docker
NAME=gpuvet-test-$$
RUN_OPTIONS=()
RM_OPTIONS=()
engine() { docker -H "unix://$PWD/docker.sock" "$@"; }

end_docker() {
    engine rm -f "$NAME" >/dev/null 2>&1
    kill "$(cat docker.pid)" && wait
}
trap end_docker EXIT
dockerd --bridge=none --iptables=false --ip6tables=false --storage-driver vfs --exec-opt native.cgroupdriver=cgroupfs \
    --data-root "$PWD/docker" --exec-root "$PWD/docker.run" --pidfile "$PWD/docker.pid" -H "unix://$PWD/docker.sock" \
    >dockerd.log 2>&1 &
for _ in $(seq 150); do engine info >/dev/null 2>&1 && break; sleep 0.1; done
engine info >/dev/null 2>&1 || skip "dockerd does not start here: $(grep -iE 'level=(error|fatal)|failed' dockerd.log | tail -1 | cut -c1-300)"
make_image
engine import image.tar image >/dev/null || fail "no image"
engine_faults

# What seccomp and a small /dev/shm look like from inside, and with the options that change them.
box
probes
[ "$(probed "['syscalls']['get_mempolicy']")" = EPERM ] || fail "get_mempolicy answers $(probed "['syscalls']")"
[ "$(probed "['statfs']['/dev/shm']")" = $((64 << 20)) ] || fail "/dev/shm has $(probed "['statfs']['/dev/shm']") bytes, not 64 MiB"
box --cap-add SYS_NICE --shm-size 1g
probes
[ "$(probed "['syscalls']['get_mempolicy']")" = ok ] || fail "get_mempolicy answers $(probed "['syscalls']")"
[ "$(probed "['statfs']['/dev/shm']")" = $((1 << 30)) ] || fail "/dev/shm has $(probed "['statfs']['/dev/shm']") bytes, not 1 GiB"

# NVIDIA's container runtime in a Docker container is nobody's mistake.
mkdir toml
echo '[nvidia-container-cli]' >toml/config.toml
with nvidiactl nvidia-uvm nvidia0
box "${DEVICES[@]}" -v "$PWD/toml:/etc/nvidia-container-runtime"
inside
not_found docker.
only
