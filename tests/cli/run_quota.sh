#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A CPU quota that holds gpuvet back is named: before it starts, in the record of what it held back, and in the reason
# where nothing came of it. An item that is quiet for long is no silent coordinator.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
v1=/sys/fs/cgroup/cpu v2=/sys/fs/cgroup name=gpuvet-test-$$
if [ -e $v1/cgroup.procs ]; then
    group=$v1/$name
elif grep -qw cpu $v2/cgroup.subtree_control 2>/dev/null; then
    group=$v2/$name
elif [ -z "${OWN_MOUNTS:-}" ] && unshare -m true 2>/dev/null; then
    OWN_MOUNTS=1 exec unshare -m bash "$0" # the controller may be v1's and not mounted anywhere
elif mkdir -p cpu && mount -t cgroup -o cpu none cpu 2>/dev/null; then
    group=$PWD/cpu/$name
fi
{ [ -n "${group:-}" ] && mkdir "$group" 2>/dev/null; } || skip "no cgroup with a CPU quota can be made here"
leave() {
    # shellcheck disable=SC2317 # called by a trap
    for _ in $(seq 50); do rmdir "$group" 2>/dev/null && return; sleep 0.1; done
}
trap leave EXIT
# limit QUOTA: of 100 ms
limit() {
    if [ -e "$group/cpu.max" ]; then
        echo "$1 100000" >"$group/cpu.max"
    else
        echo 100000 >"$group/cpu.cfs_period_us" && echo "$1" >"$group/cpu.cfs_quota_us"
    fi
}
limit 20000 || skip "no CPU quota can be set here"
cat >inside <<'S'
echo $$ >"$GROUP/cgroup.procs" || exit 99 # no skip: the group was made for us
exec "$@"
S
run() { GROUP=$group expect "$1" timeout 300 bash inside "$GPUVET" run --allow-busy --no-baseline --rounds 1 "${@:2}"; }
run 0 --case 'host.frequency@*cores=all*' --case null
has err "gpuvet: warning: the CPU quota of cgroup "
has err "$name (20000 of 100000 us) is 0.2 CPUs, and gpuvet may run on"
python3 - "$(last_run)" "$name" <<'P' || fail "the quota is not in the records"
import json, sys
records = [json.loads(line) for line in open(sys.argv[1]) if '"type":"record"' in line]
held = [r for r in records if r["case"] == "host.frequency"]
assert held, records
for r in held:
    assert r["outcome"] == "ok", r
    assert "cpu-quota" in r["flags"] and r["quota_us"] > 0, r
    assert r["quota"].startswith("the CPU quota of cgroup ") and sys.argv[2] in r["quota"], r
P
# Without a bound nothing is said.
limit "$([ -e "$group/cpu.max" ] && echo max || echo -1)"
run 0 --case null
lacks err quota
exit 0
