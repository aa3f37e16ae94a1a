#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Started by a parent that ignores or blocks signals: children are waited for all the same, so nothing seems to hang.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
cat >start.py <<'PY'
import os, signal, sys
if sys.argv[1] == "block":
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
else:
    for one in sys.argv[1].split(","):
        signal.signal(getattr(signal, one), signal.SIG_IGN)
os.execv(sys.argv[2], sys.argv[2:])
PY
python3 "$GPUVET_SOURCE/tests/cli/make_run.py" a.jsonl seed=1

for how in SIGCHLD block SIGCHLD,SIGINT,SIGTERM,SIGHUP,SIGPIPE,SIGALRM,SIGUSR1; do
    for command in 'env' 'topo' 'list --profile quick' 'report a.jsonl -o page' 'run --allow-busy --case null --rounds 1'; do
        # shellcheck disable=SC2086
        expect 0 timeout 60 python3 start.py $how "$GPUVET" $command
    done
    # What they find here may be status 1; that reading hung is never true.
    for command in doctor 'doctor --capture copy' 'doctor --after-upgrade --state state --motd -'; do
        rm -rf copy state
        got=0
        # shellcheck disable=SC2086
        timeout 60 python3 start.py $how "$GPUVET" $command >out 2>err || got=$?
        [ $got -le 1 ] || fail "status $got with $how: $command"
        lacks err hangs
        case $command in
        *capture*) [ -e copy/manifest.json ] || fail "no capture with $how" ;;
        *state*) [ -s state ] || fail "no state with $how" ;;
        esac
    done
done
