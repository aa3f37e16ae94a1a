#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What README shows of a comparison is what the program says.
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
