#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A report whose gnuplot hangs, crashes or cannot be run, that has no temporary folder or no room, or is interrupted:
# what can be written is, what is missing is said in one line, nothing is left behind.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
python3 "$GPUVET_SOURCE/tests/cli/make_node.py" a.jsonl seed=1 rounds=4 gpus=2 || fail "make_node.py"
mkdir bin temporary
export TMPDIR=$PWD/temporary
with() { # SCRIPT: what gnuplot is
    printf '#!/bin/sh\n%s\n' "$1" >bin/gnuplot
    chmod +x bin/gnuplot
}
report() { env PATH="$PWD/bin:$PATH" "$GPUVET" report a.jsonl -o "$@"; }
left() {
    [ -z "$(ls -A temporary)" ] || fail "temporary files are left"
    if [ -s pids ]; then
        sleep 0.2
        while read -r pid; do
            # One that is dead and that nobody reaps here is none.
            grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$pid/status" 2>/dev/null && fail "process $pid is left"
        done <pids
    fi
    rm -f pids
}
said() {
    one_line
    has err "plots are not on the page"
    has err "$1"
    [ -s "$2/index.html" ] || fail "no page"
}

with 'kill -SEGV $$'
expect 0 report crashed
said "gnuplot failed" crashed
left
printf 'garbage' >bin/gnuplot
chmod +x bin/gnuplot
expect 0 report garbage
said "" garbage
left

# It hangs, in a process of its own, as a wrapper's would.
with "sleep 987 & echo \$! >>$PWD/pids; wait"
expect 0 report hung
said "did not end within" hung
left
for signal in 2 15; do
    python3 - "$signal" "$GPUVET" <<'PY' || fail "interrupted by signal $signal"
import os, signal, subprocess, sys, time
# A shell's background job ignores SIGINT; this one does not.
report = subprocess.Popen([sys.argv[2], "report", "a.jsonl", "-o", "by" + sys.argv[1]], env=dict(os.environ, PATH=os.getcwd() + "/bin:" + os.environ["PATH"]),
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
while report.poll() is None and not (os.path.exists("pids") and os.path.getsize("pids")):
    time.sleep(0.05)
report.send_signal(int(sys.argv[1]))
assert report.wait(10) == -int(sys.argv[1]), report.returncode
PY
    left
done

# Without a usable temporary folder the report's own serves.
rm bin/gnuplot
expect 0 env TMPDIR=/nonexistent "$GPUVET" report a.jsonl -o alone
[ -s alone/index.html ] || fail "no page"
[ -z "$(find alone -name 'gpuvet-plots*')" ] || fail "temporary files are left"
# A run without its end: that is said wherever its verdict stands.
head -40 a.jsonl >cut.jsonl
expect 0 env PATH=/nonexistent "$GPUVET" report cut.jsonl -o cut
has cut/summary.md "was interrupted"
has cut/index.html "was interrupted"
has cut/metrics.prom "gpuvet_run_complete 0"
expect 2 "$GPUVET" report a.jsonl -o ''
one_line
has err "where to?"
exit 0
