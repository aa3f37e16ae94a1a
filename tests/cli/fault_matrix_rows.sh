#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How tests/gpu/fault_matrix.py judges, without a GPU: the answers to the same rows as captures are right, those of another
# row, of a machine where nothing is wrong, and of one with a second fault are not.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip "needs python3"
python3 - "$GPUVET_SOURCE" "$GPUVET" <<'PY' || fail "the rows are judged wrongly"
import importlib.util
import json
import subprocess
import sys

source, gpuvet = sys.argv[1:]
sys.path.insert(0, source + "/tests/fixtures/doctor")
sys.dont_write_bytecode = True
import area_matrix  # noqa: E402,F401
import cases  # noqa: E402

spec = importlib.util.spec_from_file_location("fault_matrix", source + "/tests/gpu/fault_matrix.py")
matrix = importlib.util.module_from_spec(spec)
spec.loader.exec_module(matrix)
machines = {name: machine for name, machine, *_ in cases.ALL}
rows = {r.name: r for r in matrix.rows({"nvidia-uvm": 238, "nvidia-caps": 241, "pts": 136}, [("nvidia0", 0), ("nvidia1", 1)]) if r}
names = {f"{int(n)}": f"matrix-{n}" for n in "00 01 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20 22 23 24 26 28 29".split()}
names.update({"21a": "matrix-21-7", "21b": "matrix-21-empty", "21c": "matrix-21-bash", "25a": "matrix-25-nofile", "25b": "matrix-25-no-proc",
              "27a": "matrix-27", "eio-uvm": "matrix-eio-nvidia-uvm-pts", "eio-ctl": "matrix-eio-nvidiactl-pts", "io-uvm": "matrix-eio-nvidia-uvm",
              "io-ctl": "matrix-eio-nvidiactl", "io-gpu": "matrix-eio-gpu"})
rows["18"].fail = [p.replace("77", "7") for p in rows["18"].fail]  # other numbers in the captures
rows["21a"].fail = [p.replace("97", "7") for p in rows["21a"].fail]
rows["22"].fail = [p.replace("99", "9") for p in rows["22"].fail]


def ask(machine):
    machine.write("capture")
    out = json.loads(subprocess.run([gpuvet, "doctor", "--json", "--from", "capture"], capture_output=True, text=True).stdout)
    return out["findings"], machine.probes["cuda_devices"]


def judge(row, findings, devices):
    return matrix.wrong_fault(row, findings, devices, 2) if row.fail else matrix.wrong_harmless(row, findings, set())


answers = {row: ask(machines[name]) for row, name in names.items()}
bad = [f"row {row}: {judge(rows[row], *answer)}" for row, answer in answers.items() if judge(rows[row], *answer)]
# Nothing wrong, or another fault, is no right answer to a fault; a fault none to what is harmless.
alike = {("8", "9"), ("9", "8"), ("15", "14"), ("13", "14"), ("14", "13"), ("14", "15")}
for row in answers:
    for other in answers:
        same = names[row] == names[other] or (row, other) in alike or not (rows[row].fail or rows[other].fail)
        if not same and judge(rows[row], *answers[other]) is None and row != "17":
            bad.append(f"row {row} takes the answer to row {other}")
twice = machines["matrix-04"].copy()
twice.node("/dev/nvidia0", open="EPERM")
if judge(rows["4"], *ask(twice)) is None:
    bad.append("a second fault beside row 4 passes")
warned = machines["matrix-00"].copy()
warned.files["/sys/class/infiniband/mlx5_0/node_type"] = "1: CA\n"
warned.probes["rlimits"]["memlock"] = 65536
if judge(rows["0"], *ask(warned)) is None or judge(rows["26"], *ask(warned)) is not None:
    bad.append("a warning of another area is passed in row 0, or its exception is not in row 26")
print("\n".join(bad), file=sys.stderr)
sys.exit(1 if bad else 0)
PY
