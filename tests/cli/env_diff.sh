#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpuvet env diff: captures, run files, baselines, files of env --json; 0 the same, 1 different, 2 unreadable.
# shellcheck source=tests/cli/lib.sh disable=SC1091
. "$GPUVET_SOURCE/tests/cli/lib.sh"

cp -r "$CAPTURES/two-socket-8gpu" before
cp -r before after
expect 0 "$GPUVET" env diff before after
has out "are the same"

# What moves by itself is no difference.
echo "9.99 9.99 9.99 1/1 1" >after/root/proc/loadavg
expect 0 "$GPUVET" env diff before after

# Changed, gone, new; the link that is narrower is worse.
echo 99 >after/root/proc/sys/vm/swappiness
rm after/root/sys/devices/system/cpu/cpufreq/boost
mkdir -p after/root/sys/module/gdrdrv
echo 2.4 >after/root/sys/module/gdrdrv/version
width=$(find after/root/sys -name current_link_width -path '*0000:01:00.0*' | head -1)
echo 8 >"$width"
expect 1 "$GPUVET" env diff before after
has out "sysctl.vm.swappiness: "
has out " -> 99"
has out "only in BEFORE"
has out "cpu.boost = "
has out "only in AFTER"
has out "module.gdrdrv.version = 2.4"
has out "changed for the worse"
has out "pci.0000:01:00.0.link_width: 16 -> 8 (link narrower)"
lacks out "load"

expect 1 "$GPUVET" env diff --json before after
python3 - out <<'PY' || fail "the JSON is not what it should be"
import json, sys
diff = json.load(open(sys.argv[1]))
assert diff["schema"] == "gpuvet.env-diff/1" and diff["same"] is False
assert any(d["key"] == "sysctl.vm.swappiness" and d["after"] == "99" for d in diff["changed"])
assert [d["key"] for d in diff["only_before"]] == ["cpu.boost"]
assert [d["key"] for d in diff["only_after"]] == ["module.gdrdrv.version"]
assert diff["worse"] and all(d["text"] for d in diff["worse"])
PY

# A file of env --json is the same as what it was made from.
"$GPUVET" env --from before --json >before.json || fail "env --json"
expect 0 "$GPUVET" env diff before.json before
expect 1 "$GPUVET" env diff before.json after

# A run file and a saved baseline.
expect 0 "$GPUVET" run --simulate --from before --profile quick --case host.frequency
cp "$(last_run)" r1.jsonl
expect 0 "$GPUVET" env diff r1.jsonl r1.jsonl
expect 0 "$GPUVET" env diff r1.jsonl before
expect 0 "$GPUVET" baseline save saved r1.jsonl
expect 0 "$GPUVET" env diff saved before
expect 1 "$GPUVET" env diff saved after
expect 0 "$GPUVET" env diff results/baselines/saved/ before

expect 2 "$GPUVET" env diff nowhere before
one_line
expect 2 "$GPUVET" env diff before
one_line
expect 2 "$GPUVET" env dif before after
one_line
mkdir nothing
expect 2 "$GPUVET" env diff nothing before
one_line
exit 0
