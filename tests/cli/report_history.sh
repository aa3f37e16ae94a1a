#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Many runs: trends, from kept summaries, on a page of bounded size.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
mkdir -p results/runs
python3 - "$GPUVET_SOURCE/tests/cli/make_run.py" <<'PY' || fail "runs"
import subprocess, sys
for i in range(40):
    subprocess.run([sys.executable, sys.argv[1], f"results/runs/r{i:03d}.jsonl", f"seed={i + 1}", "rounds=4",
                    f"h2d={1 - 0.004 * i}", f"started=2026-02-{1 + i // 2:02d}T{10 + i % 2}:00:00Z"], check=True)
PY
expect 0 "$GPUVET" report results/runs/*.jsonl -o out1
[ "$(find results/summaries -name '*.json' | wc -l)" = 40 ] || fail "no summaries"
python3 - <<'PY' || fail "the history"
import re
page = open("out1/index.html").read()
history = page[page.index('id="history"'):page.index('id="numbers"')]
rows = re.findall(r"<tr><td>([^<]*)</td>.*?</tr>", history, re.S)
falling = re.findall(r"<tr><td>(copy\.h2d[^<]*)</td>(?:(?!</tr>).)*getting worse", history, re.S)
assert len(falling) == 2, falling
steady = re.findall(r"<tr><td>(copy\.d2h[^<]*)</td>(?:(?!</tr>).)*no trend shown", history, re.S)
assert len(steady) == 2, steady
assert history.count("results/runs/r") == 40
PY
# From summaries the same page comes out; one that was changed, or is none, is made anew.
for f in results/summaries/*.json; do echo '{"schema":"gpuvet.summary/0"}' >"$f"; break; done
f=$(find results/summaries -name '*.json' | tail -1)
echo 'not JSON' >"$f"
expect 0 "$GPUVET" report results/runs/*.jsonl -o out2
cmp -s out1/index.html out2/index.html || fail "the page differs"
# A summary is of the file as it is.
python3 "$GPUVET_SOURCE/tests/cli/make_run.py" results/runs/r000.jsonl seed=99 h2d=3 "started=2026-02-01T10:00:00Z" || fail "make_run.py"
expect 0 "$GPUVET" report results/runs/*.jsonl -o out3
! cmp -s out1/index.html out3/index.html || fail "an old summary was taken"
# Nowhere to keep them: the report is made all the same.
rm -rf results/summaries
touch results/summaries
expect 0 "$GPUVET" report results/runs/*.jsonl -o out4
cmp -s out3/index.html out4/index.html || fail "the page differs without summaries"
exit 0
