# SPDX-License-Identifier: Apache-2.0
"""A file system that behaves as Proxmox's pmxcfs does to who writes configurations, spoken to the kernel directly:
    pmxcfs.py FOLDER MOUNTPOINT LOG
lxc is a link to nodes/pve1/lxc, which begins with FOLDER's *.conf. No chmod, chown, times, hard links, symbolic links,
extended attributes or fsync; no names with a dot in front; files are root:www-data 0640 whatever they were made with.
Beside LOG: a file `noquorum` makes all writing EACCES; `meanwhile` has 129.conf changed by somebody else as soon as a
new file is made; `full` makes writing fail with ENOSPC. LOG gets one operation a line."""
import ctypes
import errno
import os
import stat
import struct
import sys
import time

(LOOKUP, FORGET, GETATTR, SETATTR, READLINK, SYMLINK, MKNOD, MKDIR, UNLINK, RMDIR, RENAME, LINK, OPEN, READ, WRITE, STATFS,
 RELEASE, FSYNC) = (1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20)
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, CREATE, INTERRUPT, DESTROY, BATCH_FORGET, RENAME2 = (
    25, 26, 27, 28, 29, 34, 35, 36, 38, 42, 45)
GID = 33


class Refused(Exception):
    pass


class Node:
    def __init__(self, kind, content=b""):
        self.kind, self.content, self.children, self.mtime = kind, bytearray(content), {}, time.time()


class Cluster:
    def __init__(self, folder, log):
        self.nodes = {1: Node(stat.S_IFDIR)}
        self.log_path, self.beside = log, os.path.dirname(os.path.abspath(log))
        lxc = self.add(self.add(self.add(1, b"nodes", stat.S_IFDIR), b"pve1", stat.S_IFDIR), b"lxc", stat.S_IFDIR)
        self.add(1, b"lxc", stat.S_IFLNK, b"nodes/pve1/lxc")
        self.lxc = lxc
        for name in sorted(os.listdir(folder)):
            if name.endswith(".conf"):
                with open(os.path.join(folder, name), "rb") as f:
                    self.add(lxc, os.fsencode(name), stat.S_IFREG, f.read())

    def add(self, parent, name, kind, content=b""):
        number = max(self.nodes) + 1
        self.nodes[number] = Node(kind, content)
        self.nodes[parent].children[name] = number
        return number

    def log(self, *words):
        with open(self.log_path, "a") as f:
            print(*(os.fsdecode(w) if isinstance(w, bytes) else w for w in words), file=f)

    def flag(self, name):
        return os.path.exists(os.path.join(self.beside, name))

    def writable(self):
        if self.flag("noquorum"):
            raise Refused(errno.EACCES)

    def child(self, parent, name):
        if name not in self.nodes[parent].children:
            raise Refused(errno.ENOENT)
        return self.nodes[parent].children[name]

    # ---- answers ----
    def attr(self, number):
        n = self.nodes[number]
        mode = {stat.S_IFDIR: 0o755, stat.S_IFLNK: 0o755, stat.S_IFREG: 0o640}[n.kind] | n.kind
        t = int(n.mtime)
        return struct.pack("<6Q3I7I", number, len(n.content), 1, t, t, t, 0, 0, 0, mode, 1, 0, GID, 0, 4096, 0)

    def entry(self, number):
        return struct.pack("<4Q2I", number, 0, 0, 0, 0, 0) + self.attr(number)

    def setattr(self, number, body):
        valid, _, _, size = struct.unpack_from("<IIQQ", body)
        if valid & 0b110111:
            self.log("refused setattr", hex(valid))
            raise Refused(errno.EPERM)
        self.writable()
        if valid & 8:
            content = self.nodes[number].content
            del content[size:]
            content.extend(bytes(size - len(content)))
        return struct.pack("<QII", 0, 0, 0) + self.attr(number)

    def create(self, parent, body):
        name = body[16:].rstrip(b"\0")
        self.log("create", name)
        self.writable()
        if name.startswith(b"."):
            raise Refused(errno.EACCES)
        if name in self.nodes[parent].children:
            raise Refused(errno.EEXIST)
        if self.flag("meanwhile"):
            self.nodes[self.child(self.lxc, b"129.conf")].content.extend(b"# somebody else\n")
        return self.entry(self.add(parent, name, stat.S_IFREG)) + struct.pack("<QII", 0, 1, 0)

    def write(self, number, body):
        self.writable()
        if self.flag("full"):
            raise Refused(errno.ENOSPC)
        _, offset, size = struct.unpack_from("<QQI", body)
        content = self.nodes[number].content
        content.extend(bytes(max(0, offset + size - len(content))))
        content[offset : offset + size] = body[40 : 40 + size]
        self.nodes[number].mtime = time.time()
        return struct.pack("<II", size, 0)

    def rename(self, parent, to, names):
        old, new = names.rstrip(b"\0").split(b"\0")
        self.log("rename", old, new)
        self.writable()
        self.nodes[to].children[new] = self.child(parent, old)
        del self.nodes[parent].children[old]
        return b""

    def unlink(self, parent, name):
        self.log("unlink", name)
        self.writable()
        self.child(parent, name)
        del self.nodes[parent].children[name]
        return b""

    def readdir(self, number, body):
        _, offset, size = struct.unpack_from("<QQI", body)
        out = b""
        names = [(b".", number), (b"..", number), *self.nodes[number].children.items()]
        for i, (name, child) in enumerate(names[offset:], offset + 1):
            one = struct.pack("<QQII", child, i, len(name), self.nodes[child].kind >> 12) + name
            one += bytes(-len(one) % 8)
            if len(out) + len(one) > size:
                break
            out += one
        return out

    def answer(self, operation, number, body):
        if operation == INIT:
            major, minor, readahead = struct.unpack_from("<III", body)
            return struct.pack("<4I2H2I2HI", 7, min(minor, 31), readahead, 0, 12, 9, 65536, 1, 0, 0, 0) + bytes(28)
        name = body.split(b"\0")[0]
        if operation == LOOKUP:
            return self.entry(self.child(number, name))
        if operation == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attr(number)
        if operation == READLINK:
            return bytes(self.nodes[number].content)
        if operation in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 1 if operation == OPEN else 0, 0)
        if operation == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return bytes(self.nodes[number].content[offset : offset + size])
        if operation == STATFS:
            return struct.pack("<5Q10I", 1000, 1000, 1000, 1000, 1000, 4096, 255, 4096, 0, 0, 0, 0, 0, 0, 0)
        if operation in (RELEASE, RELEASEDIR, FLUSH, ACCESS):
            return b""
        if operation == RENAME:
            return self.rename(number, struct.unpack_from("<Q", body)[0], body[8:])
        if operation == UNLINK:
            return self.unlink(number, name)
        if operation in (LINK, SYMLINK, MKNOD):
            self.log("refused", operation)
            raise Refused(errno.EPERM)
        one = {SETATTR: self.setattr, CREATE: self.create, WRITE: self.write, READDIR: self.readdir}.get(operation)
        if one is None:
            raise Refused(errno.ENOSYS)
        return one(number, body)


def main():
    cluster = Cluster(sys.argv[1], sys.argv[3])
    fd = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other".encode()
    if libc.mount(b"pmxcfs", os.fsencode(sys.argv[2]), b"fuse", 0, options) != 0:
        sys.exit(f"skip: FUSE cannot be mounted here: {os.strerror(ctypes.get_errno())}")
    if os.fork() != 0:
        os._exit(0)
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    while True:
        try:
            request = os.read(fd, 1 << 20)
        except OSError as e:
            if e.errno in (errno.EINTR, errno.ENOENT):
                continue
            return
        _, operation, unique, number, *_ = struct.unpack_from("<IIQQIIII", request)
        if operation in (FORGET, BATCH_FORGET, INTERRUPT, DESTROY):
            continue
        try:
            body, error = cluster.answer(operation, number, request[40:]), 0
        except Refused as refused:
            body, error = b"", -refused.args[0]
        try:
            os.write(fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
        except OSError as e:
            if e.errno != errno.ENOENT: # the asker is gone
                return


main()
