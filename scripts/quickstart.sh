#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to a first result: sets up, builds, and measures this node for about half a minute. More
# arguments go to gpuvet run. Repeatable, also after an interrupt.
set -euo pipefail
cd "$(dirname "$0")/.."
# Builders answer an interrupt with a status of their own, which would be called a failure below.
trap 'exit 130' INT

log=.deps/build.log
fail() {
    tail -30 "$log" >&2
    echo "quickstart: $1 (see $log; $(df -Pm . | awk 'NR == 2 { print $4 }') MB are free here)" >&2
    exit 1
}

scripts/setup.sh
nvcc=$(cat .deps/nvcc)
configure=(--preset host-only -B build)
[ -z "$nvcc" ] || configure=(--preset release -DCMAKE_CUDA_COMPILER="$nvcc")
configure+=(-DGPUVET_TESTS=OFF -DGPUVET_WERROR=OFF)

# A folder left half configured by an interrupt is made anew.
if ! cmake "${configure[@]}" >"$log" 2>&1; then
    rm -rf build
    cmake "${configure[@]}" >"$log" 2>&1 || fail "cmake failed"
fi
echo "quickstart: building, about a minute on two cores (log: $log)"
cmake --build build >>"$log" 2>&1 || fail "the build failed"

build/gpuvet version
status=0
build/gpuvet run --profile quick "$@" || status=$?
# 77: everything was a skip, each with its reason in the table above.
[ "$status" = 77 ] && status=0
exit "$status"
