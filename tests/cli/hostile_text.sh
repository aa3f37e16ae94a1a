#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Words from the command line and from run files reach a terminal without what steers it.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

# harmless FILE…: no control characters, no C1, no turned writing direction.
harmless() {
    ! LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]' "$@" ||
        fail "control characters in $*"
}

python3 - "$GPUVET_SOURCE/tests/cli/make_run.py" <<'PY'
import json, subprocess, sys

evil = "\x1b]0;x\x07\x1bc\x9b2J\u202e\r\n"


def spoiled(value, path):
    """Every text that carries no structure ends in what steers a terminal."""
    if isinstance(value, dict):
        return {k: spoiled(v, path + [k]) for k, v in value.items()}
    if isinstance(value, list):
        return [spoiled(v, path) for v in value]
    kept = ("type", "schema", "outcome", "better", "class", "statistic", "case", "metric", "target", "key", "where",
            "params", "build_id", "machine_id", "uuid", "gpu", "role", "memory", "wait", "after")
    if not isinstance(value, str) or path[-1] in kept:
        return value
    return "\x1bc" + value[:1] if path[-1] == "unit" else value + evil


for seed in (1, 2):
    subprocess.run([sys.executable, sys.argv[1], "plain", f"seed={seed}", "fail=copy.h2d"], check=True)
    with open("plain") as plain, open(f"evil{seed}", "w") as out:
        for line in plain:
            line = spoiled(json.loads(line), [""])
            if seed == 2 and line["type"] == "header":
                line["environment"]["nested" + evil] = [evil, {evil: evil}]
            out.write(json.dumps(line) + "\n")
PY
expect 0 "$GPUVET" compare evil1 evil2
harmless out err
has out 'call.p99' # the rows with the spoiled unit are there
has out 'failed in AFTER'
has out 'nested'
expect 0 "$GPUVET" compare --json evil1 evil2
harmless out
expect 0 "$GPUVET" baseline save b evil1
harmless out err
expect 0 "$GPUVET" baseline show b
harmless out err
expect 0 "$GPUVET" baseline list
harmless out err

# However long a label or a value is, a line of a comparison stays one that can be read.
python3 - <<'PY'
import json
with open("plain") as plain, open("long", "w") as out:
    for line in plain:
        line = json.loads(line)
        if line["type"] == "header":
            line.update(label="l" * 500000, node="n" * 10000)
            line["environment"]["value"] = "v" * 100000
        if line.get("outcome") == "fail":
            line["reason"] = "r" * 100000
        out.write(json.dumps(line) + "\n")
PY
expect 0 "$GPUVET" compare plain long
[ "$(wc -L <out)" -lt 1000 ] || fail "a line of $(wc -L <out) characters"
has out 'vvv...'

evil=$(printf 'a\033]0;x\007\233\302\2332J\342\200\256\377')
for words in "$evil" "run --$evil" "run --case $evil" "run --profile $evil" "run --results /proc/$evil" "run --from $evil --dry-run" \
    "baseline $evil" "baseline show $evil" "baseline save $evil x" "compare $evil $evil" "env --from $evil"; do
    # shellcheck disable=SC2086
    expect 2 "$GPUVET" $words
    one_line
    harmless err
done
expect 0 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --profile quick --label "$evil"
harmless out err
