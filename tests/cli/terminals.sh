#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a terminal of any width, and on one that can do nothing: progress stays on its line, the table is the same.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

cat >on_terminal.py <<'PY'
import fcntl, os, pty, struct, sys, termios

columns, program = int(sys.argv[1]), sys.argv[2:]
parent, child = pty.openpty()
fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
pid = os.fork()
if pid == 0:
    os.dup2(child, 2)
    os.close(parent)
    os.execv(program[0], program)
os.close(child)
shown = b""
while True:
    try:
        piece = os.read(parent, 65536)
    except OSError:
        break
    if not piece:
        break
    shown += piece
with open("shown", "wb") as out:
    out.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
on_terminal() { expect 0 python3 on_terminal.py "$1" "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --profile quick --rounds 2 --no-baseline; }

table() { grep -v ' measured, ' out; }
TERM=xterm on_terminal 80
table >wide
for columns in 60 70 80 200; do
    TERM=xterm on_terminal $columns
    table | cmp -s - wide || fail "another table with $columns columns"
    python3 - $columns <<'PY' || fail "progress is wider than $columns columns"
import sys
longest = max(len(piece.removeprefix("\x1b[K")) for piece in open("shown", newline="").read().replace("\n", "\r").split("\r") if piece.endswith("s left"))
assert 40 < longest < int(sys.argv[1]), longest
PY
done
for term in xterm:20 xterm:1 dumb:80 :80; do
    TERM=${term%:*} on_terminal "${term#*:}"
    ! grep -q "$(printf '\033')" shown || fail "escapes on a terminal $term"
    has shown 'gpuvet: round 2 of 2'
    table | cmp -s - wide || fail "another table on $term"
done
TERM=xterm on_terminal 0 # one that does not say its width
has shown 's left'
