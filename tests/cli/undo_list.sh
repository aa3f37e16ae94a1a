#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a sudden end leaves to be done, after a run as long as any: all of it, in order, and nothing that was taken off.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

python3 - >list <<'PY' || fail "the list was not made"
import json
filler = "x" * 3000
def add(number, word):
    print(json.dumps({"id": number, "twice": False, "argv": ["sh", "-c", f"echo {word} >>did"], "env": ["PATH=/usr/bin:/bin", "F=" + filler]}))
add(1, "first")
for i in range(2, 2000):
    add(i, "forgotten")
    print(json.dumps({"forget": i}))
print("no line of ours")
print('{"forget":')
add(2000, "last")
PY
[ "$(stat -c %s list)" -gt 4000000 ] || fail "the list is short"
"$GPUVET" undo <list >out 2>err || fail "status $?"
[ ! -s err ] || fail "something to say"
printf 'last\nfirst\n' | cmp - did || fail "not what was left to be done"

# Cut off in the middle of a line: what was whole is done.
rm did
head -c 4000 list >half
"$GPUVET" undo <half >out 2>err || fail "status $?"
printf 'first\n' | cmp - did || fail "not what was left to be done"

# What fails and is tried again says so once.
echo '{"id":1,"twice":true,"argv":["false"],"env":["PATH=/usr/bin:/bin"]}' | "$GPUVET" undo >out 2>err || fail "status $?"
one_line
has err "tidying up"
exit 0
