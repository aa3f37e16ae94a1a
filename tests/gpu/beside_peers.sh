#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All that nvbandwidth, p2pBandwidthLatencyTest and nccl-tests' five collectives (8 B to 1 GiB) show, beside what they measured:
# beside_peers.sh PROGRAM OUT [RUNS]. On two H200 a run may take 30 s, where the peers take 86 s. Run files are kept
# (gzip) under OUT. Exit 0 all inside and in time, 1 not, 77 without a GPU or on another kind of it.
set -u
program=$(realpath "$1")
out=$2
runs=${3:-3}
here=$(dirname "$(realpath "$0")")
mkdir -p "$out"
export GPUVET_RESULTS=/tmp/gpuvet-peers GPUVET_LOCK=/tmp/gpuvet-peers.lock
export NCCL_NVLS_ENABLE=0 # as the peers were run
[ -e /dev/nvidiactl ] || { echo "skip: no NVIDIA driver on this machine"; exit 77; }

cases=(--case 'copy.[hd]2[dh]@*/bandwidth*bytes=536870912,*' --case copy.bidir --case copy.all --case 'copy.latency@*/chase*' --case 'p2p.*' --case memory.copy)
for one in all_reduce all_gather reduce_scatter sendrecv alltoall; do
    for size in '[!24]' '2[!1]' '4[!2]'; do cases+=(--case "nccl.$one@*/busbw*bytes=$size*"); done # not 2 and 4 GiB
done
# shellcheck source=tests/gpu/lib.sh
. "$here/lib.sh"
slow=0
files=()
for run in $(seq "$runs"); do
    start=$(date +%s%N)
    "$program" run --no-baseline --profile thorough --rounds 1 --seed "$run" --label "peers-$run" "${cases[@]}" >"$out/peers-$run.txt" 2>&1
    status=$?
    took=$((($(date +%s%N) - start) / 1000000))
    echo "run $run: status $status, $took ms"
    [ "$took" -le 30000 ] || slow=1
    keep "peers-$run"
    files+=("$out/peers-$run.jsonl.gz")
done
python3 "$here/anchors.py" "${files[@]}" | tee "$out/anchors.md"
status=${PIPESTATUS[0]}
[ "$slow" = 0 ] || { echo "a run took over 30 s"; [ "$status" = 77 ] || status=1; }
exit "$status"
