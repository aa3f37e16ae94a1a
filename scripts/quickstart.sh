#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to a first result: sets up, builds, and measures this node for about half a minute. More
# arguments go to gpuvet run.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh

nvcc=$(cat .deps/nvcc)
configure=(--preset host-only -B build)
[ -z "$nvcc" ] || configure=(--preset release -DCMAKE_CUDA_COMPILER="$nvcc")
configure+=(-DGPUVET_TESTS=OFF)

# A folder configured with other compilers is made anew.
if ! cmake "${configure[@]}" >.deps/build.log 2>&1; then
    rm -rf build
    if ! cmake "${configure[@]}" >.deps/build.log 2>&1; then
        tail -20 .deps/build.log >&2
        echo "quickstart: cmake failed (see .deps/build.log)" >&2
        exit 1
    fi
fi
echo "quickstart: building"
if ! cmake --build build >>.deps/build.log 2>&1; then
    tail -30 .deps/build.log >&2
    echo "quickstart: the build failed (see .deps/build.log)" >&2
    exit 1
fi
build/gpuvet version
status=0
build/gpuvet run --profile quick "$@" || status=$?
# 77: everything was a skip, each with its reason in the table above.
[ "$status" = 77 ] && status=0
exit "$status"
