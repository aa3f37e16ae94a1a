#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fault_matrix.py GPUVET OUT: injects faults on a real GPU machine, each in a mount namespace of its own with a /dev of its
own and in a cgroup of its own, and asks doctor. Prints a table (row, what was injected, what cuInit and NVML answered,
findings, verdict) and writes OUT/fault-matrix.md and OUT/fault-matrix.json. Nothing of the machine is changed; root."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FILTER = os.path.join(HERE, "..", "cli", "device_filter.py")

PREPARE = r"""
mount --make-rprivate /
mkdir -p "$W/dev"; mount -t tmpfs -o mode=755 tmpfs "$W/dev"
cd /dev; for n in null zero full random urandom tty nvidia[0-9]* nvidiactl nvidia-modeset nvidia-uvm nvidia-uvm-tools; do [ -c /dev/$n ] && cp -a /dev/$n "$W/dev/"; done
[ -d /dev/nvidia-caps ] && cp -a /dev/nvidia-caps "$W/dev/"
cd /; mkdir -p "$W/dev/shm" "$W/dev/pts"; mount -t tmpfs tmpfs "$W/dev/shm"
mount --move "$W/dev" /dev
ulimit -c 0
eval "$BREAK"
[ -z "$GROUP" ] || echo $$ > "$GROUP/cgroup.procs"
status=0
eval "$START" '"$GPUVET"' doctor --json --capture "$W/capture" > "$W/out" 2> "$W/err" || status=$?
exit $status
"""


def majors():
    out = {}
    for line in open("/proc/devices"):
        words = line.split()
        if line.startswith("Block"):
            break
        if len(words) == 2 and words[0].isdigit():
            out[words[1]] = int(words[0])
    return out


class Row:
    def __init__(self, name, what, breaks="true", deny=(), start="", env=None, fail=None, gpus=1, if_lost=False):
        self.name, self.what, self.breaks, self.deny = name, what, breaks, deny
        self.start, self.env, self.fail, self.gpus = start, env or {}, fail, gpus
        self.if_lost = if_lost  # a fault only where a GPU is lost: root's library may make the node itself


USER = "setpriv --reuid=1000 --regid=1000 --clear-groups"


def rows(m):
    uvm, caps = m["nvidia-uvm"], m.get("nvidia-caps", 0)
    free = next(n for n in range(504, 300, -1) if n not in m.values())
    node = "rm -f /dev/nvidia-uvm; mknod -m 666 /dev/nvidia-uvm c "

    def eio(name, minor):
        """A slave of a pty outside devpts: every kernel answers EIO, and /proc/devices says who has the number."""
        return f"rm -f /dev/{name}; mknod -m 666 /dev/{name} c {m['pts']} {minor}"

    stub = "/usr/local/cuda/lib64/stubs"
    return [
        Row("0", "none"),
        Row("1", "cgroup denies the nvidia-uvm major", deny=[uvm], fail=rf"cgroup.*\b{uvm}\b|\b{uvm}\b.*cgroup"),
        Row("4", f"uvm node has a stale major ({free}:0)", node + f"{free} 0", fail=rf"\b{free}\b.*\b{uvm}\b|\b{uvm}\b.*\b{free}\b"),
        Row("5", "uvm node is 0:0", node + "0 0", fail=r"\b0:0\b"),
        Row("6", "uvm path is a regular file", "rm -f /dev/nvidia-uvm; : > /dev/nvidia-uvm; chmod 666 /dev/nvidia-uvm", fail="regular file"),
        Row("7", "uvm node missing, root may make it", "rm -f /dev/nvidia-uvm*"),
        Row("8", "uvm node missing, cgroup denies its major", "rm -f /dev/nvidia-uvm*", deny=[uvm], fail="nvidia-uvm"),
        Row("9", "uvm node missing, uid 1000", "rm -f /dev/nvidia-uvm*", start=USER, fail="nvidia-uvm"),
        Row("10", "uvm node 0600 root, uid 1000", "chmod 600 /dev/nvidia-uvm", start=USER, fail=r"0?600"),
        Row("11", "cgroup denies uvm minor 1 only", deny=[f"{uvm}:1"]),
        Row("12", "cgroup denies the nvidia-caps major, MIG off", deny=[caps]) if caps else None,
        Row("13", "cgroup denies 195:*", deny=[195], fail="195"),
        Row("14", "cgroup denies 195:255 (nvidiactl)", deny=["195:255"], fail="nvidiactl"),
        Row("15", "nvidiactl missing and 195:255 denied", "rm -f /dev/nvidiactl", deny=["195:255"], fail="nvidiactl"),
        Row("16", "cgroup denies 195:0", deny=["195:0"], fail="nvidia0|195:0"),
        Row("17", "nvidia0 missing", "rm -f /dev/nvidia0", fail="nvidia0", if_lost=True),
        Row("17u", "nvidia0 missing, uid 1000", "rm -f /dev/nvidia0", start=USER, fail="nvidia0"),
        Row("18", "nvidia0 has minor 77", "rm -f /dev/nvidia0; mknod -m 666 /dev/nvidia0 c 195 77", fail="nvidia0"),
        Row("19", "nvidia0 carries nvidia1's minor", "rm -f /dev/nvidia0; mknod -m 666 /dev/nvidia0 c 195 1", fail="nvidia0", gpus=2),
        Row("20", "nvidia0 mode 01232 (a decimal 666), uid 1000", "chmod 1232 /dev/nvidia0", start=USER, fail="1232|666"),
        Row("21a", "CUDA_VISIBLE_DEVICES=97", env={"CUDA_VISIBLE_DEVICES": "97"}, fail="CUDA_VISIBLE_DEVICES"),
        Row("21b", "CUDA_VISIBLE_DEVICES empty", env={"CUDA_VISIBLE_DEVICES": ""}, fail="CUDA_VISIBLE_DEVICES"),
        Row("21c", "CUDA_VISIBLE_DEVICES=bash", env={"CUDA_VISIBLE_DEVICES": "bash"}, fail="CUDA_VISIBLE_DEVICES"),
        Row("22", "CUDA_VISIBLE_DEVICES=0,99", env={"CUDA_VISIBLE_DEVICES": "0,99"}, fail="99"),
        Row("23", "the toolkit's stub libcuda first", f'mkdir -p "$W/stubs"; cp {stub}/libcuda.so "$W/stubs/libcuda.so.1"',
            start='env LD_LIBRARY_PATH="$W/stubs"', fail="stub"),
        Row("24", "RLIMIT_AS 8 GiB", start="prlimit --as=8589934592", fail="RLIMIT_AS|address space"),
        Row("25a", "RLIMIT_NOFILE 8", start="prlimit --nofile=8", fail="nofile|open files"),
        Row("25b", "/proc not mounted", "mount -t tmpfs tmpfs /proc", fail="/proc"),
        Row("26", "RLIMIT_MEMLOCK 64 KiB", start="prlimit --memlock=65536"),
        Row("27a", "/sys not mounted", "mount -t tmpfs tmpfs /sys"),
        Row("27b", "/proc/driver hidden", "mount -t tmpfs tmpfs /proc/driver"),
        Row("28", "CUDA_MPS_PIPE_DIRECTORY points to an empty folder", 'mkdir -p "$W/mps"; export CUDA_MPS_PIPE_DIRECTORY="$W/mps"'),
        Row("29", "CUDA_VISIBLE_DEVICES=1,0", env={"CUDA_VISIBLE_DEVICES": "1,0"}, gpus=2),
        Row("nodev", "/dev mounted nodev", "mount -o remount,nodev /dev", fail="nodev"),
        Row("nodev-u", "/dev mounted nodev, uid 1000", "mount -o remount,nodev /dev", start=USER, fail="nodev"),
        Row("dir", "uvm path is a folder", "rm -f /dev/nvidia-uvm; mkdir /dev/nvidia-uvm", fail="director|folder"),
        Row("eio-uvm", "uvm node answers EIO (it is of pts)", eio("nvidia-uvm", 0), fail=rf"nvidia-uvm.*\bpts\b.*\bEIO\b"),
        Row("eio-ctl", "nvidiactl answers EIO (it is of pts)", eio("nvidiactl", 1), fail=rf"nvidiactl.*\bpts\b.*\bEIO\b"),
        Row("eio-gpu", "nvidia0 answers EIO (it is of pts)", eio("nvidia0", 2), fail=rf"nvidia0.*\bpts\b.*\bEIO\b"),
        Row("io-uvm", "uvm's driver answers EIO", deny=[f"{uvm}:0=EIO"], fail=r"open-error.*nvidia-uvm.*\bEIO\b"),
        Row("io-ctl", "nvidiactl's driver answers EIO", deny=["195:255=EIO"], fail=r"open-error.*nvidiactl.*\bEIO\b"),
        Row("io-gpu", "nvidia0's driver answers EIO", deny=["195:0=EIO"], fail=r"open-error.*nvidia0.*\bEIO\b"),
        Row("ancestor", "an ancestor denies the uvm major, the leaf permits it", deny=["ancestor", uvm], fail=rf"\b{uvm}\b"),
    ]


def make_group(deny):
    v2 = next((l.split()[1] for l in open("/proc/mounts") if l.split()[2] == "cgroup2"), None)
    if v2 is None:
        return None, "no cgroup v2 is mounted"
    top = f"{v2}/gpuvet-matrix-{os.getpid()}"
    os.makedirs(top + "/leaf", exist_ok=True)
    ancestor = deny[0] == "ancestor"
    numbers = [str(d) for d in (deny[1:] if ancestor else deny)]
    done = subprocess.run([sys.executable, FILTER, top if ancestor else top + "/leaf", *numbers], capture_output=True, text=True)
    if ancestor and done.returncode == 0:
        done = subprocess.run([sys.executable, FILTER, top + "/leaf", "333:333"], capture_output=True, text=True)
    if done.returncode:
        remove_group(top)
        return None, done.stdout.strip() or done.stderr.strip()
    return top, None


def remove_group(top):
    for path in (top + "/leaf", top):
        try:
            os.rmdir(path)
        except OSError:
            pass


def code(probe):
    if not isinstance(probe, dict):
        return "-"
    return "timeout" if probe.get("timeout") else f"signal {probe['signal']}" if probe.get("signal") else str(probe.get("code"))


def judge(row, gpuvet):
    with tempfile.TemporaryDirectory(prefix="gpuvet-matrix.") as work:
        os.chmod(work, 0o777)
        top = None
        if row.deny:
            top, why = make_group(row.deny)
            if top is None:
                return {"row": row.name, "what": row.what, "skip": why}
        env = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
        env.update(row.env, W=work, BREAK=row.breaks, START=row.start, GPUVET=gpuvet, GROUP=top + "/leaf" if top else "",
                   GPUVET_RESULTS=work, NVIDIA_VISIBLE_DEVICES="all")
        try:
            done = subprocess.run(["unshare", "-m", "bash", "-c", PREPARE], env=env, capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            return {"row": row.name, "what": row.what, "problem": "no answer in 60 s"}
        finally:
            if top:
                remove_group(top)
        return read_answer(row, work, done)


def read_answer(row, work, done):
    result = {"row": row.name, "what": row.what, "status": done.returncode}
    try:
        out = json.load(open(work + "/out"))
    except (OSError, ValueError):
        error = open(work + "/err").read() if os.path.exists(work + "/err") else ""
        return {**result, "problem": (error + done.stderr).strip()[:300] or "no JSON"}
    try:
        probes = json.load(open(work + "/capture/probes.json"))
    except (OSError, ValueError):
        probes = {}
    opens = {}
    try:
        for line in open(work + "/capture/dev.tsv"):
            columns = line.rstrip("\n").split("\t")
            if len(columns) >= 8 and columns[7] not in ("ok", "-", ""):
                opens[columns[0]] = columns[7]
    except OSError:
        pass
    result.update(cuInit=code(probes.get("cuInit")), devices=probes.get("cuda_devices"), nvml=code(probes.get("nvmlInit")),
                  opens=opens, verdict=out["verdict"],
                  findings=[(f["severity"], f["id"], f["title"]) for f in out["findings"] if f["severity"] != "info"])
    # The rows are about CUDA; that NCCL would want more (locked memory where there is RDMA) is another matter.
    wrong = [f["id"] for f in out["findings"] if f["severity"] != "info" and f["area"] == "cuda"]
    whole = row.if_lost and probes.get("cuda_devices") == len(glob.glob("/dev/nvidia[0-9]*"))
    if row.fail is None or whole:
        result["right"] = not wrong
    else:
        first = next((f for f in out["findings"] if f["severity"] == "fail"), None)
        result["right"] = first is not None and re.search(row.fail, json.dumps(first)) is not None
        result["first"] = first["title"] if first else None
    return result


def main():
    gpuvet, out = os.path.realpath(sys.argv[1]), sys.argv[2]
    if not os.path.exists("/dev/nvidiactl") or os.geteuid() != 0:
        print("skip: needs an NVIDIA driver and root")
        sys.exit(77)
    gpus = len(glob.glob("/dev/nvidia[0-9]*"))
    os.makedirs(out, exist_ok=True)
    started = time.monotonic()
    results, awake = [], []
    for row in [r for r in rows(majors()) if r]:
        if len(results) == 1:  # after a first look at GPUs that may sleep: waking them costs each row a second
            awake = [os.open(path, os.O_RDWR) for path in glob.glob("/dev/nvidia[0-9]*")]
        if row.gpus > gpus:
            results.append({"row": row.name, "what": row.what, "skip": f"needs {row.gpus} GPUs, {gpus} here"})
        else:
            results.append(judge(row, gpuvet))
    lines = ["| row | injected | open() | NVML | cuInit / devices | findings (fail, warn) | |", "|---|---|---|---|---|---|---|"]
    bad = 0
    for r in results:
        if "skip" in r:
            lines.append(f"| {r['row']} | {r['what']} | | | | skipped: {r['skip']} | |")
            continue
        right = r.get("right", False)
        bad += not right
        opens = "; ".join(f"{p[5:]}: {e}" for p, e in r.get("opens", {}).items()) or "all ok"
        said = "; ".join(f"{s} {i}: {t}" for s, i, t in r.get("findings", [])) or r.get("problem", "none")
        lines.append(f"| {r['row']} | {r['what']} | {opens} | {r.get('nvml')} | {r.get('cuInit')} / {r.get('devices')} "
                     f"| {said} | {'right' if right else 'WRONG'} |")
    table = "\n".join(lines) + "\n"
    open(out + "/fault-matrix.md", "w").write(table)
    json.dump(results, open(out + "/fault-matrix.json", "w"), indent=1)
    for fd in awake:
        os.close(fd)
    print(table + f"{len(results)} rows, {bad} wrong, {gpus} GPUs, {time.monotonic() - started:.0f} s")
    sys.exit(1 if bad else 0)


main()
