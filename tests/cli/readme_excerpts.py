#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README's excerpts of what was recorded on a GPU machine: between <!-- excerpt NAME --> and the next line that is not
indented stand the command and lines of the record as they are, not all of them.

readme_excerpts.py ROOT          status 1 and a diff where README shows anything else
readme_excerpts.py ROOT --write  puts it there: to be called after results/reference/h200-lxc has been recorded anew"""
import difflib
import gzip
import json
import pathlib
import re
import shlex
import statistics
import sys

LEAST = 6  # lines of the record in an excerpt


def shown_of(step, patterns):
    """Of this step's lines the first that match, one after the other; None when they are not all there."""
    shown, at = [], None
    for pattern in patterns:
        begin = 0 if at is None else at + 1
        found = next((i for i in range(begin, len(step)) if re.search(pattern.removeprefix("?"), step[i])), None)
        if found is None:
            if pattern.startswith("?"):
                continue
            return None
        shown.append(step[found].rstrip())
        at = found
    return shown if len(shown) >= LEAST else None


def excerpt(text, patterns):
    """From the first step of the record that has them all; one that begins with ? may be missing."""
    begins = [i for i, line in enumerate(text) if line.startswith("== ")] + [len(text)]
    for begin, end in zip(begins, begins[1:]):
        shown = shown_of(text[begin:end], patterns)
        if shown:
            return shown
    sys.exit(f"no step of the record has {LEAST} lines like these, in this order: {patterns}")


def figures_of(run, sides):
    """What the sides' figures are, by case and metric: over the rounds that both have a value of, the geometric mean of
    each round's median, or (earlier builds) their median."""
    rounds = {}
    for r in run:
        if r["type"] == "record" and r["outcome"] == "ok":
            key = (r["case"], r["metric"], json.dumps([r["where"], r["params"]], sort_keys=True))
            rounds.setdefault(key, {}).setdefault(r["round"], {})[r["target"]] = statistics.median(r["samples"])
    found = {}
    for (case, metric, _), values in rounds.items():
        pairs = [[v[side] for side in sides] for v in values.values() if all(side in v for side in sides)]
        if pairs:
            for mean in (statistics.geometric_mean, statistics.median):
                found.setdefault((case, metric), []).append(["%.4g" % mean(side) for side in zip(*pairs)])
    return found


def host_and_container(folder, _):
    text = ["== "] + (folder / "host-lxc.txt").read_text(encoding="utf-8").split("\n")
    with gzip.open(folder / "host-lxc.jsonl.gz", "rt", encoding="utf-8") as f:
        run = [json.loads(line) for line in f]
    there = run[0]["targets"][1]
    words = run[0]["command"][1:]
    if "--label" in words:
        del words[words.index("--label") : words.index("--label") + 2]
    shown = excerpt(
        text,
        [
            rf"^{there} over host",
            "?^  copy.d2h bandwidth GPU 0 ",
            "?^  copy.h2d bandwidth GPU 0 ",
            "?^  copy.latency call.p50 GPU 0 .* h2d",
            "?^  host.memory bandwidth ",
            "?^  host.wake wake.p50 .* idle_us=50 timer",
            "?^  launch.latency call.p50 GPU 0 busy",
            "?^  memory.copy bandwidth GPU 0 ",
            "?^  nccl.all_reduce time.p50 .* 64 MiB .*float",
            "?^  p2p.write bandwidth GPU 0 to GPU 1 512 MiB ",
            r"^  \d+ judged: ",
        ],
    )
    figures = figures_of(run, ("host", there))
    rows = 0
    for line in shown:
        row = re.match(r"  ([\w.]+) (\w+)(?:\.p50)? .* ([0-9.e+]+) +([0-9.e+]+) (?:ns|us|GB/s) ", line)
        if row and [row[3], row[4]] not in figures.get((row[1], row[2]), ()):
            sys.exit(f"no {row[3]} and {row[4]} in the run: {line.strip()}")
        rows += row is not None
    if rows < LEAST - 2:
        sys.exit("few of these lines have figures: " + shown[1])
    return ["$ " + shlex.join(["gpuvet", *words])] + shown


def incident(_, text):
    config = "/var/lib/lxc/gpu-known/config"
    shown = excerpt(
        text,
        [
            rf"^\+\+\+ {config}",
            r"^-lxc.*devices.allow = c \d+:\* rwm",
            r"^\+lxc.*devices.allow = c \d+:\* rwm",
            rf"^  {config} line \d+: \d+ becomes \d+",
            rf"^{config} is changed; the old one is ",
            "^Now restart it",
            "^Doctor on container gpu-known: ok",
        ],
    )
    skipped = [line for line in text if "what needs a GPU is skipped there: " in line and config in line]
    first = ["$ gpuvet run --in host --in lxc:gpu-known", skipped[0]] if skipped else []
    return first + ["$ gpuvet doctor --fix lxc:gpu-known --baseline before --apply"] + shown


def doctor(_, text):
    return ["$ gpuvet doctor"] + excerpt(
        text,
        [
            "^fail  the device cgroup denies /dev/nvidia-uvm",
            "^      /dev/nvidia-uvm: ",
            "^      cgroup ",
            "^      /proc/devices: ",
            "^      why: ",
            "^      do: ",
        ],
    )


EXCERPTS = {"doctor": doctor, "host and container": host_and_container, "incident": incident}


def main():
    root = pathlib.Path(sys.argv[1])
    folder = root / "results/reference/h200-lxc"
    text = (folder / "incident.txt").read_text(encoding="utf-8").split("\n")
    readme = root / "README.md"
    old = readme.read_text(encoding="utf-8").split("\n")
    new, inside, seen = [], False, set()
    for line in old:
        if inside and (line.startswith("    ") or not line):
            continue
        inside = False
        marker = re.fullmatch("<!-- excerpt (.*) -->", line)
        if not marker:
            new.append(line)
            continue
        seen.add(marker[1])
        new += [line, ""] + ["    " + shown for shown in EXCERPTS[marker[1]](folder, text)] + [""]
        inside = True
    if seen != set(EXCERPTS):
        sys.exit(f"README has no excerpt of {set(EXCERPTS) - seen}")
    if "--write" in sys.argv:
        readme.write_text("\n".join(new), encoding="utf-8")
    elif new != old:
        print("\n".join(difflib.unified_diff(old, new, "README.md", "as recorded", lineterm="")))
        sys.exit("README shows what was not recorded: tests/cli/readme_excerpts.py . --write puts it right")


main()
