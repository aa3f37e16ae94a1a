#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bad input: one clear line, what and what to do, status 2, nothing half-written.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

expect 2 "$GPUVET" run --allow-busy --case copy.h2b
one_line
has err "did you mean copy.h2d"
expect 2 "$GPUVET" run --profle quick
one_line
has err "--profile"
expect 2 "$GPUVET" run --profile quickly
one_line
expect 2 "$GPUVET" run --rounds 0
one_line
expect 2 "$GPUVET" run --in moon
one_line
expect 2 "$GPUVET" run --from nowhere --dry-run
one_line
expect 2 "$GPUVET" run --from "$CAPTURES/guest-2gpu"
one_line
expect 2 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --gpu 9
one_line
has err "no GPU is called '9'"
has err "0 ("
# The beginning of two UUIDs is neither of them.
expect 2 "$GPUVET" run --dry-run --from "$CAPTURES/guest-2gpu" --gpu GPU-2000
one_line
has err "more than one GPU is called 'GPU-2000'; there are: 0 ("
expect 0 "$GPUVET" run --dry-run --from "$CAPTURES/guest-2gpu" --gpu GPU-2000aaaa-0000-4000-8000-000000000001
has out "GPU 1"
lacks out "GPU 0"

# What would do nothing is refused.
expect 2 "$GPUVET" run --dry-run --from "$CAPTURES/guest-2gpu" --report out/
one_line
has err "--report does nothing with --dry-run"
for where in host ssh:nowhere; do
    expect 2 "$GPUVET" run --start --in "$where" --case null
    one_line
    has err "--start starts a container"
done

# The plan for machines: what list prints, with what each series could show.
expect 0 "$GPUVET" run --dry-run --json --from "$CAPTURES/guest-2gpu"
python3 - <<'P' || fail "the plan for machines"
import json
plan = json.load(open("out"))
assert plan["schema"] == "gpuvet.list/1" and plan["items"] and plan["seconds"] > 0
primary = [s for s in plan["series"] if s["class"] == "primary"]
assert len(primary) == plan["primary_series"] and all(s["least_effect"] > 0 for s in primary)
assert all(s["least_effect"] is None for s in plan["series"] if s["class"] == "descriptive")
for i in plan["items"]:
    needs = i["needs"]
    assert needs["peer"] == i["key"].startswith(("p2p.write", "p2p.read", "p2p.bidir", "p2p.all", "p2p.latency")), i
    assert needs["nccl"] == i["key"].startswith(("nccl.", "decode.step")), i
    assert needs["root"] == ("control=poll" in i["key"] or "control=first" in i["key"]), i
    assert (needs["gpus"] > 0) == ("GPU-" in i["key"]) or i["key"].startswith("host."), i
P
expect 0 "$GPUVET" list --profile quick --from "$CAPTURES/guest-2gpu"
grep -q '^case .* needs ' out || fail "no column of what is needed"
grep -q '^nccl.all_reduce .* 1 GPU, NCCL ' out || fail "NCCL is not named"

expect 0 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --gpu 1 --profile quick
! grep '"type":"record"' "$(last_run)" | grep -q "$(grep -o 'GPU-[0-9a-f-]*' "$CAPTURES/guest-2gpu/probes.json" | head -1)" ||
    fail "GPU 0 was measured"

# The results folder.
: >file
expect 2 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --results file
one_line
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=64k none small 2>/dev/null; then
    expect 2 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --results small
    has err "No space left"
    mount -o remount,ro small
    expect 2 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --results small
    has err "Read-only file system"
    umount small
fi

# A place that cannot be entered is refused before, also where the machine is a captured one: no file of errors.
rm -rf results
for from in '' "--from $CAPTURES/guest-2gpu"; do
    # shellcheck disable=SC2086
    expect 2 "$GPUVET" run --simulate $from --in host --in like:4194304
    one_line
    has err "no such process"
    [ -z "$(find results -name '*.jsonl')" ] || fail "a run was made of a place that is not there"
done
expect 0 "$GPUVET" run --dry-run --from "$CAPTURES/guest-2gpu" --in host --in lxc:elsewhere # that machine's, not this one's

# Two runs in one second, by processes of one number (each in a PID namespace of its own): two files, neither lost. The
# made-up clock of a simulated run always begins at the same time.
if unshare --pid --fork true 2>/dev/null; then
    rm -rf twice
    for seed in 1 2; do
        unshare --pid --fork "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --case null --rounds 2 --no-baseline --results twice --seed $seed >out 2>err ||
            fail "simulated run $seed"
    done
    [ "$(find twice/runs -name '*.jsonl' | wc -l)" = 2 ] || fail "of two runs in one second $(ls twice/runs) are left"
    for seed in 1 2; do grep -lq "\"seed\":$seed," twice/runs/*.jsonl || fail "the run with seed $seed is lost"; done
fi

# A second gpuvet at the same time.
rm -f lock
"$GPUVET" run --allow-busy --no-baseline --case 'fault@1/*how=hang}*' --rounds 4 >/dev/null 2>&1 &
pid=$!
for _ in $(seq 100); do [ -s lock ] && break; sleep 0.1; done
expect 2 "$GPUVET" run --allow-busy --case null
one_line
has err "another gpuvet is measuring"
kill "$pid"
wait "$pid" 2>/dev/null
exit 0
