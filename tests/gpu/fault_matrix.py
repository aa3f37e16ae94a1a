#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fault_matrix.py GPUVET OUT: injects faults on a real GPU machine, each in a mount namespace of its own with a /dev of its
own and in a cgroup of its own, and asks doctor. Prints a table (row, what was injected, what cuInit and NVML answered,
findings, verdict) and writes OUT/fault-matrix.md and OUT/fault-matrix.json. Nothing of the machine is changed; root."""
import glob
import json
import os
import re
import stat
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


def gpu_nodes():
    """[(name, minor)] of this machine's GPU nodes: the first is the one that is broken."""
    paths = glob.glob("/dev/nvidia[0-9]*")
    return sorted((os.path.basename(p), os.minor(os.stat(p).st_rdev)) for p in paths if stat.S_ISCHR(os.stat(p).st_mode))


def asked(nodes):
    """NVIDIA_VISIBLE_DEVICES for the GPUs that have a node here, by UUID where the driver tells it."""
    uuids = {}
    for path in glob.glob("/proc/driver/nvidia/gpus/*/information"):
        text = open(path).read()
        uuid, minor = re.search(r"GPU UUID:\s+(\S+)", text), re.search(r"Device Minor:\s+(\d+)", text)
        if uuid and minor:
            uuids[int(minor[1])] = uuid[1]
    names = [uuids.get(minor) for _, minor in nodes]
    return ",".join(names) if names and all(names) else "all"


class Row:
    """fail: patterns that the first fail has, every one, in its title, evidence, cause or remedy; also: ids of further
    fails that are causes too; allow: ids of warnings that a harmless row may have; lost: GPUs of several leave without an
    error."""

    def __init__(self, name, what, breaks="true", deny=(), start="", env=None, fail=(), also=(), allow=(), gpus=1, if_lost=False,
                 lost=False):
        self.name, self.what, self.breaks, self.deny = name, what, breaks, deny
        self.start, self.env, self.gpus = start, env or {}, gpus
        self.fail = [fail] if isinstance(fail, str) else list(fail)
        self.also, self.allow, self.lost = also, allow, lost
        self.if_lost = if_lost  # a fault only where a GPU is lost: root's library may make the node itself


USER = "setpriv --reuid=1000 --regid=1000 --clear-groups"
ELSEWHERE = [
    ("2, 3", "a real LXC container whose rule is stale, and mended", "tests/gpu/incident.sh"),
    ("30, 31", "/dev/shm of 64 MiB, NCCL with P2P and without", "tests/gpu/nccl_look.sh"),
]


def rows(m, nodes):
    uvm, caps, pts = m.get("nvidia-uvm", 0), m.get("nvidia-caps", 0), m.get("pts")
    free = next(n for n in range(504, 300, -1) if n not in m.values())
    node = "rm -f /dev/nvidia-uvm; mknod -m 666 /dev/nvidia-uvm c "
    name, minor = nodes[0]
    other = nodes[1][1] if len(nodes) > 1 else 0
    gpu = rf"/dev/{name}\b"

    def eio(what, number, errno):
        """A slave of a pty outside devpts: every kernel answers EIO, and /proc/devices says who has the number."""
        return Row("eio-" + errno, f"{what} answers EIO (it is of pts)", f"rm -f /dev/{what}; mknod -m 666 /dev/{what} c {pts} {number}",
                   fail=[rf"/dev/{what}\b", r"\bpts\b", r"\bEIO\b"]) if pts else None

    stub = "/usr/local/cuda/lib64/stubs"
    return [
        Row("0", "none"),
        Row("1", "cgroup denies the nvidia-uvm major", deny=[uvm], fail=["cgroup", rf"\b{uvm}\b", r"nvidia-uvm: .*\bEPERM\b"]),
        Row("4", f"uvm node has a stale major ({free}:0)", node + f"{free} 0", fail=[rf"\b{free}:0\b", rf"\b{uvm}\b", r"\bENXIO\b"]),
        Row("5", "uvm node is 0:0", node + "0 0", fail=[r"device 0:0\b", rf"\b{uvm}\b", r"\bENXIO\b"]),
        Row("6", "uvm path is a regular file", "rm -f /dev/nvidia-uvm; : > /dev/nvidia-uvm; chmod 666 /dev/nvidia-uvm",
            fail=["/dev/nvidia-uvm", "regular file", r"open\(\) answers ok"]),
        # Where there are containers of any kind doctor warns that those which start before have no node.
        Row("7", "uvm node missing, root may make it", "rm -f /dev/nvidia-uvm*", allow=["uvm.node-missing"]),
        Row("8", "uvm node missing, cgroup denies its major", "rm -f /dev/nvidia-uvm*", deny=[uvm],
            fail=[r"/dev/nvidia-uvm: .*\bENOENT\b", rf"\b{uvm}\b"], also=["cgroup.uvm-denied"]),
        Row("9", "uvm node missing, uid 1000", "rm -f /dev/nvidia-uvm*", start=USER, fail=[r"/dev/nvidia-uvm: .*\bENOENT\b"]),
        Row("10", "uvm node 0600 root, uid 1000", "chmod 600 /dev/nvidia-uvm", start=USER, fail=["/dev/nvidia-uvm", "0600", r"\bEACCES\b"]),
        Row("11", "cgroup denies uvm minor 1 only", deny=[f"{uvm}:1"]),
        Row("12", "cgroup denies the nvidia-caps major, MIG off", deny=[caps]) if caps else None,
        Row("13", "cgroup denies 195:*", deny=[195], fail=["nvidiactl", r"\b195:255\b", r"\bEPERM\b", "cgroup"]),
        Row("14", "cgroup denies 195:255 (nvidiactl)", deny=["195:255"], fail=["nvidiactl", r"\b195:255\b", r"\bEPERM\b", "cgroup"]),
        Row("15", "nvidiactl missing and 195:255 denied", "rm -f /dev/nvidiactl", deny=["195:255"],
            fail=[r"nvidiactl: .*\bENOENT\b"], also=["cgroup.ctl-denied"]),
        Row("16", f"cgroup denies 195:{minor} ({name})", deny=[f"195:{minor}"], fail=[gpu, rf"\b195:{minor}\b", r"\bEPERM\b", "cgroup"],
            lost=True),
        Row("17", f"{name} missing", f"rm -f /dev/{name}", fail=[gpu, r"\bENOENT\b"], if_lost=True, lost=True),
        Row("17u", f"{name} missing, uid 1000", f"rm -f /dev/{name}", start=USER, fail=[gpu, r"\bENOENT\b"], lost=True),
        Row("18", f"{name} has minor 77", f"rm -f /dev/{name}; mknod -m 666 /dev/{name} c 195 77", fail=[gpu, r"\b195:77\b", r"\bENODEV\b"],
            lost=True),
        Row("19", f"{name} carries another GPU's minor", f"rm -f /dev/{name}; mknod -m 666 /dev/{name} c 195 {other}",
            fail=[gpu, rf"\b195:{other}\b", r"open\(\) answers ok"], gpus=2, lost=True),
        Row("20", f"{name} mode 01232 (a decimal 666), uid 1000", f"chmod 1232 /dev/{name}", start=USER,
            fail=[gpu, "1232", "666", r"\bEACCES\b"], lost=True),
        Row("21a", "CUDA_VISIBLE_DEVICES=97", env={"CUDA_VISIBLE_DEVICES": "97"}, fail=["CUDA_VISIBLE_DEVICES", "'97'"]),
        Row("21b", "CUDA_VISIBLE_DEVICES empty", env={"CUDA_VISIBLE_DEVICES": ""}, fail=["CUDA_VISIBLE_DEVICES", "empty"]),
        Row("21c", "CUDA_VISIBLE_DEVICES=bash", env={"CUDA_VISIBLE_DEVICES": "bash"}, fail=["CUDA_VISIBLE_DEVICES", "'bash'"]),
        Row("22", "CUDA_VISIBLE_DEVICES=0,99", env={"CUDA_VISIBLE_DEVICES": "0,99"}, fail=["CUDA_VISIBLE_DEVICES", "'99'"]),
        Row("23", "the toolkit's stub libcuda first", f'mkdir -p "$W/stubs"; cp {stub}/libcuda.so "$W/stubs/libcuda.so.1"',
            start='env LD_LIBRARY_PATH="$W/stubs"', fail=["stub", "LD_LIBRARY_PATH"]),
        Row("24", "RLIMIT_AS 8 GiB", start="prlimit --as=8589934592", fail=["RLIMIT_AS|address space", r"\b8(\.0)? GiB"]),
        Row("25a", "RLIMIT_NOFILE 8", start="prlimit --nofile=8", fail=["RLIMIT_NOFILE|open files", r"\b8\b"]),
        Row("25b", "/proc not mounted", "mount -t tmpfs tmpfs /proc", fail=r"/proc is not mounted"),
        Row("26", "RLIMIT_MEMLOCK 64 KiB (harmless for CUDA; NCCL with RDMA may want more)", start="prlimit --memlock=65536",
            allow=["nccl.memlock"]),
        Row("27a", "/sys not mounted", "mount -t tmpfs tmpfs /sys"),
        Row("27b", "/proc/driver hidden", "mount -t tmpfs tmpfs /proc/driver"),
        Row("28", "CUDA_MPS_PIPE_DIRECTORY points to an empty folder", 'mkdir -p "$W/mps"; export CUDA_MPS_PIPE_DIRECTORY="$W/mps"'),
        Row("29", "CUDA_VISIBLE_DEVICES=1,0", env={"CUDA_VISIBLE_DEVICES": "1,0"}, gpus=2),
        Row("nodev", "/dev mounted nodev", "mount -o remount,nodev /dev", fail=["nodev", r"\bEACCES\b"]),
        Row("nodev-u", "/dev mounted nodev, uid 1000", "mount -o remount,nodev /dev", start=USER, fail=["nodev", r"\bEACCES\b"]),
        Row("dir", "uvm path is a folder", "rm -f /dev/nvidia-uvm; mkdir /dev/nvidia-uvm", fail=["/dev/nvidia-uvm", "director|folder"]),
        eio("nvidia-uvm", 0, "uvm"),
        eio("nvidiactl", 1, "ctl"),
        eio(name, 2, "gpu"),
        Row("io-uvm", "uvm's driver answers EIO", deny=[f"{uvm}:0=EIO"], fail=["open-error", "/dev/nvidia-uvm", r"\bEIO\b"]),
        Row("io-ctl", "nvidiactl's driver answers EIO", deny=["195:255=EIO"], fail=["open-error", "nvidiactl", r"\bEIO\b"]),
        Row("io-gpu", f"{name}'s driver answers EIO", deny=[f"195:{minor}=EIO"], fail=["open-error", gpu, r"\bEIO\b"]),
        Row("ancestor", "an ancestor denies the uvm major, the leaf permits it", deny=["ancestor", uvm],
            fail=[rf"\b{uvm}\b", r"\bEPERM\b", "cgroup"]),
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


def judge(row, gpuvet, nodes, own):
    with tempfile.TemporaryDirectory(prefix="gpuvet-matrix.") as work:
        os.chmod(work, 0o777)
        top = None
        if row.deny:
            top, why = make_group(row.deny)
            if top is None:
                return {"row": row.name, "what": row.what, "skip": why}
        env = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
        env.update(row.env, W=work, BREAK=row.breaks, START=row.start, GPUVET=gpuvet, GROUP=top + "/leaf" if top else "",
                   GPUVET_RESULTS=work, NVIDIA_VISIBLE_DEVICES=asked(nodes))
        try:
            done = subprocess.run(["unshare", "-m", "bash", "-c", PREPARE], env=env, capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            return {"row": row.name, "what": row.what, "harmless": not row.fail, "problem": "no answer in 60 s"}
        finally:
            if top:
                remove_group(top)
        return read_answer(row, work, done, len(nodes), own)


def wrong_fault(row, findings, devices, gpus):
    """What is wrong with the answer to a fault; None: nothing. Every cause at fail level must be this row's."""
    causes = [f for f in findings if f["severity"] == "fail" and "consequence_of" not in f]
    if not causes:
        return "no fail"
    if findings[0] is not causes[0]:
        return "the first finding is no cause"
    text = "\n".join([causes[0]["id"], causes[0]["title"], causes[0]["cause"], *causes[0]["remedy"],
                      *(f"{e['path']}: {e['value']}" for e in causes[0]["evidence"])])
    missing = [p for p in row.fail if re.search(p, text) is None]
    if missing:
        return "the first fail does not say " + " and ".join(missing)
    others = [f["id"] for f in causes[1:] if f["id"] not in row.also]
    if others:
        return "other causes at fail level: " + ", ".join(others)
    if row.lost and gpus > 1 and devices != gpus - 1:
        return f"CUDA has {devices} devices, {gpus - 1} were to be left"
    return None


def wrong_harmless(row, findings, own):
    """The same of what does no harm: no fail and no warn of any area, but what the machine has by itself (row 0)."""
    fine = own | {("warn", i) for i in row.allow}
    loud = [f for f in findings if f["severity"] != "info" and (f["severity"], f["id"]) not in fine]
    return "; ".join(f"{f['severity']} {f['id']}" for f in loud) or None


def read_answer(row, work, done, gpus, own):
    result = {"row": row.name, "what": row.what, "harmless": not row.fail, "status": done.returncode}
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
                  findings=[(f["severity"], f["id"], f["title"]) for f in out["findings"] if f["severity"] != "info"],
                  all=[(f["severity"], f["id"], f.get("consequence_of"), f["area"]) for f in out["findings"]])
    devices = probes.get("cuda_devices")
    harmless = not row.fail or (row.if_lost and devices == gpus)
    why = wrong_harmless(row, out["findings"], own) if harmless else wrong_fault(row, out["findings"], devices, gpus)
    result.update(harmless=harmless, right=why is None, why=why)
    return result


def machine_own(result):
    """Warnings of the machine as it is, which no row made; a fail, or a warning about CUDA, is none of them."""
    return {(s, i) for s, i, _, area in result.get("all", []) if s == "warn" and area != "cuda"}


def wake(nodes):
    fds = []
    for name, _ in nodes:
        try:
            fds.append(os.open("/dev/" + name, os.O_RDWR))
        except OSError as error:
            print(f"/dev/{name} stays as it is: {error}", file=sys.stderr)
    return fds


def judge_own(result, own):
    if "findings" in result:
        loud = [f"{s} {i}" for s, i, _ in result["findings"] if (s, i) not in own]
        result.update(right=not loud, why="; ".join(loud))


def main():
    gpuvet, out = os.path.realpath(sys.argv[1]), sys.argv[2]
    if not os.path.exists("/dev/nvidiactl") or os.geteuid() != 0:
        print("skip: needs an NVIDIA driver and root")
        sys.exit(77)
    nodes = gpu_nodes()
    if not nodes or "nvidia-uvm" not in majors():
        print("skip: no GPU node, or nvidia-uvm is not loaded")
        sys.exit(77)
    os.makedirs(out, exist_ok=True)
    started = time.monotonic()
    results, awake, own = [], [], set()
    for row in [r for r in rows(majors(), nodes) if r]:
        if len(results) == 1:  # after a first look at GPUs that may sleep: waking them costs each row a second
            awake = wake(nodes)
        if row.gpus > len(nodes):
            results.append({"row": row.name, "what": row.what, "skip": f"needs {row.gpus} GPUs, {len(nodes)} here"})
        else:
            results.append(judge(row, gpuvet, nodes, own))
        if row.name == "0":
            own = machine_own(results[0])
            judge_own(results[0], own)
    for fd in awake:
        os.close(fd)
    table = print_table(results)
    open(out + "/fault-matrix.md", "w").write(table)
    json.dump(results, open(out + "/fault-matrix.json", "w"), indent=1)
    own_words = f"; by itself this machine has: {', '.join(sorted(i for _, i in own))}" if own else ""
    print(f"{table}{summary(results)}, {len(nodes)} GPUs, {time.monotonic() - started:.0f} s{own_words}")
    sys.exit(0 if all(r.get("right") for r in results if "skip" not in r) else 1)


def print_table(results):
    lines = ["| row | injected | open() | NVML | cuInit / devices | findings (fail, warn) | |", "|---|---|---|---|---|---|---|"]
    for r in results:
        if "skip" in r:
            lines.append(f"| {r['row']} | {r['what']} | | | | skipped: {r['skip']} | |")
            continue
        opens = "; ".join(f"{p[5:]}: {e}" for p, e in r.get("opens", {}).items()) or "all ok"
        said = "; ".join(f"{s} {i}: {t}" for s, i, t in r.get("findings", [])) or r.get("problem", "none")
        said = said.replace("|", "\\|").replace("\n", " ")
        lines.append(f"| {r['row']} | {r['what']} | {opens} | {r.get('nvml')} | {r.get('cuInit')} / {r.get('devices')} "
                     f"| {said} | {'right' if r.get('right') else 'WRONG: ' + str(r.get('why') or r.get('problem'))} |")
    lines += [f"| {row} | {what} | | | | {where} | |" for row, what, where in ELSEWHERE]
    return "\n".join(lines) + "\n"


def summary(results):
    """Faults that are named, and what does no harm and is left alone, each of how many were tried."""
    def count(rows):
        return f"{sum(r.get('right', False) for r in rows)} of {len(rows)}"
    tried = [r for r in results if "skip" not in r]
    return (f"faults {count([r for r in tried if not r.get('harmless')])}, "
            f"harmless {count([r for r in tried if r.get('harmless')])}")


if __name__ == "__main__":
    main()
