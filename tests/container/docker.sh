#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Docker for real: a daemon of our own, an image of this machine's own files, a container beside the host.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
need_root
need dockerd docker runc containerd python3 ldd
in_own_mounts "$@"
mount_cgroup2
PATH=/usr/bin:/usr/sbin:$PATH # the client of the same packages as the daemon

mkdir state run
export DOCKER_HOST=unix://$PWD/run/docker.sock
dockerd --host "$DOCKER_HOST" --data-root "$PWD/state" --exec-root "$PWD/run/exec" --pidfile "$PWD/run/pid" \
    --bridge=none --iptables=false --ip6tables=false --storage-driver vfs \
    --exec-opt native.cgroupdriver=cgroupfs >dockerd.log 2>&1 &
daemon=$!
cleanup() {
    docker rm -f box small >/dev/null 2>&1
    kill "$daemon" 2>/dev/null
    wait "$daemon" 2>/dev/null
    umount -R "$PWD/run" "$PWD/state" 2>/dev/null
}
trap cleanup EXIT
for _ in $(seq 150); do docker version >/dev/null 2>&1 && break; sleep 0.2; done
docker version >/dev/null 2>&1 || skip "dockerd does not start here: $(tail -1 dockerd.log | cut -c1-200)"

small_root image
tar -C image -c . | docker import - gpuvet-test-image >/dev/null || skip "docker imports no image here"
docker run -d --network none --name box --cpuset-cpus "$last_cpu" gpuvet-test-image sleep infinity >/dev/null 2>docker.err ||
    skip "docker runs no container here: $(tail -1 docker.err | cut -c1-200)"

measure docker:box
python3 - "$run" docker:box <<'PY' || fail "the container's own view is not in the run"
import json, sys
place = json.loads(open(sys.argv[1]).readline())["places"][sys.argv[2]]
view = place["view"]
assert place["same_machine"], place
assert view["shm_mib"] == 64 and view["seccomp"] == "2" and not view["sys_nice"], view
PY
# What Docker takes away is named.
has out "/dev/shm has 64 MiB there"
has out "a seccomp filter"
in_box() { docker exec box "$@"; }
[ -z "$(in_box find /tmp /dev/shm -name '.gpuvet-*')" ] || fail "a file is left in the container"
host_cases docker:box
hang_and_kill docker:box
[ -z "$(in_box find /tmp /dev/shm -name '.gpuvet-*')" ] || fail "a file is left in the container after a kill"

# An image is started only when asked, and is gone afterwards, also after a kill.
expect 2 "$GPUVET" run --rounds 1 --case null --allow-busy --in docker:gpuvet-test-image
one_line
has err "--start"
expect 0 "$GPUVET" run --profile quick --rounds 1 --case null --allow-busy --no-baseline --start \
    --in "docker:gpuvet-test-image --network none"
[ -z "$(docker ps -aq --filter name=gpuvet-)" ] || fail "the container that was started is left"
"$GPUVET" run --profile quick --rounds 1 --case 'fault@1/*how=hang}*' --allow-busy --no-baseline --start \
    --in "docker:gpuvet-test-image --network none" >out 2>err &
pid=$!
for _ in $(seq 100); do [ -n "$(docker ps -q --filter name=gpuvet-)" ] && break; sleep 0.1; done
kill -9 $pid
wait $pid 2>/dev/null
for _ in $(seq 150); do [ -z "$(docker ps -aq --filter name=gpuvet-)" ] && break; sleep 0.2; done
[ -z "$(docker ps -aq --filter name=gpuvet-)" ] || fail "killed, the run left its container"
expect 2 "$GPUVET" run --rounds 1 --case null --allow-busy --in docker:nonesuch
one_line

# No tool to write a file with, as in images that hold one program only: entered by its namespaces.
small_root bare bare
tar -C bare -c . | docker import - gpuvet-bare-image >/dev/null
docker run -d --network none --name small gpuvet-bare-image sleep infinity >/dev/null || skip "no bare container"
measure docker:small
nothing_left 10
