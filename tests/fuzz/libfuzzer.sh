#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One fuzz program under libFuzzer with sanitizers, in 256 MB:
#   tests/fuzz/libfuzzer.sh lxc [RUNS] [SECONDS] [-FLAG=VALUE…]     default 1000000 runs, no bound in time
# New inputs stay in the build folder (GPUVET_FUZZ_BUILD, default build-fuzz); what it finds is named at the end.
set -eu
name=$1 runs=${2:-1000000} seconds=${3:-0}
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${GPUVET_FUZZ_BUILD:-$source/build-fuzz}
flags="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -Wno-unknown-attributes"
[ -f "$build/build.ninja" ] || CC=clang cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DGPUVET_CUDA=OFF -DGPUVET_LIBFUZZER=ON -DCMAKE_C_FLAGS="$flags" >/dev/null
ninja -C "$build" -j2 "fuzz_$name" >/dev/null
# The quarantine of freed memory is the sanitizer's, not the program's: it would fill the 256 MB by itself.
# Short stacks of who allocated what, and new memory as it comes: half the time went there.
export ASAN_OPTIONS=quarantine_size_mb=16:detect_leaks=1:malloc_context_size=3:max_malloc_fill_size=0
mkdir -p "$build/corpus/$name" "$build/found"
exec "$build/tests/fuzz_$name" -runs="$runs" -max_total_time="$seconds" -rss_limit_mb=256 -timeout=10 \
    -print_final_stats=1 "${@:4}" -artifact_prefix="$build/found/$name-" "$build/corpus/$name" "$source/tests/fuzz/$name"
