#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page in a real browser: Chromium, headless, at the width of a desk and of a phone, light and dark.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    skip "no chromium here (apt-get install chromium)"
command -v gnuplot >/dev/null || skip "no gnuplot here"
make() { python3 "$GPUVET_SOURCE/tests/cli/make_node.py" "$@" || fail "make_node.py"; }
for s in 1 2 3; do make "b$s.jsonl" seed=$s day=$s; done
make after.jsonl seed=4 day=4 h2d=0.93 wake=0.5 governor=performance
expect 1 "$GPUVET" report --before b1.jsonl b2.jsonl b3.jsonl --after after.jsonl -o page
# A real run, with nothing to compare.
expect 0 "$GPUVET" report "$GPUVET_SOURCE/results/reference/h200-x2/standard-a.jsonl.gz" -o alone
# Names that want to be more.
# shellcheck disable=SC2016
text='<script>alert(1)</script><img src=x onerror=alert(1)>"`${7*7}`'
make hostile.jsonl seed=5 day=5 rounds=4 "hostile=$text"
"$GPUVET" report hostile.jsonl -o hostile >out 2>err || [ $? = 1 ] || fail "report"
for page in page alone hostile; do
    timeout 120 python3 "$GPUVET_SOURCE/tests/cli/browser.py" "$browser" "$page/index.html" ${SHOTS:+"$SHOTS"} >out 2>err ||
        fail "$page in the browser"
done
exit 0
