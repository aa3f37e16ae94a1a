#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Closed stdin, stdout, stderr and full ones: the run file is whole, and output that is lost is no success.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

# whole: the one run file reads as one, complete, and all in it measured but for what that machine does not have.
whole() {
    python3 - "$(last_run)" <<'PY' || fail "the run file is not whole: $*"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert lines[0]["type"] == "header" and lines[-1]["outcome"] == "complete"
outcomes = {line["outcome"] for line in lines if line["type"] == "record"}
assert "ok" in outcomes <= {"ok", "skip"}, outcomes
PY
}

for closed in '0<&-' '1>&-' '2>&-' '0<&- 1>&-' '1>&- 2>&-' '0<&- 2>&-' '0<&- 1>&- 2>&-' '>/dev/full' '>/dev/full 2>&1'; do
    for how in "--simulate --from $CAPTURES/guest-2gpu --case host.*" '--allow-busy --case null'; do
        rm -rf results
        want=0
        case $closed in *1\>*|\>*) want=2 ;; esac
        got=0
        eval "$GPUVET run --profile quick --rounds 2 --no-baseline $how >out 2>err $closed" || got=$?
        [ "$got" = "$want" ] || fail "status $got instead of $want with $closed: $how"
        whole "$closed" "$how"
        case $closed in 1\>\&-|\>/dev/full) has err 'cannot write to standard output' ;; esac
    done
    for command in version list env topo "doctor --list"; do
        want=0
        case $closed in *1\>*|\>*) want=2 ;; esac
        got=0
        eval "$GPUVET $command >out 2>err $closed" || got=$?
        [ "$got" = "$want" ] || fail "status $got instead of $want with $closed: $command"
    done
    # It prints in a process of its own; what it finds here may be status 1.
    got=0
    eval "$GPUVET doctor >out 2>err $closed" || got=$?
    case $closed in
    1\>*|\>*|*' 1>'*) [ "$got" != 0 ] || fail "status 0 with $closed: doctor" ;;
    *) [ "$got" = 0 ] || [ "$got" = 1 ] || fail "status $got with $closed: doctor" ;;
    esac
    case $closed in 1\>\&-|\>/dev/full) has err 'cannot write to standard output' ;; esac
done
