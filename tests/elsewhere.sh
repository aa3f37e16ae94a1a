#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# elsewhere.sh HOW COMMAND…: COMMAND in a fresh clone of this checkout's last commit, where something is otherwise:
#   debian:SUITE   in a root of that release of Debian, made by debootstrap (root; a few minutes the first time)
#   no-toolkit     with nvcc and the CUDA folder of this machine hidden by mounts: the way of the wheels
# For example: tests/elsewhere.sh debian:trixie scripts/test.sh; tests/elsewhere.sh no-toolkit scripts/quickstart.sh.
# What is made stays in GPUVET_ELSEWHERE (/var/tmp/gpuvet-elsewhere) for the next time. pip's and the proxy's settings of
# this environment hold there too. Exit status: COMMAND's; 2 where it could not be started.
set -eu
source=$(realpath "$(dirname "$0")/..")
place=${GPUVET_ELSEWHERE:-/var/tmp/gpuvet-elsewhere}
refuse() { echo "elsewhere.sh: $*" >&2; exit 2; }
[ $# -ge 2 ] || refuse "usage: elsewhere.sh debian:SUITE|no-toolkit COMMAND…"
[ "$(id -u)" = 0 ] || refuse "mounts and chroot need root"
how=$1
shift
mkdir -p "$place"

# clone FOLDER: afresh, since a fresh clone is what a new user has.
clone() { rm -rf "$1" && git clone -q "$source" "$1"; }
kept_environment() { env | grep -E '^(https?_proxy|no_proxy|PIP_[A-Z_]+|CMAKE_[A-Z]+_COMPILER_LAUNCHER)=' || true; }

case $how in
debian:*)
    suite=${how#debian:}
    root=$place/$suite
    command -v debootstrap >/dev/null || refuse "debootstrap is missing: apt-get install debootstrap"
    [ -x "$root/usr/bin/apt-get" ] || debootstrap --variant=minbase --include=git,ca-certificates "$suite" "$root" || refuse "no root of $suite"
    clone "$root/opt/gpuvet"
    [ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    mapfile -t kept < <(kept_environment)
    # shellcheck disable=SC2016
    exec unshare -m bash -c '
        mount --make-rprivate /
        for d in proc sys dev; do mount --rbind "/$d" "$1/$d"; done
        root=$1
        shift
        exec chroot "$root" /usr/bin/env -i "$@"' elsewhere "$root" HOME=/opt TERM=dumb \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${kept[@]}" \
        /bin/bash -c 'cd /opt/gpuvet && exec "$@"' elsewhere "$@"
    ;;
no-toolkit)
    clone "$place/no-toolkit"
    # shellcheck disable=SC2016
    exec unshare -m bash -c '
        mount --make-rprivate /
        empty=$(mktemp -d)
        for folder in /usr/local/cuda* /opt/cuda*; do
            if [ -d "$folder" ] && [ ! -L "$folder" ]; then mount --bind "$empty" "$folder"; fi
        done
        ! nvcc=$(command -v nvcc) || mount --bind /dev/null "$(realpath "$nvcc")"
        cd "$1" && shift && exec "$@"' elsewhere "$place/no-toolkit" "$@"
    ;;
*) refuse "no such way: $how" ;;
esac
