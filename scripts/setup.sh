#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what gpuvet is built with: scripts/setup.sh [--tests]. Repeatable; with everything there it takes under
# a second. As root, or with sudo for apt alone.
#
# The CUDA compiler is the one on PATH, else the one in /usr/local/cuda, else pinned wheels in .deps/cuda (no
# root needed, nothing outside this folder changes). GPUVET_CUDA=off leaves the GPU parts out. What was found
# stands in .deps/nvcc: a path, or nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

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

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Commands may come from anywhere; libraries must be the distribution's.
missing_packages() {
    local pair
    for pair in cmake:cmake ninja:ninja-build gcc:gcc g++:g++ readelf:binutils; do
        command -v "${pair%%:*}" >/dev/null || echo "${pair##*:}"
    done
    local package
    for package in libc6-dev libhwloc-dev libnuma-dev libjansson-dev zlib1g-dev libmd-dev; do
        installed "$package" || echo "$package"
    done
    [ "$with_tests" = yes ] || return 0
    for pair in clang-format:clang-format clang-tidy:clang-tidy shellcheck:shellcheck; do
        command -v "${pair%%:*}" >/dev/null || echo "${pair##*:}"
    done
    for package in libcmocka-dev python3-jsonschema; do
        installed "$package" || echo "$package"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

apt_install() {
    command -v apt-get >/dev/null || die "needs $* (on this distribution: install them by hand; apt-get is not here)"
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        die "needs root once: apt-get install $*"
    fi
    say "installing $*"
    mkdir -p .deps
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >.deps/apt.log 2>&1 ||
        say "apt-get update failed (see .deps/apt.log); trying with the lists that are there"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" \
        >>.deps/apt.log 2>&1 || { tail -5 .deps/apt.log >&2; die "apt-get install $* failed (see .deps/apt.log)"; }
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages)
    [ "${#missing[@]}" = 0 ] || apt_install "${missing[@]}"
}

have_pip() { python3 -m pip --version >/dev/null 2>&1; }

# The wheels unpack to nvidia/cu13/{bin,include,lib,nvvm}, the layout nvcc expects around itself.
install_wheels() {
    local new=.deps/cuda.new pinned
    pinned="${wheels[*]} ${header_wheels[*]}"
    if [ -f .deps/cuda/pinned ] && [ "$(cat .deps/cuda/pinned)" = "$pinned" ]; then
        return 0
    fi
    have_pip || apt_install python3-pip
    say "no CUDA toolkit here: fetching the compiler as wheels into .deps/cuda"
    rm -rf "$new" .deps/cuda .deps/wheels
    python3 -m pip install --quiet --no-deps --no-compile --disable-pip-version-check --root-user-action=ignore \
        --only-binary=:all: --target "$new" "${wheels[@]}" >.deps/pip.log 2>&1 || return 1
    mv "$new/nvidia/cu13" .deps/cuda
    # nvcc hands the linker lib64; the wheels say lib.
    ln -s lib .deps/cuda/lib64
    rm -rf "$new"
    python3 -m pip download --quiet --no-deps --disable-pip-version-check --only-binary=:all: --dest .deps/wheels \
        "${header_wheels[@]}" >>.deps/pip.log 2>&1 || return 1
    python3 - .deps/wheels/*.whl <<'PYTHON' || return 1
import os, sys, zipfile
for path in sys.argv[1:]:
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            if "/include/" in name and name.endswith(".h"):
                target = os.path.join(".deps/cuda/include", name.split("/include/", 1)[1])
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as out:
                    out.write(wheel.read(name))
PYTHON
    rm -rf .deps/wheels
    echo "$pinned" >.deps/cuda/pinned
}

find_cuda() {
    local nvcc=
    if [ "${GPUVET_CUDA:-on}" = off ]; then
        say "GPU parts are left out: GPUVET_CUDA=off"
    # One that is only the shell of a removed toolkit does not count.
    elif nvcc=$(command -v nvcc) && "$nvcc" --version >/dev/null 2>&1; then
        :
    elif /usr/local/cuda/bin/nvcc --version >/dev/null 2>&1; then
        nvcc=/usr/local/cuda/bin/nvcc
    elif install_wheels && [ -x .deps/cuda/bin/nvcc ]; then
        nvcc=$PWD/.deps/cuda/bin/nvcc
    else
        nvcc=
        say "GPU parts are left out: no nvcc on PATH or in /usr/local/cuda, and no wheels (see .deps/pip.log)"
    fi
    echo "$nvcc" >.deps/nvcc
    [ -z "$nvcc" ] || say "CUDA compiler: $nvcc"
}

with_tests=no
case "${1:-}" in
    "") ;;
    --tests) with_tests=yes ;;
    *) die "unknown argument '$1': scripts/setup.sh [--tests]" ;;
esac
mkdir -p .deps
install_packages
find_cuda
