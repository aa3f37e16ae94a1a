#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What README shows of a comparison is what the program says, and its excerpts of records are what was recorded.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

python3 - "$GPUVET_SOURCE/README.md" <<'PY' || fail "README has no comparison"
import sys
lines = open(sys.argv[1]).read().split("\n")
start = next(i for i, line in enumerate(lines) if line.startswith("    $ gpuvet compare"))
end = next(i for i in range(start, len(lines)) if lines[i].strip() == "")
with open("command", "w") as out:
    out.write(lines[start].strip()[len("$ gpuvet ") :])
with open("shown", "w") as out:
    out.write("".join(line[4:] + "\n" for line in lines[start + 1 : end] if line.strip() != "…"))
PY
cd "$GPUVET_SOURCE/results/reference/h200-x2" || fail "no recorded runs"
# shellcheck disable=SC2046
"$GPUVET" $(cat "$OLDPWD/command") >"$OLDPWD/out" 2>"$OLDPWD/err" || fail "the comparison fails"
cd "$OLDPWD" || exit 1
[ "$(wc -l <shown)" -gt 5 ] || fail "README shows nothing"
while IFS= read -r line; do
    grep -qxF -- "$line" out || fail "README shows what the program does not say: $line"
done <shown

# The figures that its table shows are the recorded run's: medians over rounds of each round's.
python3 - "$GPUVET_SOURCE" <<'PY' || fail "README shows figures that the recorded run does not have"
import gzip, json, os, re, statistics, sys
root = sys.argv[1]
rounds = {}
with gzip.open(os.path.join(root, "results/reference/h200-x2-standard/standard-1.jsonl.gz"), "rt") as run:
    for line in run:
        r = json.loads(line)
        if r["type"] == "record" and r["outcome"] == "ok":
            key = json.dumps([r["case"], r["metric"], r["where"], r["params"]], sort_keys=True)
            rounds.setdefault(key, []).append(statistics.median(r["samples"]))
medians = {}
for key, values in rounds.items():
    case, metric = json.loads(key)[:2]
    medians.setdefault((case, metric), set()).add("%.4g" % statistics.median(values))
shown = 0
for line in open(os.path.join(root, "README.md")):
    row = re.match(r"    ((?:host|launch|copy|memory|p2p|nccl|decode)\.\w+) +(\w+)(?:\.p50)? .* ([0-9.]+) (?:ns|us|GHz|GB/s) ", line)
    if row:
        shown += 1
        if row[3] not in medians.get((row[1], row[2]), ()):
            sys.exit("not recorded: " + line.strip())
sys.exit(0 if shown >= 14 else "README shows no such figures")
PY

python3 "$GPUVET_SOURCE/tests/cli/readme_excerpts.py" "$GPUVET_SOURCE" >out 2>err || fail "an excerpt is not what was recorded"
# It would notice: another figure in README, a run whose figures are not those of the table.
mkdir -p root/results/reference
cp -r "$GPUVET_SOURCE/results/reference/h200-lxc" root/results/reference/
sed 's/^\(    .*judged: \)0 worse/\11 worse/' "$GPUVET_SOURCE/README.md" >root/README.md
expect 1 python3 "$GPUVET_SOURCE/tests/cli/readme_excerpts.py" root
has err "--write puts it right"
expect 0 python3 "$GPUVET_SOURCE/tests/cli/readme_excerpts.py" root --write
cmp root/README.md "$GPUVET_SOURCE/README.md" || fail "--write does not put it right"
gzip -dc root/results/reference/h200-lxc/host-lxc.jsonl.gz | sed '/"case":"memory.copy"/s/"samples":\[/&9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,/' |
    gzip >other && mv other root/results/reference/h200-lxc/host-lxc.jsonl.gz
expect 1 python3 "$GPUVET_SOURCE/tests/cli/readme_excerpts.py" root
has err "in the run: memory.copy"
