#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a report holds, with and without a comparison, with and without gnuplot.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
make() { python3 "$GPUVET_SOURCE/tests/cli/make_node.py" "$@" || fail "make_node.py $*"; }

for s in 1 2 3; do make "b$s.jsonl" seed=$s day=$s; done
make after.jsonl seed=4 day=4 h2d=0.93 wake=0.5 governor=performance label=after-6.14
expect 1 "$GPUVET" report --before b1.jsonl b2.jsonl b3.jsonl --after after.jsonl -o out1
has out "out1/index.html"
expect 1 "$GPUVET" compare --json --before b1.jsonl b2.jsonl b3.jsonl --after after.jsonl
cp out compared.json

# The same verdicts everywhere, read by parsers that know nothing of gpuvet.
python3 - "$GPUVET_SOURCE" <<'PY' || fail "the files do not say what the comparison says"
import csv, html.parser, json, re, xml.etree.ElementTree as tree
compared = json.load(open("compared.json"))
regressed = sorted(s["key"] for s in compared["series"] if s["verdict"] == "regressed")
assert regressed, "nothing regressed"
rows = list(csv.DictReader(open("out1/results.csv", newline="")))
assert len(rows) == len(compared["series"])
assert sorted(r["key"] for r in rows if r["verdict"] == "regressed") == regressed
by_key = {r["key"]: r for r in rows}
for s in compared["series"]:
    if s["ratio"] is not None:
        assert abs(float(by_key[s["key"]]["ratio"]) / s["ratio"] - 1) < 1e-6, s["key"]
        assert abs(float(by_key[s["key"]]["after"]) / s["after"] - 1) < 1e-6, s["key"]
# One test case a series; failures are the regressions.
root = tree.parse("out1/junit.xml").getroot()
series = root.find("testsuite[@name='gpuvet series']")
assert int(series.get("tests")) == len(series.findall("testcase")) == len(rows)
failed = [c for c in series.findall("testcase") if c.find("failure") is not None]
assert sorted(c.find("failure").text for c in failed) == regressed
assert int(root.get("failures")) == len(root.findall(".//failure"))
assert int(series.get("skipped")) == len(series.findall(".//skipped"))
undecided = [s for s in compared["series"] if s["verdict"] == "undecided"]
assert len([c for c in series.findall(".//skipped") if c.get("message").startswith("undecided")]) == len(undecided)
# Rounds: as many as the run files hold.
rounds = list(csv.DictReader(open("out1/rounds.csv", newline="")))
assert len([r for r in rounds if r["key"] == regressed[0] and r["side"] == "before"]) == 36
# Prometheus: names, labels and values as its text format wants them.
line = re.compile(r'^[a-z_]+(\{([a-z_]+="(\\.|[^"\\])*",?)*\})? [-+0-9.e]+$')
text = open("out1/metrics.prom").read()
samples = [l for l in text.splitlines() if not l.startswith("#")]
assert all(line.match(l) for l in samples), [l for l in samples if not line.match(l)][:1]
assert 'gpuvet_verdicts{verdict="regressed"} %d' % len(regressed) in samples
assert "gpuvet_exit_status 1" in samples
# The page: sections in order, one svg a plot, no address outside.
page = open("out1/index.html").read()
at = [page.index('id="%s"' % i) for i in ("verdict", "environment", "claims", "worse", "forest", "limits", "places", "p2p", "numa",
      "sweeps", "wake", "gemm", "decode", "rounds", "topology", "doctor", "history", "numbers", "runs")]
assert at == sorted(at)
assert not re.search(r'(src|href)="(?!#|data:,|plots/|summary.md|results.csv|rounds.csv|junit.xml|metrics.prom)', page)
assert "cpu.governor" in page and "performance" in page and "GPU 1 has 8 of its 16 lanes" in page
class Page(html.parser.HTMLParser):
    figures = svgs = 0
    def handle_starttag(self, tag, attributes):
        self.figures += tag == "figure"
        self.svgs += tag == "svg" and ("class", "spark") not in attributes
parsed = Page()
parsed.feed(page)
import os
if any(f.endswith(".svg") for f in os.listdir("out1/plots")):
    assert parsed.figures == parsed.svgs > 15, (parsed.figures, parsed.svgs)
    ids = re.findall(r'<(?:g|path|rect|circle|use)[^>]* id="([^"]*)"', page)
    assert len(ids) == len(set(ids)), "names stand twice"
summary = open("out1/summary.md").read()
assert summary.count("\n| `copy.h2d") == len(regressed)
PY
if command -v xmllint >/dev/null; then
    xmllint --noout --nonet --schema "$GPUVET_SOURCE/results/schema/junit.xsd" out1/junit.xml 2>err || fail "junit.xml does not fit its schema"
fi
if command -v gnuplot >/dev/null; then
    lacks out1/index.html "Not drawn"
    # A plot can be drawn again with what lies beside it, and changed (gnuplot 6 has a remark in a locale without UTF-8).
    (cd out1/plots && rm forest-copy.svg && LC_ALL=C.UTF-8 gnuplot -e "name='forest-copy'" forest.gp 2>../../err) || fail "the plot is not drawn again"
    [ -s out1/plots/forest-copy.svg ] || fail "no drawing"
    [ ! -s err ] || fail "gnuplot has remarks"
    for svg in out1/plots/*.svg; do [ -s "${svg%.svg}.png" ] || fail "no PNG beside $svg"; done
fi

# Alone: nothing is judged, and the sections say why they are empty.
python3 "$GPUVET_SOURCE/tests/cli/make_run.py" plain.jsonl gpus=1 || fail "make_run.py"
expect 0 "$GPUVET" report plain.jsonl -o out2
for words in "There is nothing before to judge by" "This run has one place only" "One run makes no history" \
    "No wake-up was measured" "This run holds no finding"; do
    has out2/index.html "$words"
done
# What no case measures has no section and no link to one, unless a run has it, as those above.
lacks out2/index.html 'id="gemm"'
lacks out2/index.html 'href="#gemm"'

# Without gnuplot: no plots, how to get them, everything else.
mkdir bin
ln -s "$(command -v bash)" bin/
expect 1 env PATH="$PWD/bin" "$GPUVET" report --before b1.jsonl b2.jsonl b3.jsonl --after after.jsonl -o out3
has err "apt-get install gnuplot-nox"
has out3/index.html "apt-get install gnuplot-nox"
cmp -s out1/results.csv out3/results.csv || fail "the tables differ without gnuplot"
if [ ! -s out3/plots/forest.gp ] || [ ! -s out3/plots/forest-copy.tsv ]; then fail "script and data are not there"; fi
# A gnuplot that fails, or is none.
printf '#!/bin/bash\nexit 3\n' >bin/gnuplot
chmod +x bin/gnuplot
expect 1 env PATH="$PWD/bin" "$GPUVET" report --before b1.jsonl --after after.jsonl -o out4
has out4/index.html "gnuplot failed"

# The newest of several is set against those before it; a baseline is taken by its name.
expect 1 "$GPUVET" report b1.jsonl after.jsonl b2.jsonl b3.jsonl -o out5
has out5/index.html "the runs before it"
has out5/index.html "after-6.14"
mkdir results
expect 0 "$GPUVET" baseline save old b1.jsonl b2.jsonl b3.jsonl
expect 1 "$GPUVET" report after.jsonl --baseline old -o out6
has out6/summary.md "the baseline 'old'"

# What cannot be is said in one line.
for wrong in "report" "report after.jsonl" "report -o x" "report after.jsonl --baseline none -o x" \
    "report after.jsonl --baseline old --before b1.jsonl -o x" "report --after after.jsonl -o x" "report missing.jsonl -o x" \
    "report after.jsonl -o b1.jsonl/x"; do
    # shellcheck disable=SC2086
    expect 2 "$GPUVET" $wrong
    one_line
done
exit 0
