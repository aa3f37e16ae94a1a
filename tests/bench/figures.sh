#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What gpuvet itself costs, printed and never judged: figures.sh BUILD (a release build's folder). Starting it beside
# starting a program that does nothing, the coordinator's memory in a run, comparing two runs of 1,000 series × 20
# rounds beside reading them.
set -eu
build=$(realpath "${1:-build/release}")
program=$build/gpuvet
[ -x "$program" ] || { echo "figures.sh: no $program: build it first, or name the build's folder" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Milliseconds of one start, the least of 50.
least() {
    local best=999999999 start took
    for _ in $(seq 50); do
        start=$(date +%s%N)
        "$@" >/dev/null
        took=$(($(date +%s%N) - start))
        best=$((took < best ? took : best))
    done
    awk -v ns="$best" 'BEGIN { printf "%.1f", ns / 1e6 }'
}
nothing=$(least /bin/true)
version=$(least "$program" version)
echo "gpuvet version: $version ms, $(awk -v a="$version" -v b="$nothing" 'BEGIN { printf "%.1f", a / b }') times what /bin/true takes ($nothing ms)"

"$program" run --allow-busy --case null --rounds 3 --no-baseline --results "$work" >/dev/null 2>&1 &
coordinator=$!
most=0
while kill -0 $coordinator 2>/dev/null; do
    now=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$coordinator/status" 2>/dev/null || true)
    most=$((${now:-0} > most ? ${now:-0} : most))
    sleep 0.05
done
wait $coordinator || true
echo "coordinator: $((most / 1024)) MiB at most"

"$build/tests/bench_compare_speed"
