#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Podman for real: an image of this machine's own files, a container beside the host.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
need_root
need podman runc python3 ldd
in_own_mounts "$@"
mount_cgroup2

# What each podman command needs here stands in front of it: gpuvet starts the same program.
real=$(command -v podman)
mkdir bin storage run
cat >bin/podman <<X
#!/bin/sh
exec $real --root "$PWD/storage" --runroot "$PWD/run" --runtime runc --cgroup-manager cgroupfs --storage-driver vfs "\$@"
X
chmod 755 bin/podman
PATH=$PWD/bin:$PATH
cleanup() {
    podman rm -f -t 0 box >/dev/null 2>&1
    umount -R "$PWD/storage" "$PWD/run" 2>/dev/null
}
trap cleanup EXIT
small_root image
tar -C image -c . | podman import - gpuvet-test-image >/dev/null 2>podman.err || skip "podman imports no image here: $(tail -1 podman.err | cut -c1-200)"
podman run -d --network none --pids-limit 0 --ulimit nofile=1024:4096 --ulimit nproc=1024:4096 --name box \
    gpuvet-test-image sleep infinity >/dev/null 2>podman.err ||
    skip "podman runs no container here: $(tail -1 podman.err | cut -c1-200)"
measure podman:box
host_cases podman:box
hang_and_kill podman:box
[ -z "$(podman exec box find /tmp /dev/shm -name '.gpuvet-*')" ] || fail "a file is left in the container"
podman stop -t 0 box >/dev/null 2>&1
expect 2 "$GPUVET" run --rounds 1 --case null --allow-busy --in podman:box
one_line
has err "--start"
