#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each way to misbehave costs its own item only; the items after it are there, with a footer at the end.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
run() { expect "$1" "$GPUVET" run --allow-busy --no-baseline --rounds 1 --profile quick "${@:2}"; }

# fault NAME OUTCOME WORDS
fault() {
    run 1 --case "fault@1/*how=$1}*" --case null
    file=$(last_run)
    record=$(grep '"type":"record"' "$file" | grep '"case":"fault"')
    echo "$record" | grep -qF "\"outcome\":\"$2\"" || fail "$1: not $2: $record"
    echo "$record" | grep -qF -- "$3" || fail "$1: '$3' is missing: $record"
    grep '"type":"record"' "$file" | grep '"case":"null"' | grep -q '"outcome":"ok"' || fail "$1: null did not run"
    grep -q '"type":"footer"' "$file" || fail "$1: no footer"
}

fault hang hang "no end within 2000 ms"
# A sanitizer turns the signal into an exit.
fault crash error "the measuring process "
fault exit error "status 3"
fault mute error "was killed by signal 9"
fault wrong-data fail "offset 128: expected 0x01020304, found 0x05060708"
fault negative error "not a positive number"

# What a library prints on stdout is kept with the item and does no harm.
run 0 --case 'fault@1/*how=stdout}*' --case null
grep '"case":"fault"' "$(last_run)" | grep -qF 'words of a library on stdout' || fail "stdout of the case is lost"
grep '"case":"fault"' "$(last_run)" | grep '"type":"record"' | grep -qF '"outcome":"ok"' || fail "printing broke the item"

# Hidden cases run only by name.
run 0 --case 'null'
expect 2 "$GPUVET" run --allow-busy --case 'faul*'
