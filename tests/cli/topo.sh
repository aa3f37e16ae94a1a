#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The node drawn: five machines whose `nvidia-smi topo -m` was published, links that trained low, a node without a GPU.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip "python3 writes the machines, and is not here"
PYTHONDONTWRITEBYTECODE=1 python3 "$GPUVET_SOURCE/tests/fixtures/known_machines.py" machines || fail "no machines"

for machine in A B C D E; do
    expect 0 "$GPUVET" topo --from "machines/$machine" --json
    python3 - "machines/$machine.classes" <<'PY' || fail "machine $machine: another matrix than was published"
import json, sys
topo = json.load(open("out"))
want = [line.split() for line in open(sys.argv[1])]
found = {(p["from"], p["to"]): p["class"] for p in topo["pairs"]}
bad = [(i, j, found.get((i, j)), c) for i, row in enumerate(want) for j, c in enumerate(row) if i != j and found.get((i, j)) != c]
for i, j, got, c in bad[:8]:
    print(f"GPU {i} to {j}: {got}, published {c}")
sys.exit(1 if bad or len(found) != len(want) * (len(want) - 1) else 0)
PY
    expect 0 "$GPUVET" topo --from "machines/$machine"
    has out "GPU 0"
    [ ! -s err ] || fail "something on stderr"
done
expect 0 "$GPUVET" topo --from machines/C
has out "root port 0000:20:01.1"
has out "switch port 0000:24:01.0"
# Once a shared port, not once a GPU.
[ "$(grep -c 'root port 0000:20:01.1' out)" = 1 ] || fail "a shared root port is drawn twice"

expect 0 "$GPUVET" topo --from "$CAPTURES/switches-4gpu"
has out "Gen4 x8 (can Gen5 x16)"
has out "at most 14.4 GB/s to its CPU"
expect 0 "$GPUVET" topo --from "$CAPTURES/guest-2gpu"
has out "a guest"
has out "NV18"
# Without the driver's word: the GPUs of the bus, on the same paths; addresses as the driver writes them.
classes() { python3 -c 'import json; print([(p["from"], p["to"], p["class"]) for p in json.load(open("out"))["pairs"]])'; }
expect 0 "$GPUVET" topo --from machines/C --json
classes >said
cp -r machines/C bus
rm bus/probes.json
expect 0 "$GPUVET" topo --from bus --json
classes >found
cmp said found || fail "other paths where only the bus is known"
expect 0 "$GPUVET" topo --from bus
has out "GPU 7"
cp -r machines/C driver
sed -E 's/"0000:([0-9a-f]{2}:00\.0)"/"00000000:\U\1"/g' machines/C/probes.json >driver/probes.json
! cmp -s machines/C/probes.json driver/probes.json || fail "no address was rewritten"
expect 0 "$GPUVET" topo --from driver --json
classes >found
cmp said found || fail "other paths with addresses as the driver writes them"
expect 0 "$GPUVET" topo
has out "NUMA node 0"
# No /sys: what is drawn is said to be a guess, in a line of ours.
if unshare -m --propagation private mount -t tmpfs none /sys 2>/dev/null; then
    # shellcheck disable=SC2016 # for the shell inside
    expect 0 unshare -m --propagation private bash -c 'mount -t tmpfs none /sys && exec "$GPUVET" topo'
    one_line
    has err "mount -t sysfs sysfs /sys"
fi
# What hwloc reads from the environment puts no other machine in this one's place.
expect 0 "$GPUVET" topo
mv out own
for variable in 'HWLOC_SYNTHETIC=node:7 core:3 pu:1' HWLOC_XMLFILE="$CAPTURES/two-socket-8gpu/topology.xml" HWLOC_XMLFILE=/dev/zero \
    HWLOC_FSROOT=/nonexistent HWLOC_COMPONENTS=stop HWLOC_COMPONENTS=synthetic HWLOC_THISSYSTEM=0; do
    expect 0 timeout 60 env "$variable" "$GPUVET" topo
    cmp own out || fail "another machine with $variable"
    [ ! -s err ] || fail "a word with $variable"
done
# An entry of the environment that is no variable (no shell makes one) holds nothing up.
expect 0 timeout 60 python3 - "$GPUVET" <<'P'
import ctypes, sys
entries = lambda *words: (ctypes.c_char_p * (len(words) + 1))(*[w.encode() for w in words], None)
ctypes.CDLL(None).execve(sys.argv[1].encode(), entries(sys.argv[1], "topo"), entries("HWLOC_ODD", "HWLOC_FSROOT=/nonexistent", "NO_COLOR=1"))
P
cmp own out || fail "another machine with an entry that is no variable"
expect 2 "$GPUVET" topo --from ''
one_line
expect 2 "$GPUVET" topo --from nowhere
one_line
expect 2 "$GPUVET" topo --jsn
one_line
has err "--json"
