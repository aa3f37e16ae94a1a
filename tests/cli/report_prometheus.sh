#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# metrics.prom by Prometheus' own checker.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
promtool=${PROMTOOL:-$(command -v promtool)}
[ -n "$promtool" ] || skip "no promtool here (PROMTOOL=PATH, from Debian's package prometheus)"
make() { python3 "$GPUVET_SOURCE/tests/cli/make_node.py" "$@" rounds=4 || fail "make_node.py"; }
make a.jsonl seed=1
make b.jsonl seed=2 h2d=0.9
# shellcheck disable=SC2016
make c.jsonl seed=3 'hostile=a"b\c
d{e="f"} 1'
for after in b c; do
    "$GPUVET" report --before a.jsonl --after $after.jsonl -o out-$after --force >out 2>err || [ $? -le 2 ] || fail "report"
    "$promtool" check metrics <out-$after/metrics.prom >out 2>err || fail "promtool on $after"
    if [ -s out ] || [ -s err ]; then fail "promtool has remarks on $after"; fi
done
exit 0
