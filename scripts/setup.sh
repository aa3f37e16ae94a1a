#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what gpuvet is built with: scripts/setup.sh [--tests | --all-tests]. Repeatable, also after an interrupt; with
# everything there it takes about a second. As root, or with sudo for apt alone; apt is asked only when something is
# missing.
#
# The CUDA compiler is the one on PATH, else the one in /usr/local/cuda, else pinned wheels in .deps/cuda (no
# root needed, nothing outside this folder changes). GPUVET_CUDA=off leaves the GPU parts out. What was found
# stands in .deps/nvcc: a path, or nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
# pip and apt answer an interrupt with a status of their own, which would be taken for a failure.
trap 'exit 130' INT

# PACKAGE is needed as the distribution makes it; COMMAND:PACKAGE only if there is no such command, wherever from.
build_packages=(
    cmake:cmake ninja:ninja-build gcc:gcc g++:g++ readelf:binutils
    libc6-dev libhwloc-dev libnuma-dev libjansson-dev libyaml-dev zlib1g-dev libmd-dev
)
test_packages=(
    clang-format:clang-format clang-tidy:clang-tidy shellcheck:shellcheck gnuplot:gnuplot-nox
    xmllint:libxml2-utils libcmocka-dev python3-jsonschema systemd-analyze:systemd
)
# Only root can use these, and the engines need 300 MB; who lacks them has skips that say so.
container_packages=(lxc-start:lxc newuidmap:uidmap sshd:openssh-server ssh:openssh-client)
engine_packages=(
    dockerd:docker.io podman:podman runc:runc slurmd:slurmd slurmctld:slurmctld srun:slurm-client munged:munge
)
cmake_least=3.22
# MB that must be free: to build; to build every preset; for the wheels while they are fetched and unpacked.
room_build=100
room_tests=600
room_wheels=2000

# 13.0: the oldest toolkit that knows every GPU the kernels are built for.
wheels=(
    nvidia-cuda-nvcc==13.0.88
    nvidia-cuda-crt==13.0.88
    nvidia-nvvm==13.0.88
    nvidia-cuda-runtime==13.0.96
    nvidia-cuda-cccl==13.0.85
)
# Only the headers of these are kept: the libraries are looked for at run time.
header_wheels=(
    nvidia-nccl-cu13==2.28.9
    nvidia-cublas==13.0.2.14
)

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# The folder of the project has this many MB free, or df cannot tell.
has_room() {
    local free
    free=$(df -Pk . 2>/dev/null | awk 'NR == 2 { print int($4 / 1024) }')
    [ "${free:-$1}" -ge "$1" ]
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# missing_packages ENTRY…: the packages of those entries that are not met.
missing_packages() {
    local entry
    for entry in "$@"; do
        case $entry in
            *:*) command -v "${entry%%:*}" >/dev/null || echo "${entry##*:}" ;;
            *) installed "$entry" || echo "$entry" ;;
        esac
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# Others may hold apt's lock for a while: a new machine that upgrades itself, say.
apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"; }

apt_install() {
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        say "needs root once, and there is no sudo here: apt-get install $*" >&2
        return 1
    fi
    say "installing $*"
    apt_get update </dev/null >.deps/apt.log 2>&1 ||
        say "apt-get update failed (see .deps/apt.log); trying with the lists that are there"
    apt_get install -y --no-install-recommends "$@" </dev/null >>.deps/apt.log 2>&1 && return 0
    tail -5 .deps/apt.log >&2
    say "apt-get install $* failed (see .deps/apt.log)" >&2
    return 1
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ "${#missing[@]}" = 0 ] && return 0
    if ! command -v apt-get >/dev/null; then
        # Package names differ, so what is there cannot be told from here; cmake names what it does not find.
        say "no apt-get here: what of these is missing (Debian's names), install by hand: ${missing[*]}"
        return 0
    fi
    apt_install "${missing[@]}" || exit 1
}

# What tests can do without: each one that is skipped for it says so.
install_if_possible() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    if [ "${#missing[@]}" -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt_install "${missing[@]}" || say "going on without ${missing[*]}"
    fi
}

check_cmake() {
    local version
    version=$(cmake --version 2>/dev/null | sed -n '1s/^cmake version //p') || true
    [ -n "$version" ] || die "cmake does not run ($(command -v cmake || echo 'it is not on PATH'))"
    [ "$(printf '%s\n' "$cmake_least" "$version" | sort -V | head -1)" = "$cmake_least" ] ||
        die "$(command -v cmake) is version $version, too old: $cmake_least or newer is needed on PATH" \
            "(python3 -m pip install cmake brings one)"
}

have_pip() { python3 -m pip --version >/dev/null 2>&1; }

# All pip writes stays in .deps; options as variables, for an older pip does not know them all.
pip_quiet() {
    TMPDIR=$PWD/.deps/tmp PIP_NO_CACHE_DIR=1 PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
        PIP_RETRIES=2 PIP_DEFAULT_TIMEOUT=20 \
        python3 -m pip "$@" --quiet --no-deps --only-binary=:all: >>.deps/pip.log 2>&1 </dev/null
}

# The wheels unpack to nvidia/cu13/{bin,include,lib,nvvm}, the layout nvcc expects around itself.
fetch_wheels() {
    local new=.deps/tmp/new root=.deps/tmp/new/nvidia/cu13
    pip_quiet install --no-compile --target "$new" "${wheels[@]}" || return 1
    pip_quiet download --dest .deps/tmp/wheels "${header_wheels[@]}" || return 1
    # nvcc hands the linker lib64; the wheels say lib.
    ln -s lib "$root/lib64" || return 1
    python3 - "$root/include" .deps/tmp/wheels/*.whl <<'PYTHON' >>.deps/pip.log 2>&1 || return 1
import os, sys, zipfile
for path in sys.argv[2:]:
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            if "/include/" in name and name.endswith(".h"):
                target = os.path.join(sys.argv[1], name.split("/include/", 1)[1])
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as out:
                    out.write(wheel.read(name))
PYTHON
    echo "$pinned" >"$root/pinned" || return 1
    # Last and at once: what an interrupt leaves half done is never taken for whole.
    rm -rf .deps/cuda && mv "$root" .deps/cuda
}

# Sets no_wheels to the reason if there are none.
install_wheels() {
    local pinned="${wheels[*]} ${header_wheels[*]}" status=0
    if [ "$(cat .deps/cuda/pinned 2>/dev/null)" = "$pinned" ]; then
        return 0
    fi
    no_wheels="python3 has no pip"
    have_pip || { command -v apt-get >/dev/null && apt_install python3-pip && have_pip; } || return 1
    no_wheels="fetching wheels needs $room_wheels MB free here"
    has_room "$room_wheels" || return 1
    say "no CUDA toolkit here: fetching the compiler as wheels into .deps/cuda"
    rm -rf .deps/tmp
    mkdir .deps/tmp
    : >.deps/pip.log
    no_wheels="pip could not fetch wheels (see .deps/pip.log)"
    fetch_wheels || status=1
    rm -rf .deps/tmp
    return "$status"
}

# A toolkit that is only half there, or does not know this host compiler, does not count.
nvcc_works() {
    local dir status=0
    dir=$(mktemp -d .deps/try.XXXXXX)
    echo '__global__ void k() {} int main() { k<<<1, 1>>>(); return 0; }' >"$dir/k.cu"
    "$1" -o "$dir/k" "$dir/k.cu" >"$dir/log" 2>&1 || status=1
    [ "$status" = 0 ] || { echo "$1:"; cat "$dir/log"; } >>.deps/nvcc.log
    rm -rf "$dir"
    return "$status"
}

find_cuda() {
    local nvcc found='' no_wheels='' tried=
    : >.deps/nvcc.log
    rm -rf .deps/try.*
    if [ "${GPUVET_CUDA:-on}" = off ]; then
        say "GPU parts are left out: GPUVET_CUDA=off"
    else
        for nvcc in "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
            if [ ! -x "$nvcc" ] || [ "$nvcc" = "$tried" ]; then
                continue
            fi
            nvcc_works "$nvcc" && { found=$nvcc; break; }
            tried=$nvcc
            say "$nvcc does not compile here (see .deps/nvcc.log)"
        done
        if [ -z "$found" ] && install_wheels; then
            found=$PWD/.deps/cuda/bin/nvcc
            no_wheels="nvcc of the wheels does not compile here (see .deps/nvcc.log)"
            nvcc_works "$found" || found=
        fi
        [ -n "$found" ] || say "GPU parts are left out: no nvcc on PATH or in /usr/local/cuda, and $no_wheels"
    fi
    echo "$found" >.deps/nvcc
    [ -z "$found" ] || say "CUDA compiler: $found"
}

# cmake keeps what it found of the compilers it began with, loses other settings when one is exchanged, and refuses a
# folder that was moved: such build folders are begun anew.
forget_other_compilers() {
    local nvcc now folder
    nvcc=$(cat .deps/nvcc)
    now=$(echo "$PWD"; echo "$nvcc"; gcc --version | head -1; [ -z "$nvcc" ] || "$nvcc" --version)
    [ "$(cat .deps/compilers 2>/dev/null)" = "$now" ] && return 0
    for folder in build build-debug build-host-only build-portable; do
        rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles"
    done
    echo "$now" >.deps/compilers
}

check_folders() {
    local folder
    mkdir -p .deps || die "cannot write in $PWD: clone to a folder of your own"
    for folder in .deps build build-*; do
        [ ! -d "$folder" ] || [ -w "$folder" ] ||
            die "$PWD/$folder belongs to $(stat -c %U "$folder"), made by an earlier set-up: remove it, or run as that user"
    done
}

packages=("${build_packages[@]}")
room=$room_build
optional=()
case "${1:-}" in
    "") ;;
    --tests | --all-tests)
        packages+=("${test_packages[@]}")
        optional=("${container_packages[@]}")
        [ "$1" = --tests ] || optional+=("${engine_packages[@]}")
        room=$room_tests
        ;;
    *) die "unknown argument '$1': scripts/setup.sh [--tests | --all-tests]" ;;
esac
check_folders
has_room "$room" || die "less than $room MB are free in $PWD: make room, then run this again"
install_packages "${packages[@]}"
install_if_possible ${optional[@]+"${optional[@]}"}
check_cmake
find_cuda
forget_other_compilers
