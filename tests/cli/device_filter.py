#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""device_filter.py GROUP [MAJOR | MAJOR:MINOR][=ERRNO]… -- puts a device filter on a cgroup v2 that refuses these numbers
and lets all others through, as container managers do (BPF_PROG_TYPE_CGROUP_DEVICE). With =EIO open() answers that instead
of EPERM, as if the driver had (Linux 5.18 or newer). It stays until the group is removed.
Exit status 77: this kernel or user may not."""
import ctypes
import errno
import os
import struct
import sys

SET_RETVAL = 187  # the helper bpf_set_retval
SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
PROG_LOAD, PROG_ATTACH, TYPE_CGROUP_DEVICE, CGROUP_DEVICE, ALLOW_MULTI = 5, 8, 15, 6, 2


def insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhi", code, dst | src << 4, off, imm)


def program(denied):
    """r2 = major, r3 = minor, r4 = whether it is opened (not made); each number: comparisons and a way out."""
    code = [insn(0x61, 2, 1, 4), insn(0x61, 3, 1, 8), insn(0x61, 4, 1, 0), insn(0x77, 4, 0, 0, 16), insn(0x57, 4, 0, 0, 6)]
    for major, minor, answer in denied:
        out = [insn(0xB7, 0, 0, 0, 0), insn(0x95)]  # return 0: refused
        if answer:
            out = [insn(0xB7, 1, 0, 0, -answer), insn(0x85, 0, 0, 0, SET_RETVAL), *out]
            out.insert(0, insn(0x15, 4, 0, len(out)))  # if r4 == 0 skip
        if minor is not None:
            out.insert(0, insn(0x55, 3, 0, len(out), minor))
        code += [insn(0x55, 2, 0, len(out), major), *out]  # if r2 != major skip
    return b"".join(code + [insn(0xB7, 0, 0, 0, 1), insn(0x95)])


def bpf(command, attributes):
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    result = libc.syscall(SYS_BPF, command, buffer, len(attributes))
    if result < 0:
        print("bpf(2):", os.strerror(ctypes.get_errno()))
        sys.exit(77)
    return result


def main():
    denied = []
    for word in sys.argv[2:]:
        number, _, answer = word.partition("=")
        major, _, minor = number.partition(":")
        denied.append((int(major), int(minor) if minor else None, getattr(errno, answer) if answer else 0))
    code = ctypes.create_string_buffer(program(denied))
    licence = ctypes.create_string_buffer(b"Apache-2.0")
    log = ctypes.create_string_buffer(1 << 14)
    load = struct.pack("<IIQQIIQII", TYPE_CGROUP_DEVICE, (len(code) - 1) // 8, ctypes.addressof(code),
                       ctypes.addressof(licence), 1, len(log), ctypes.addressof(log), 0, 0)
    fd = bpf(PROG_LOAD, load + bytes(20) + struct.pack("<I", CGROUP_DEVICE) + bytes(48))
    group = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
    bpf(PROG_ATTACH, struct.pack("<IIIII", group, fd, CGROUP_DEVICE, ALLOW_MULTI, 0))


main()
