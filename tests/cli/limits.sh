#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Small limits on memory, files and file sizes end in one line and a status, never in a signal.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
python3 "$GPUVET_SOURCE/tests/cli/make_run.py" a.jsonl seed=1
python3 "$GPUVET_SOURCE/tests/cli/make_run.py" b.jsonl seed=2
SIMULATE="$GPUVET run --simulate --from $CAPTURES/guest-2gpu --profile quick"

# limited OPTION LIMIT COMMAND…: under that ulimit; either it works, or says in one line why not.
limited() {
    local got=0 words
    # By a pipe: a file that takes the words would meet the limit too.
    words=$( (ulimit "$1" "$2" && shift 2 && exec "$@") 2>&1 >/dev/null) || got=$?
    echo "$words" >err
    case $got in
    0) ;;
    1 | 2) grep -q '^gpuvet: ' err || fail "no word with ulimit $*" ;;
    *) fail "status $got with ulimit $*" ;;
    esac
}

# The file size: what was written is there, and the reason.
for blocks in 0 1 30; do
    rm -rf results
    # shellcheck disable=SC2086
    limited -f $blocks $SIMULATE
    has err 'File too large'
done
expect 2 "$GPUVET" compare "$(last_run)" "$(last_run)" # it reads, though nothing was measured yet
has out 'cut off'

# Descriptors.
for n in 6 8 10 12 16; do
    for command in "$GPUVET version" "$GPUVET env" "$GPUVET compare a.jsonl b.jsonl" "$SIMULATE" \
        "$GPUVET run --allow-busy --case null --rounds 1"; do
        # shellcheck disable=SC2086
        limited -n $n $command
    done
done

# Memory: a run file whose failures need more than there is. A sanitizer needs terabytes, so it gets no limit.
(ulimit -v 1000000 && exec "$GPUVET" version) >/dev/null 2>&1 || exit 0
python3 - <<'PY'
import json
lines = open("a.jsonl").read().split("\n")
record = json.loads(lines[2])
record.update(outcome="fail", reason="z" * 2000)
del record["samples"]
with open("big.jsonl", "w") as out:
    out.write(lines[0] + "\n")
    for i in range(20000):
        record["round"] = i
        out.write(json.dumps(record) + "\n")
PY
# The stack: it works or is refused, and what is usual is not.
for kib in 64 128 200 255 256 8192; do
    for command in "$GPUVET version" "$GPUVET doctor --from $CAPTURES/two-socket-8gpu" "$GPUVET compare a.jsonl b.jsonl" "$SIMULATE"; do
        # shellcheck disable=SC2086
        limited -s $kib $command
        [ $kib -ge 256 ] || has err "ulimit -s"
        [ $kib -lt 256 ] || lacks err "ulimit -s"
    done
done
refused=0
for kib in 8000 9000 10000 11000 12000 14000 16000 20000 24000; do
    # Less than the program and its libraries take to be loaded is the loader's to refuse.
    (ulimit -v $kib && exec "$GPUVET" version) >/dev/null 2>&1 || continue
    limited -v $kib "$GPUVET" compare b.jsonl big.jsonl
    ! grep -q 'out of memory' err || refused=$((refused + 1))
done
[ $refused -gt 0 ] || fail "no limit was too small"
