#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Names from a run file do nothing: not in HTML, SVG, gnuplot, CSV, Markdown, XML or Prometheus' format.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
make() { python3 "$GPUVET_SOURCE/tests/cli/make_node.py" "$@" rounds=4 || fail "make_node.py"; }

check() {
    python3 - "$1" <<'PY' || fail "a hostile name got through in $1"
import csv, html.parser, os, re, sys, xml.etree.ElementTree as tree
folder = sys.argv[1]
page = open(folder + "/index.html", encoding="utf-8").read()
allowed = {"html", "head", "meta", "link", "title", "style", "body", "header", "main", "footer", "nav", "section", "article", "div", "p",
           "h1", "h2", "h3", "span", "b", "i", "a", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code", "pre", "small", "br",
           "figure", "figcaption", "details", "summary", "input", "label", "script", "svg", "g", "path", "text", "tspan", "defs", "rect", "circle",
           "use", "polygon", "polyline", "line", "clippath"}
class Page(html.parser.HTMLParser):
    scripts = 0
    def handle_starttag(self, tag, attributes):
        assert tag in allowed, tag
        self.scripts += tag == "script"
        for name, value in attributes:
            assert not name.startswith("on"), name
            if name in ("href", "xlink:href", "src"):
                assert re.match(r"^(#[\w-]+|data:,|plots/[\w.-]*|summary\.md|results\.csv|rounds\.csv|junit\.xml|metrics\.prom)$", value), value
            if name == "style":
                assert re.match(r"^width:[\d.]+%$", value), value
parsed = Page()
parsed.feed(page)
assert parsed.scripts == 1
assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page)
tree.parse(folder + "/junit.xml")
for name in ("results.csv", "rounds.csv"):
    rows = list(csv.reader(open(folder + "/" + name, newline="", encoding="utf-8")))
    assert all(len(row) == len(rows[0]) for row in rows), name
    for row in rows:
        for cell in row:
            assert not re.match(r"^[=@+\t\r|%]", cell), cell
            assert not (cell.startswith("-") and not re.match(r"^-[\d.e+-]+$", cell)), cell
line = re.compile(r'^[a-z_]+(\{([a-z_]+="(\\.|[^"\\\n])*",?)*\})? [-+0-9.e]+$')
for sample in open(folder + "/metrics.prom", encoding="utf-8").read().split("\n")[:-1]:
    assert sample.startswith("# ") or line.match(sample), sample
summary = open(folder + "/summary.md", encoding="utf-8").read()
bare = re.sub(r"`[^`\n]*`", "", summary)
assert "<" not in bare and "@" not in bare and "](" not in bare and "http" not in bare, bare
for name in os.listdir(folder + "/plots"):
    assert re.match(r"^[a-z0-9-]+\.(svg|png|tsv|var|gp)$", name), name
    if name.endswith(".var"):
        for var in open(folder + "/plots/" + name):
            assert re.match(r"^\w+ = (-?[\d.e+-]+|'[ \w.:=/+,()<>?;%-]*')$", var), var
    if name.endswith(".svg"):
        tree.parse(folder + "/plots/" + name)
assert not os.path.exists("/tmp/gpuvet-hostile-mark") and not os.path.exists("mark")
PY
}

number=0
while IFS= read -r text; do
    number=$((number + 1))
    text=$(printf '%b' "$text")
    make "a$number.jsonl" seed=1 "hostile=$text"
    make "b$number.jsonl" seed=2 "hostile=$text" h2d=0.9
    "$GPUVET" report --before "a$number.jsonl" --after "b$number.jsonl" -o "out$number" >out 2>err || [ $? = 1 ] || fail "status for $text"
    check "out$number"
    rm -rf "out$number"
done <<'TEXTS'
<script>alert(1)</script><img src=x onerror=alert(1)>"'`${7*7}
'; system('touch mark /tmp/gpuvet-hostile-mark'); print '`touch mark`@mark"$(touch mark)
=HYPERLINK("http://evil.example","x")|cmd|' /C calc'!A0
](javascript:alert(1)) @root `code` |x| <b> ![i](http://evil.example/i.png)
\x01\x02\x1b[31m\x7f]]><![CDATA[ \xe2\x80\xae\xe2\x81\xa6 &amp; &lt;
%s%n%d%f {/Symbol a}_x^y~a{.6-} \\\\n \\\\" \n x="1"} 1
+1+cmd\t-2@SUM(1)</style></title></svg><svg onload=alert(1)>
TEXTS
[ "$number" -ge 7 ] || fail "the texts were not read"
exit 0
