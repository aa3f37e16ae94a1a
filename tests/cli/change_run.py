# SPDX-License-Identifier: Apache-2.0
"""Makes a changed copy of a recorded run: change_run.py FROM TO PATTERN=FACTOR ... env:KEY=VALUE ...

Samples of cases that match are multiplied, keys of the environment set. The label says that the change is made up: such
a run shows what a change would look like, and is no measurement.
"""
import fnmatch
import gzip
import json
import sys

source, target, *changes = sys.argv[1:]
pairs = [change.rsplit("=", 1) for change in changes]
lines = []
with (gzip.open(source, "rt") if source.endswith(".gz") else open(source, encoding="utf-8")) as file:
    for text in file:
        line = json.loads(text)
        if line["type"] == "header":
            line["label"] = "made-up change"
            line["environment"].update({k[4:]: v for k, v in pairs if k.startswith("env:")})
        elif line["type"] == "record":
            for pattern, factor in pairs:
                if fnmatch.fnmatchcase(line["case"], pattern):
                    line["samples"] = [sample * float(factor) for sample in line.get("samples", [])]
        lines.append(json.dumps(line, separators=(",", ":")))
with open(target, "w", encoding="utf-8") as file:
    file.write("\n".join(lines) + "\n")
