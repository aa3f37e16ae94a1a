#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""keeper.py PID -- waits for the test with this process id, ended or killed, and ends what it left: every process that
lives in the test's own mount namespace (this one too was started there), with its descendants (containers have
namespaces of their own), and the cgroups that engines leave behind."""
import os
import select
import signal
import sys
import time

OURS = os.stat("/proc/self/ns/mnt").st_ino
LEFT_BY_ENGINES = {"docker", "libpod_parent", "lxc.pivot"}


def processes():
    """pid: (parent, is in our mount namespace)."""
    out = {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            if fields[0] not in "ZX":
                out[int(name)] = int(fields[1]), os.stat(f"/proc/{name}/ns/mnt").st_ino == OURS
        except (OSError, ValueError, IndexError):
            continue
    return out


def left():
    found = processes()
    ours = {pid for pid, (_, here) in found.items() if here} - {os.getpid()}
    while True:
        more = {pid for pid, (parent, _) in found.items() if parent in ours} - ours
        if not more:
            return ours
        ours |= more


def hierarchies():
    with open("/proc/self/mounts") as f:
        return [words[1] for words in map(str.split, f) if words[2] in ("cgroup", "cgroup2")]


def groups():
    out = []
    for top in hierarchies():
        try:
            out += [os.path.join(top, name) for name in os.listdir(top)]
        except OSError:
            continue
    return out


def group_names(pids):
    """The highest groups that these processes are in."""
    out = set()
    for pid in pids:
        try:
            with open(f"/proc/{pid}/cgroup") as f:
                out |= {line.rstrip("\n").split(":", 2)[2].split("/")[1] for line in f}
        except (OSError, IndexError):
            continue
    return out - {""}


def remove(top):
    for folder, _, _ in os.walk(top, topdown=False):
        try:
            os.rmdir(folder)
        except OSError:
            pass


def main():
    test = int(sys.argv[1])
    had = {os.path.basename(group) for group in groups()}
    try:
        select.select([os.pidfd_open(test)], [], [])
    except OSError:
        pass  # it is gone already
    names = set(LEFT_BY_ENGINES)
    end = time.monotonic() + 20
    while (ours := left()) and time.monotonic() < end:
        names |= group_names(ours)
        for pid in ours:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.05)
    names -= had
    for _ in range(50):
        mine = [g for g in groups() if os.path.basename(g) in names or f"gpuvet-test-{test}" in os.path.basename(g)]
        if not mine:
            break
        for group in mine:
            remove(group)
        time.sleep(0.1)


os.chdir("/")
try:
    os.setsid()
except OSError:
    pass  # it leads a session already
main()
