#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which libraries a run measured with stands in its header, down to the hash: those that its items need, as they are
# loaded, and no others.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
fakes=$GPUVET_BUILD/tests/fakes
for library in nccl cublaslt nvml; do [ -r "$fakes/lib$library.so" ] || fail "no made-up $library in $fakes"; done
mkdir chosen
cp "$fakes/libnccl.so" chosen/libnccl.so.2
export GPUVET_CUBLASLT=$fakes/libcublaslt.so
run() { expect "$1" env "${variables[@]}" "$GPUVET" run --allow-busy --no-baseline --rounds 1 --profile quick "${@:2}"; }
# holds NAME PATH: path and hash of what was loaded.
holds() {
    python3 - "$(last_run)" "$1" "$(realpath "$2")" "$(sha256sum <"$2")" <<'P' || fail "$1 is not $2 in the header"
import json, sys
run, name, path, sha = sys.argv[1:]
environment = json.loads(open(run).readline())["environment"]
found = {k: v for k, v in environment.items() if k.startswith(f"lib.{name}.")}
assert found[f"lib.{name}.path"] == path and found[f"lib.{name}.sha256"] == sha.split()[0], found
assert found.get(f"lib.{name}.version"), found
P
}
variables=(NCCL_P2P_DISABLE=1)
run 0 --case 'nccl.fault@1/*how=hangs-with-p2p}*' --nccl chosen
holds nccl chosen/libnccl.so.2
lacks "$(last_run)" 'lib.cublasLt.sha256'
run 0 --case null --nccl chosen
lacks "$(last_run)" '.sha256"'
# A case that needs both, on a made-up GPU; that CUDA does not start behind it is no matter here.
echo "count 1" >nvml
variables=(GPUVET_NVML="$fakes/libnvml.so" GPUVET_FAKE_NVML="$PWD/nvml")
run 1 --case decode.step --nccl chosen
holds nccl chosen/libnccl.so.2
holds cublasLt "$fakes/libcublaslt.so"
# One that cannot be loaded is no reason to stop: the items say so.
echo nothing >chosen/libnccl.so.2
variables=(NCCL_P2P_DISABLE=1)
run 0 --case 'nccl.fault@1/*how=hangs-with-p2p}*' --nccl chosen
lacks "$(last_run)" 'lib.nccl.sha256'
exit 0
