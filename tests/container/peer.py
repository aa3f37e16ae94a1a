#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A place that misbehaves: peer.py PROGRAM MODE COMMAND…, as the prefix of a target. Files are brought in as usual; the
# worker then is PROGRAM's, until MODE's moment comes.
import json, os, subprocess, sys, threading, time

program, mode, command = sys.argv[1], sys.argv[2], sys.argv[3:]
out = sys.stdout.buffer


def say(data):
    out.write(data)
    out.flush()


def line(n, **members):
    say(json.dumps({"n": n, **members}).encode() + b"\n")


if command[0] == "mkdir" and mode == "escape-name":
    sys.stderr.write("\x1b]0;owned\x07 no room\n")
    sys.exit(1)
if command[0] in ("mkdir", "chmod", "rm"):
    os.execvp(command[0], command)
if command[0] == "dd":
    os.execvp("dd", command)

# The worker. What can go wrong with the first word:
os.unlink(command[0])
os.rmdir(os.path.dirname(command[0]))
facts = "--facts" in command
if mode == "hello-garbage":
    say(b"\x00\xff\xfe garbage \x1b[2J\n" * 10)
elif mode == "hello-endless":
    while True:
        say(b"x" * 65536)
elif mode == "hello-version":
    line(1, type="hello", protocol=99, build_id="0", pid=1)
elif mode == "hello-build":
    line(1, type="hello", protocol=1, build_id="feedfacefeedface", pid=1)
elif mode == "hello-number":
    line(7, type="hello", protocol=1, build_id="0", pid=1)
elif mode == "hello-death":
    sys.stderr.write("\x1b[31mlast words\n")
    sys.exit(3)
if mode.startswith("hello-") and mode != "hello-facts":
    sys.stdin.buffer.read()
    sys.exit()

worker = subprocess.Popen([program, "worker"] + command[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
item = threading.Event()


def to_worker():
    for text in sys.stdin.buffer:
        if b'"type":"item"' in text:
            item.set()
        try:
            worker.stdin.write(text)
            worker.stdin.flush()
        except OSError:
            break
    worker.stdin.close()


threading.Thread(target=to_worker, daemon=True).start()
for text in worker.stdout:
    message = json.loads(text)
    if mode == "hello-facts" and message["type"] == "hello":
        message["facts"] = {"environment": [1], "topology": 7, "gpus": {"a": {}}, "view": "x", "cuda": [[]], "name": {}}
        text = json.dumps(message).encode() + b"\n"
    if item.is_set():
        if mode == "item-garbage":
            text = b"{]\n"
        elif mode == "item-endless":
            while True:
                say(b"y" * 65536)
        elif mode == "item-silence":
            time.sleep(60)
        elif mode == "item-death" and message["type"] == "record":
            say(text[: len(text) // 2])
            worker.kill()
            sys.exit(9)
        elif mode == "item-other" and message["type"] == "record":
            message["id"] = 4711
            text = json.dumps(message).encode() + b"\n"
        elif mode == "item-unknown":
            message["type"] = "surprise"
            text = json.dumps(message).encode() + b"\n"
        elif mode == "item-values" and message["type"] == "record":
            message.update(samples=["x", None, -1], outcome="splendid", flags=[7] * 99, where={"gpu": "mine"}, limit=-3)
            text = json.dumps(message).encode() + b"\n"
        elif mode == "item-skip-number":
            message["n"] += 1
            text = json.dumps(message).encode() + b"\n"
    say(text)
worker.wait()
