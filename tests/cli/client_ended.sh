#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What leads into a place (srun, ssh, a script) is asked to end before it is killed, and that only once the verdict on
# the item is out: the time it takes is its own.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

cat >client <<'X'
#!/usr/bin/env bash
case "$*" in *' worker'*) ;; *) exec "$@" ;; esac
if [ -e deaf ]; then
    trap '' TERM
else
    trap 'echo asked >>signals; grep -q "fault hangs: " err && echo after the verdict >>signals' TERM
fi
echo $$ >>clients
"$@" <&0 &
worker=$!
echo $worker >>clients
while kill -0 $worker 2>/dev/null; do wait $worker; done
echo ended >>signals
X
chmod 755 client
printf '%s\n' "$PWD/client" >place.argv

# frozen: a run whose worker stops in the middle of an item that does not end.
frozen() {
    rm -rf results clients signals
    "$GPUVET" run --profile quick --rounds 1 --case 'fault@1/*how=hang}*' --case null --allow-busy --no-baseline \
        --in command:place.argv >out 2>err &
    local pid=$! status=0 client worker
    for _ in $(seq 300); do # the first worker only looks at the place; the item's has a process that measures
        worker=$(sed -n 4p clients 2>/dev/null)
        [ -n "$worker" ] && grep -qs '"key":"fault@' results/runs/*.jsonl && pgrep -P "$worker" >/dev/null && break
        sleep 0.1
    done
    kill -STOP "$worker" || fail "no item began"
    wait $pid || status=$?
    [ $status = 1 ] || fail "status $status of a run with a hang"
    python3 - "$(last_run)" <<'P' || fail "the verdict is not what it should be"
import json, sys
records = [json.loads(line) for line in open(sys.argv[1]) if '"type":"record"' in line]
(hung,) = [r for r in records if r["case"] == "fault"]
assert hung["outcome"] == "hang" and hung["reason"] == "the worker itself no longer answers", hung
assert 0 <= hung["verdict_ms"] <= 2000, hung
assert [r["outcome"] for r in records if r["case"] == "null"] == ["ok"], records
P
    while read -r client; do
        ! kill -0 "$client" 2>/dev/null || [ "$(ps -o stat= -p "$client" | cut -c1)" = Z ] || fail "process $client is left"
    done <clients
}

frozen
[ "$(grep -v '^ended$' signals | paste -sd,)" = "asked,after the verdict" ] || fail "not asked after the verdict: $(cat signals)"
touch deaf
frozen
! grep -qs asked signals || fail "one that hears nothing was told something"
exit 0
