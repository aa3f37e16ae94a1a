#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What cannot run is told by reason: each reason once, with all its cases, in list, a dry run and run's table; the records
# stay one for each item.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
from=(--from "$GPUVET_SOURCE/tests/fixtures/captures/cpuset-2gpu")
expect 0 "$GPUVET" list --profile standard "${from[@]}"
cp out list.txt
expect 0 "$GPUVET" list --profile standard --json "${from[@]}"
cp out list.json
expect 0 "$GPUVET" run --dry-run "${from[@]}"
cp out dry.txt
expect 0 "$GPUVET" run --simulate --no-baseline "${from[@]}"
cp out run.txt
python3 - "$(last_run)" <<'P' || fail "a reason is told twice, or a case is left out"
import collections, json, re, sys
plan = json.load(open("list.json"))
want = collections.defaultdict(list)
for a in plan["absent"]:
    want[a["reason"]].append(a["case"])
for i in plan["items"]:
    if "skip" in i:
        want[i["skip"]].append(i["key"].split("@")[0])
assert len(want) > 4 and max(map(len, want.values())) > 20, want

for name, word in ("list.txt", "not here"), ("dry.txt", "not here"), ("run.txt", "skipped"):
    shown, into = {}, None
    for line in open(name):
        head = re.match(rf"(\d+) {word}: (.*)\n", line)
        if head:
            assert head[2] not in shown, f"{name}: twice: {head[2]}"
            into = shown[head[2]] = [int(head[1]), ""]
        elif line.startswith("    ") and into:
            assert len(line) < 130, line
            into[1] += line.strip() + " "
        else:
            into = None
    assert shown.keys() == want.keys(), (name, shown.keys() ^ want.keys())
    for reason, (count, cases) in shown.items():
        assert count == len(want[reason]), (name, reason, count)
        said = [c.split(" ")[0] for c in re.split(r", (?=[a-z0-9]+\.[a-z_0-9]+(?: \(|, |$))", cases.strip())]
        assert collections.Counter(said) == collections.Counter(set(want[reason])), (name, reason, said)

records = [r for r in map(json.loads, open(sys.argv[1])) if r["type"] == "record" and r["outcome"] == "skip"]
assert collections.Counter(r["reason"] for r in records) == {k: len(v) for k, v in want.items()}
P
exit 0
