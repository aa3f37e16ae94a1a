# SPDX-License-Identifier: Apache-2.0
"""check_schema.py SCHEMA FILE: every line of a run file (or the one value of a JSON file) fits the schema.

With --broken, changes one thing at a time in the file's lines and demands that the schema refuses each."""
import json
import sys

import jsonschema

sys.dont_write_bytecode = True  # the source folder stays as it is
from schema_changes import GONE, changed

broken = "--broken" in sys.argv
names = [a for a in sys.argv[1:] if a != "--broken"]
with open(names[0], encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
with open(names[1], encoding="utf-8") as file:
    text = file.read()
values = [json.loads(line) for line in text.splitlines()] if '{"type":"header"' in text[:40] else [json.loads(text)]

if not broken:
    for number, value in enumerate(values, 1):
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        if error is not None:
            sys.exit(f"{names[1]}:{number}: {error.message[:300]} at {list(error.absolute_path)}")
    print(f"{len(values)} values fit")
    sys.exit(0)

of_type = {}
for value in values:
    if value["type"] != "record" or value["outcome"] == "ok":
        of_type.setdefault(value["type"], value)
of_type["finding"] = {"type": "finding", "id": "pci.link-width", "severity": "warn", "title": "t", "evidence": []}
validator.validate(of_type["finding"])
changes = [
    ("header", ["type"], "headr"), ("header", ["type"], GONE), ("header", ["schema"], "gpuvet.run/2"),
    ("header", ["started"], "yesterday"), ("header", ["series", 0, "key"], "copy.h2d"),
    ("header", ["series", 0, "better"], "more"), ("header", ["series", 0, "delta_rel"], -1),
    ("header", ["series", 0, "class"], GONE), ("header", ["environment"], []), ("header", ["tool", "build_id"], GONE),
    ("start", ["key"], "x"), ("start", ["round"], -1), ("start", ["at"], GONE),
    ("record", ["outcome"], "fine"), ("record", ["outcome"], "fail"), ("record", ["samples"], []),
    ("record", ["samples"], GONE), ("record", ["samples", 0], "1"), ("record", ["samples", 0], 0),
    ("record", ["where"], GONE), ("record", ["params"], {"a": 1.5}), ("record", ["round"], "1"),
    ("record", ["flags"], ["a", 1]), ("finding", ["severity"], "bad"), ("finding", ["evidence"], GONE),
    ("footer", ["outcome"], "done"), ("footer", ["counts", "ok"], -1), ("footer", ["counts"], GONE),
]
for kind, path, value in changes:
    if validator.is_valid(changed(of_type[kind], path, value)):
        sys.exit(f"the schema lets a {kind} pass whose {path} is {'missing' if value is GONE else value!r}")
print(f"{len(changes)} broken lines refused")
