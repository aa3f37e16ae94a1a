#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The host has GPUs (made-up ones), the place has none: its items are skips with the reason, the host's go on, the rules
# look at both sides, and the status is 1.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
need python3 setpriv
need_root
in_own_mounts "$@"
export GPUVET_NVML=$GPUVET_BUILD/tests/fakes/libnvml.so GPUVET_FAKE_NVML=$PWD/nvml
[ -r "$GPUVET_NVML" ] || fail "no made-up NVML in $GPUVET_NVML"
: >nvml
# Nodes that only root may open: the host is root, the place is not.
cat /proc/devices >devices
sed -i 's/^Block devices:/195 nvidia\n195 nvidiactl\n330 nvidia-uvm\n\n&/' devices
mount --bind devices /proc/devices
mkdir newdev
mount -t tmpfs -o mode=755 tmpfs newdev
for node in null zero urandom; do cp -a "/dev/$node" newdev; done
mkdir -m 1777 newdev/shm
mknod -m 600 newdev/nvidiactl c 195 255
mknod -m 600 newdev/nvidia0 c 195 0
mknod -m 600 newdev/nvidia-uvm c 330 0
mount --move newdev /dev
printf '%s\n' env -i PATH=/usr/bin:/bin setpriv --reuid=65534 --clear-groups >bare.argv
expect 1 "$GPUVET" run --profile quick --rounds 2 --case null --case memory.copy --allow-busy --no-baseline \
    --in host --in command:bare.argv
python3 - "$(last_run)" <<'PY' || fail "not what a broken place should give"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
there = "command:bare.argv"
assert lines[-1]["outcome"] == "complete", lines[-1]
assert lines[0]["places"][there]["broken"], lines[0]["places"][there]
records = [l for l in lines if l["type"] == "record"]
gpu = [r for r in records if r["case"] == "memory.copy"]
assert {r["target"] for r in gpu} == {"host", there}, gpu
assert all(r["outcome"] == "skip" and there in r["reason"] for r in gpu if r["target"] == there), gpu
assert all(r["outcome"] != "skip" for r in gpu if r["target"] == "host"), gpu
for target in ("host", there):
    assert [r["outcome"] for r in records if r["case"] == "null" and r["target"] == target] == ["ok", "ok"], records
findings = [l for l in lines if l["type"] == "finding"]
assert {f["target"] for f in findings} == {"host", there}, findings
mode = [f for f in findings if f["id"] == "nodes.mode"]
assert mode and all(f["target"] == there and f["severity"] == "fail" for f in mode), findings
for f in findings:
    assert f["id"] and f["severity"] in ("fail", "warn", "info") and f["title"], f
PY
has err "command:bare.argv: /dev/nvidiactl is closed to this user by its mode (EACCES); or for everybody: chmod 0666"
has err "; doctor: "
has out "skipped: command:bare.argv: /dev/nvidiactl is closed to this user by its mode (EACCES)"
has out "what needs a GPU is skipped there: /dev/nvidiactl is closed"
