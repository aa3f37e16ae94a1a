#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/first_look.sh with a program that makes its values up, and says that each run took TIMES as long as predicted.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
cat >program <<'P'
#!/usr/bin/env bash
from=(--from "$CAPTURES/nps4-2gpu" --case host.frequency --case copy.h2d) # so that it takes little time
case $1 in
list) exec "$GPUVET" list "${from[@]}" "${@:2}" ;;
run)
    "$GPUVET" run --simulate "${from[@]}" "${@:2}" || exit
    python3 - "$(find "$GPUVET_RESULTS/runs" -name '*.jsonl' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-)" "$SAID" <<'Q'
import datetime, json, os, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
start = datetime.datetime.fromisoformat(lines[0]["started"].replace("Z", "+00:00"))
end = start + datetime.timedelta(seconds=float(os.environ["TIMES"]) * float(sys.argv[2]))
lines[-1]["finished"] = end.isoformat(timespec="milliseconds").replace("+00:00", "Z")
open(sys.argv[1], "w").writelines(json.dumps(line) + "\n" for line in lines)
Q
    ;;
*) exec "$GPUVET" "$@" ;;
esac
P
chmod +x program
export GPUVET GPUVET_LOOK_NODE=/dev/null
SAID=$(./program list --profile standard --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["seconds"])')
export SAID

TIMES=1.1 expect 0 bash "$GPUVET_SOURCE/tests/gpu/first_look.sh" ./program look
[ "$(grep -cE '^standard [ABC] took [0-9]+ s, predicted were [0-9]+ s: 1\.(09|1[01]) times$' out)" = 3 ] || fail "three runs, and not as many lines"
has out "failures: 0"
has look/anchors.md "the anchors are an H200's"
for kept in quick standard-a standard-b standard-c standard-after; do
    [ -s "look/$kept.jsonl.gz" ] || fail "$kept is not kept"
done

rm -rf results look
TIMES=0.7 expect 1 bash "$GPUVET_SOURCE/tests/gpu/first_look.sh" ./program look
has out "FAIL: standard A took another time than was predicted"
has out "failures: 3"
GPUVET_LOOK_NODE=$PWD/none TIMES=1 expect 77 bash "$GPUVET_SOURCE/tests/gpu/first_look.sh" ./program look
exit 0
