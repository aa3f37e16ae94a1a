#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A place that misbehaves: peer.py PROGRAM MODE COMMAND…, as the prefix of a target. Files are brought in as usual; the
# worker then is PROGRAM's, until MODE's moment comes.
import json, os, re, subprocess, sys, threading, time

program, mode, command = sys.argv[1], sys.argv[2], sys.argv[3:]
out = sys.stdout.buffer
with open(os.path.join(os.path.dirname(__file__), "../../harness/run/worker.h"), encoding="utf-8") as header:
    PROTOCOL = int(re.search(r"WORKER_PROTOCOL = (\d+)", header.read()).group(1))


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
    line(1, type="hello", protocol=PROTOCOL, build_id="feedfacefeedface", pid=1)
elif mode == "hello-number":
    line(7, type="hello", protocol=PROTOCOL, build_id="0", pid=1)
elif mode == "hello-death":
    sys.stderr.write("\x1b[31mlast words\n")
    sys.exit(3)
if mode.startswith("hello-") and mode != "hello-facts":
    sys.stdin.buffer.read()
    sys.exit()

worker = subprocess.Popen([program, "worker"] + command[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
item = threading.Event()
ESCAPE = "\x1b]0;owned\x07\x1b[2J"
finding = {"id": "lxc." + ESCAPE, "severity": "fail", "title": ESCAPE + "x" * 5000, "evidence": [7, {"path": [], "value": {}}]}
doctors = {
    "doctor-nothing": {"type": "doctor", "doctor": None, "reason": ESCAPE},
    "doctor-entries": {"type": "doctor", "doctor": {"findings": [None, 1, "x", [], {}, {"severity": "fail"}, {"id": 3, "severity": "fail"}]}},
    "doctor-escape": {"type": "doctor", "doctor": {"findings": [finding, {**finding, "remedy": [ESCAPE, {}], "type": "header", "target": "host"}]}},
    "doctor-many": {"type": "doctor", "doctor": {"findings": [{"id": "a.b", "severity": "info", "title": "t"}] * 15000}},
}


def to_worker():
    for text in sys.stdin.buffer:
        if b'"type":"item"' in text:
            item.set()
        if b'"type":"doctor"' in text and mode.startswith("doctor-"):
            line(2, **doctors[mode])
            continue
        if b'"type":"wake"' in text and mode == "wake-other":
            line(1, type="hello", protocol=PROTOCOL, build_id="feedfacefeedface", pid=1)
            os._exit(0)
        if b'"type":"bye"' in text and mode == "bye-never":
            continue
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
    if mode == "facts-topology" and message["type"] == "hello":
        message["facts"]["topology"] = message["facts"]["topology"].replace('type="PU" os_index="', 'type="PU" os_index="-')
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
        elif mode == "item-flood":
            while True:
                message["n"] += 1
                say(json.dumps({"n": message["n"] - 1, "type": "progress", "id": message.get("id"), "fraction": 2}).encode() + b"\n")
        elif mode == "item-deep" and message["type"] == "record":
            text = b'{"n":%d,"type":"record","a":' % message["n"] + b"[" * 400000 + b"]" * 400000 + b"}\n"
        elif mode == "park-noise" and message["type"] == "parked":
            say(text)
            text = b"noise while nothing is asked\n"
        elif mode == "park-death" and message["type"] == "parked":
            say(text)
            worker.kill()
            sys.exit(0)
    say(text)
worker.wait()
if mode == "bye-never":
    while True:
        time.sleep(60)
