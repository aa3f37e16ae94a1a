#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What doctor and topo say to machines fits its schema (run_cases.py asks it of every case too), and the schema
# refuses what is broken.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is missing"
SCHEMAS=$GPUVET_SOURCE/results/schema
fits() { python3 "$GPUVET_SOURCE/tests/cli/check_schema.py" "$SCHEMAS/$1.schema.json" "$2" >out 2>err || fail "$2"; }

got=0
"$GPUVET" doctor --json >live.json 2>err || got=$?
[ "$got" = 0 ] || [ "$got" = 1 ] || fail "status $got"
fits doctor live.json
"$GPUVET" topo --json >live.json 2>err || fail "topo"
fits topo live.json
for capture in "$CAPTURES"/*; do
    [ -f "$capture/topology.xml" ] || continue
    "$GPUVET" topo --from "$capture" --json >topo.json 2>err || fail "topo of $capture"
    fits topo topo.json
done
PYTHONDONTWRITEBYTECODE=1 python3 "$GPUVET_SOURCE/tests/fixtures/known_machines.py" machines || fail "no machines"
for machine in A B C D E; do
    "$GPUVET" topo --from machines/$machine --json >topo.json 2>err || fail "topo of machine $machine"
    fits topo topo.json
done

mkdir -p sick/root/proc sick/root/etc/pve/lxc
printf 'Character devices:\n195 nvidia\n195 nvidiactl\n509 nvidia-uvm\n' >sick/root/proc/devices
printf 'lxc.cgroup2.devices.allow: c 195:* rwm\nlxc.cgroup2.devices.allow: c 504:* rwm\n' >sick/root/etc/pve/lxc/129.conf
expect 1 "$GPUVET" doctor --from sick --json
cp out sick.json
fits doctor sick.json
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$GPUVET_SOURCE/tests/cli python3 - "$SCHEMAS" <<'PY' >out 2>err || fail "a broken one fits"
import json, sys
import jsonschema
from schema_changes import GONE, changed
def refuses(schema, whole, changes):
    validator = jsonschema.Draft7Validator(json.load(open(f"{sys.argv[1]}/{schema}.schema.json")))
    validator.validate(whole)
    for path, value in changes:
        if validator.is_valid(changed(whole, path, value)):
            sys.exit(f"{schema}: {path} = {value} fits")
first = ["findings", 0]
refuses("doctor", json.load(open("sick.json")), [
    (["schema"], "gpuvet.doctor/2"), (["verdict"], "ok"), (["verdict"], "warn"), (["where"], "moon"), (["where"], GONE),
    (["findings"], {}), (["findings"], []), (first + ["id"], "uvm"), (first + ["severity"], "bad"), (first + ["severity"], "info"),
    (first + ["area"], "gpu"), (first + ["evidence"], GONE), (first + ["evidence", 0, "path"], 5), (first + ["remedy"], "reboot"),
    (first + ["cause"], ""), (first + ["consequence_of"], None), (first + ["other"], 1)])
gpu, pair = ["gpus", 0], ["pairs", 0]
refuses("topo", json.load(open("topo.json")), [
    (["schema"], 1), (["sockets"], -1), (["gpus"], GONE), (gpu + ["bdf"], "41:00"), (gpu + ["path"], {}), (gpu + ["limit"], 0),
    (gpu + ["path", 0, "gen"], 0), (pair + ["class"], "NEAR"), (pair + ["from"], None), (pair + ["p2p"], 5), (["numa_nodes", 0, "cpus"], 3)])
PY
exit 0
