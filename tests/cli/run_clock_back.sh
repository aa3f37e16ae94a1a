#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The clock is set back by two hours while a run goes on: it ends as it should, in order, and compares. Deadlines are
# of CLOCK_MONOTONIC; only stamps and names know the wall clock.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
command -v cc >/dev/null || skip "no C compiler for the made-up clock"
cat >back.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
/* From its CLOCK_BACK-th question on a process is told a time two hours earlier. */
int clock_gettime(clockid_t id, struct timespec *out) {
    static int (*real)(clockid_t, struct timespec *);
    static int asked;
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(id, out);
    const char *after = getenv("CLOCK_BACK");
    if (id == CLOCK_REALTIME && after != NULL && ++asked > atoi(after))
        out->tv_sec -= 7200;
    return status;
}
C
cc -shared -fPIC -o back.so back.c -ldl || fail "the made-up clock does not compile"
# back N COMMAND…: under the made-up clock.
# shellcheck disable=SC2317 # reached through expect
back() {
    local n=$1
    shift
    CLOCK_BACK=$n LD_PRELOAD=$PWD/back.so ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 "$@"
}
args=(run --allow-busy --no-baseline --case null --case host.frequency --rounds 4)

expect 0 back 6 "$GPUVET" "${args[@]}"
run=$(last_run)
cp "$run" a.jsonl
python3 - a.jsonl <<'P' || fail "the run is not in order"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
stamps = [l["started"] for l in lines if l["type"] == "header"] + [l["at"] for l in lines if l["type"] == "start"]
falls = sum(later < earlier for earlier, later in zip(stamps, stamps[1:]))
assert falls == 1, f"the clock was set back {falls} times: the test proves nothing"
assert lines[-1]["type"] == "footer" and lines[-1]["outcome"] == "complete" and lines[-1]["rounds"] == 4
assert lines[-1]["finished"] < lines[0]["started"]
rounds = [l["round"] for l in lines if l["type"] == "record"]
assert rounds == sorted(rounds) and set(rounds) == {0, 1, 2, 3}
assert all(l["outcome"] == "ok" for l in lines if l["type"] == "record")
P
# A run wholly in the past is one more file, and both compare, either way round.
expect 0 back 0 "$GPUVET" "${args[@]}"
[ "$(find results/runs -name '*.jsonl' | wc -l)" = 2 ] || fail "not two run files"
old=$(find results/runs -name '*.jsonl' ! -path "$run")
[ "$(basename "$old")" \< "$(basename "$run")" ] || fail "the name does not show the clock"
for pair in "$run $old" "$old $run"; do
    # shellcheck disable=SC2086
    "$GPUVET" compare $pair >out 2>err
    status=$?
    [ "$status" -le 1 ] || fail "compare: status $status"
    has out "the change is their ratio"
done
# An item that hangs across the jump ends at its deadline, not two hours later or at once.
expect 1 back 2 timeout 60 "$GPUVET" run --allow-busy --no-baseline --rounds 1 --case 'fault@1/*how=hang}*' --case null
grep '"type":"record"' "$(find results/runs -name '*.jsonl' -newer a.jsonl ! -path "$old" -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-)" >records
has records "no end within 2000 ms"
grep '"case":"null"' records | grep -q '"outcome":"ok"' || fail "the item after it did not run"
exit 0
