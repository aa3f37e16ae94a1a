# SPDX-License-Identifier: Apache-2.0
"""Writes runs that lack what a figure needs: make_degenerate.py WHOLE FOLDER, of a run of make_node.py."""
import copy
import json
import os
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    lines = [json.loads(line) for line in file]
folder = sys.argv[2]
header, footer = lines[0], lines[-1]
records = [line for line in lines if line["type"] == "record"]
findings = [line for line in lines if line["type"] == "finding"]
there = header["targets"][1]


def write(name, kept, head=None, end=True):
    counts = dict.fromkeys(("ok", "fail", "skip", "hang", "error"), 0)
    for r in kept:
        counts[r["outcome"]] += 1
    foot = [dict(footer, counts=counts, rounds=1 + max((r["round"] for r in kept), default=-1))] if end else []
    with open(os.path.join(folder, name + ".jsonl"), "w", encoding="utf-8") as out:
        for line in [head or header, *kept, *findings, *foot]:
            out.write(json.dumps(line, separators=(",", ":")) + "\n")


def changed(change, of=None):
    kept = copy.deepcopy(of or records)
    for number, r in enumerate(kept):
        change(number, r)
    return kept


def outcome(name):
    def change(_, r):
        del r["samples"]
        r.update(outcome=name, reason="made up")
    return change


def samples(*values):
    def change(number, r):
        r["samples"] = [values[number % len(values)]] * len(r["samples"])
    return change


def limits(*values):
    def change(number, r):
        r["limit"] = r["limit_raw"] = values[number % len(values)]
    return change


def rounds(n):
    return [r for r in records if r["round"] < n]


first = rounds(1)
one_sample = changed(lambda _, r: r.update(samples=r["samples"][:1]))
write("one_round", first)
write("two_rounds", rounds(2))
write("one_round_one_sample", [r for r in one_sample if r["round"] == 0])
write("one_sample", one_sample)
write("one_round_here", [r for r in first if r["target"] == "host"])
write("one_round_there", [r for r in first if r["target"] == there])
write("other_rounds_there", [r for r in records if (r["target"] == there) == (r["round"] > 5)])
write("one_round_there_of_many", [r for r in records if r["target"] == "host" or r["round"] == 0])
write("one_target", [r for r in first if r["target"] == "host"], head=dict(header, targets=["host"]))
write("nothing", [], head=dict(header, series=[]))
write("no_records", [])
write("header_only", [], end=False)
write("interrupted", first[:1], end=False)
for bad in ("skip", "fail", "hang", "error"):
    write("all_" + bad, changed(outcome(bad), first))
write("bad_but_one", records[:1] + changed(outcome("error"), records[1:]))
write("failed_later", first + changed(outcome("fail"), records[len(first):]))
for name, values in {"zeros": (0,), "zero_and_one": (0, 1, 2), "negative": (-1, 2), "equal": (7,), "huge": (1e308, 1.7e308),
                     "tiny": (5e-324, 1e-310), "apart": (5e-324, 1.7e308, 1), "apart_too": (1.7e308, 1, 5e-324)}.items():
    write(name, changed(samples(*values)))
    write(name + "_one_round", changed(samples(*values), first))
for name, values in {"limit_zero": (0, -1), "limit_tiny": (5e-324,), "limit_huge": (1.7e308,), "limit_none": (None,)}.items():
    write(name, changed(limits(*values)))
for name, change in {"delta_zero": {"delta_rel": 0, "delta_abs": 0}, "delta_none": {"delta_rel": None, "delta_abs": None, "n": 0}}.items():
    head = copy.deepcopy(header)
    for s in head["series"]:
        s.update(change)
    write(name, records, head=head)
