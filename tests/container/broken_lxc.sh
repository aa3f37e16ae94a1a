#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A real LXC container whose rule is of the kernel before, beside a host with (made-up) GPUs: what needs a GPU is skipped
# there with the line at fault as its reason, in the run, in the summary and on stderr; the host's goes on; status 1.
# (There is no driver's library here, in the container neither.)
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=lxc.bash
. "${0%/*}/lxc.bash"
# shellcheck source=doctor.bash
. "${0%/*}/doctor.bash"
# shellcheck source=doctor_lxc.bash
. "${0%/*}/doctor_lxc.bash"

mount_cgroup2
driver_here
export GPUVET_NVML=$GPUVET_BUILD/tests/fakes/libnvml.so GPUVET_FAKE_NVML=$PWD/nvml
: >nvml
CONTROLLER=lxc.cgroup2
box "$(allow 195 "$OLD")" "$(binds)"
lxc_up
line=$(grep -n " c $OLD:" "/var/lib/lxc/$NAME/config" | cut -d: -f1)
# shellcheck disable=SC2016 # expanded where it runs
expect 1 unshare -m bash -c 'mount --bind devices /proc/devices && exec "$0" "$@"' "$GPUVET" run --profile quick --rounds 2 --case null --case memory.copy --allow-busy --no-baseline \
    --in host --in "lxc:$NAME"
python3 - "$(last_run)" "lxc:$NAME" "/var/lib/lxc/$NAME/config line $line says $CONTROLLER.devices.allow = c $OLD:* rwm" <<'PY' || fail "not what a container with a stale rule should give"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
there, rule = sys.argv[2:]
assert lines[-1]["outcome"] == "complete", lines[-1]
records = [l for l in lines if l["type"] == "record"]
gpu = {t: [r for r in records if r["case"] == "memory.copy" and r["target"] == t] for t in ("host", there)}
assert gpu["host"] and all(r["outcome"] != "skip" for r in gpu["host"]), gpu
assert gpu[there] and all(r["outcome"] == "skip" for r in gpu[there]), gpu
for r in gpu[there]:
    assert r["reason"].startswith(there + ": ") and rule in r["reason"], r
for target in ("host", there):
    assert [r["outcome"] for r in records if r["case"] == "null" and r["target"] == target] == ["ok", "ok"], records
assert rule in lines[0]["places"][there]["broken"], lines[0]["places"][there]
ids = {(f["target"], f["id"]) for f in lines if f["type"] == "finding" and f["severity"] == "fail"}
assert ("host", "lxc.rule-missing") in ids and (there, "cgroup.uvm-denied") in ids, ids
PY
has err "lxc:$NAME: "
has err "config line $line says"
has err "add to /var/lib/lxc/$NAME/config: $CONTROLLER.devices.allow = c $UVM:* rwm"
left_nothing
