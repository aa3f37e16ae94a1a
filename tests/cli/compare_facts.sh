#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Facts that changed for the worse, environment differences, and what may not be compared at all.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
make() { python3 "$GPUVET_SOURCE/tests/cli/make_run.py" "$@" || fail "make_run.py $*"; }
make a.jsonl seed=1

worse() { # TEXT OPTION…
    local text=$1
    shift
    make b.jsonl seed=2 "$@"
    expect 1 "$GPUVET" compare a.jsonl b.jsonl
    has out "changed for the worse (${count:-1})"
    has out "$text"
    # The other way round it is none.
    [ "${oneway:-1}" = 0 ] || { expect 0 "$GPUVET" compare b.jsonl a.jsonl; lacks out "for the worse"; }
}
worse "link narrower: pci.0000:01:00.0.link_width was 16, is 8" width=8
worse "clocksource is no longer tsc" clocksource=hpet
count=2 worse "longer path: path.GPU-11111111-aaaa was PIX, is SYS" path=SYS
oneway=0 worse "ECC mode changed" ecc=off
worse "GPU missing: gpu.GPU-22222222-bbbb" gpus=1
has out "GPU-22222222-bbbb is not in"
make b.jsonl seed=2 width_max=8
expect 1 "$GPUVET" compare a.jsonl b.jsonl
has out "link narrower at most"

# A shorter path, another number of nodes: told, and no change for the worse.
make b.jsonl seed=2 nodes=8
expect 0 "$GPUVET" compare a.jsonl b.jsonl
has out "NUMA nodes changed from 2 to 8"
has out "numa.nodes: 2 -> 8"
make b.jsonl seed=2 path=SYS
expect 0 "$GPUVET" compare b.jsonl a.jsonl
has out "path.GPU-11111111-aaaa changed from SYS to PIX"
# A GPU that moved to another node has a difference; one whose node nobody tells any more has a fault.
make b.jsonl seed=2 numa_node=1
expect 0 "$GPUVET" compare a.jsonl b.jsonl
has out "pci.0000:01:00.0.numa_node: 0 -> 1"
lacks out "for the worse"
worse "the firmware no longer tells the NUMA node: pci.0000:01:00.0.numa_node was 0, is -1" numa_node=-1

# What the records say of each GPU: both are named.
counted() { # TEXT OPTIONS-BEFORE -- OPTIONS-AFTER
    local text=$1 before=()
    shift
    while [ "$1" != -- ]; do before+=("$1"); shift; done
    shift
    make c.jsonl seed=1 "${before[@]}"
    make b.jsonl seed=2 "$@"
    expect 1 "$GPUVET" compare c.jsonl b.jsonl
    has out "changed for the worse (2)"
    has out "$text"
    expect 0 "$GPUVET" compare b.jsonl c.jsonl
    lacks out "for the worse"
}
counted "link slower under load: gpu.GPU-11111111-aaaa.link_under_load.gen was 5, is 3" load_gen=5 -- load_gen=3
counted "link narrower under load: gpu.GPU-22222222-bbbb.link_under_load.width was 16, is 4" load_gen=5 -- load_gen=5 load_width=4
counted "new PCIe replays: gpu.GPU-11111111-aaaa.replays was 0 in 36 items, is 36 in 36 items" replays=0 -- replays=1
counted "new PCIe errors (AER, correctable): gpu.GPU-11111111-aaaa.aer.correctable was 0 in 36 items" aer=0 -- aer=2
make b.jsonl seed=2 replays=1
expect 0 "$GPUVET" compare a.jsonl b.jsonl
has out "not known in BEFORE"

# Differences stand beside and change no exit status; a key that needs root is not visible, not different.
make b.jsonl seed=2 governor=performance
expect 0 "$GPUVET" compare a.jsonl b.jsonl
has out "cpu.governor: powersave -> performance"
lacks out pm_qos
make b.jsonl seed=2 root_key="needs root" boot=boot2
expect 0 "$GPUVET" compare a.jsonl b.jsonl
has out "not visible"
lacks out "environment ("
has out rebooted

# Not comparable, by name.
make b.jsonl seed=2 build=b2
expect 2 "$GPUVET" compare a.jsonl b.jsonl
has out "different builds"
expect 0 "$GPUVET" compare --force a.jsonl b.jsonl
make b.jsonl seed=2 simulated=1
expect 2 "$GPUVET" compare a.jsonl b.jsonl
has out simulated
expect 0 "$GPUVET" compare --force a.jsonl b.jsonl
make b.jsonl seed=2 version=2
expect 2 "$GPUVET" compare a.jsonl b.jsonl
has out "case version 2 here, 1 in BEFORE"
make b.jsonl seed=2 bytes=1048576
expect 0 "$GPUVET" compare a.jsonl b.jsonl
has out "not measured with these parameters in BEFORE"
make b.jsonl seed=2 uuid=GPU-99999999-cccc gpus=1 machine=m2
expect 2 "$GPUVET" compare a.jsonl b.jsonl
has out "GPU-99999999-cccc is not in BEFORE"
lacks out "GPU missing"
exit 0
