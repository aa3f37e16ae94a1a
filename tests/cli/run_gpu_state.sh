#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What happened to a GPU while an item ran stands in its record; the keeper asks a made-up NVML whose counters grow.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
export GPUVET_NVML=$GPUVET_BUILD/tests/fakes/libnvml.so GPUVET_FAKE_NVML=$PWD/nvml
[ -r "$GPUVET_NVML" ] || fail "no made-up NVML in $GPUVET_NVML"
printf 'count 2\nreplays 10\ngrow 3\nslowdowns earlier\nlink_gen 5\nlink_width 16\npower_mw 99000\ntemperature 41\npstate 2\n' >nvml

# Without CUDA behind it the item cannot work, but it runs in a worker and is asked about like any other.
run() { "$GPUVET" run --allow-busy --no-baseline "$@" --case memory.copy --case 'fault@1/*how=gpu-sticky}*' --case null >out 2>err; }
run --rounds 1
python3 - "$(last_run)" <<'P' || fail "gpu_state is not as it should be"
import json, sys
records = [json.loads(line) for line in open(sys.argv[1]) if '"type":"record"' in line]
fault = [r for r in records if r["case"] == "fault"]
assert len(fault) == 1, records
state = fault[0]["gpu_state"]
assert list(state) == [fault[0]["where"]["gpu"]], "only the GPU that the item uses"
gpu = state[fault[0]["where"]["gpu"]]
assert gpu["replays"] == 3, gpu
assert gpu["throttled_us"] == {"sw_power_cap": 3, "sw_thermal": 3, "hw_thermal": 3, "hw_power_brake": 3}, gpu
assert gpu["pcie_gen"] == 5 and gpu["pcie_width"] == 16 and gpu["temperature_c"] == 41 and gpu["power_w"] == 99, gpu
assert gpu["pstate"] == 2, gpu
assert gpu["aer"] == {"correctable": None, "nonfatal": None, "fatal": None}, gpu  # no such device here
assert "throttled" in fault[0]["flags"]
assert 0 < fault[0]["gpu_state_ms"] < 5000
for r in records:
    if r["case"] == "null":
        assert "gpu_state" not in r and "gpu_state_ms" not in r, "an item without a GPU asks nobody"
P
# A keeper that crashes or hangs while it counts costs the counters; who uses the GPUs cannot be asked from then on,
# and that is said.
for way in "crash uuid" "hang uuid"; do
    printf 'count 1\nreplays 0\n%s\n' "$way" >nvml
    run --rounds 2
    grep -q '"type":"footer".*"outcome":"complete"' "$(last_run)" || fail "$way: no whole run"
    grep '"type":"record"' "$(last_run)" | grep '"case":"fault"' >faults
    [ "$(wc -l <faults)" = 2 ] || fail "$way: not two records"
    lacks faults gpu_state
    head -1 faults >first
    tail -1 faults >second
    lacks first gpus-not-asked
    grep -q '"flags":\[[^]]*"gpus-not-asked"' second || fail "$way: the second round is not flagged"
    has second '"gpus_not_asked":"the keeper no longer answers'
    lacks faults "has been silent" # waiting for a keeper costs no worker
done
exit 0
