#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whatever the host is called, a run file's name is safe to type, and its run reads.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
unshare -u true 2>/dev/null || skip "no UTS namespace can be made here (needs root)"
cat >as.py <<'PY'
import os, socket, sys
socket.sethostname(os.fsencode(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])
PY
# shellcheck disable=SC2016
for name in plain-1.x $'\xff\x1b[2J' ../../x '' -rf $'a\nb' 'x;y$(z) "q' 'ü€' "$(head -c 64 /dev/zero | tr '\0' h)"; do
    rm -rf results
    expect 0 unshare -u python3 as.py "$name" "$GPUVET" run --simulate --no-baseline --profile quick --case 'host.*'
    file=$(ls results/runs)
    [[ $file =~ ^[A-Za-z0-9._-]+\.jsonl$ ]] || fail "the name $file"
    expect 0 "$GPUVET" baseline save b "$file"
    expect 0 "$GPUVET" compare b "$file"
    [ -e "results/baselines/b/$file" ] || fail "the baseline does not keep the name $file"
done
