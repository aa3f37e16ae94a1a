#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Between two blocks of a round there is a pause of 20 ms, within a block none; the plan's seconds hold it. By the made-up
# clock of a simulated run, whose starts stand apart exactly by what is said of each item.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
expect 0 "$GPUVET" list --profile standard --from "$CAPTURES/guest-2gpu" --json
mv out plan.json
expect 0 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --seed 3 --no-baseline
python3 - plan.json "$(last_run)" <<'P' || fail "the starts do not stand apart as the plan says"
import collections, datetime, json, sys
plan = json.load(open(sys.argv[1]))
seconds = {i["key"]: i["seconds"] for i in plan["items"] if "skip" not in i}
blocks = {"host": "quiet", "launch": "latency", "copy": "copy", "memory": "copy", "p2p": "p2p", "nccl": "collective",
          "decode": "collective", "copy.latency": "latency", "p2p.latency": "latency", "nccl.paths": "own"}
def block(key):
    case = key.split("@")[0]
    return blocks.get(case) or blocks[case.split(".")[0]]
rounds = collections.defaultdict(list)
for line in map(json.loads, open(sys.argv[2])):
    if line["type"] == "start":
        at = datetime.datetime.fromisoformat(line["at"].replace("Z", "+00:00")).timestamp()
        rounds[line["round"]].append((at, line["key"]))
assert len(rounds) == plan["rounds"]
pauses = 0
for starts in rounds.values():
    for (at, key), (next_at, next_key) in zip(starts, starts[1:]):
        gap = next_at - at - seconds[key]
        border = block(key) != block(next_key) != "own"  # which has a process of its own
        pauses += border
        assert abs(gap - 0.02 * border) < 0.0025, (gap, key, next_key)
print(pauses, "pauses in", len(rounds), "rounds")
assert pauses == 4 * len(rounds)  # from quiet to collective
P
exit 0
