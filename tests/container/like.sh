#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Beside a running process: its cgroup, namespaces, limits, CPUs, user and variables are what the measurement gets.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
need python3 unshare prlimit taskset
need_root
in_own_mounts "$@"

job() { env -i PATH=/usr/bin:/bin NCCL_OF_THE_JOB=1 SECRET_OF_THE_JOB=1 "$@" sleep 600 & job=$!; }
trap 'kill -9 $job $inner 2>/dev/null' EXIT


# A job with limits and CPUs of its own.
job taskset -c "$last_cpu" prlimit --nofile=777 --memlock=65536 nice -n 5
sleep 0.5
inner=$job
measure "like:$job"
python3 - "$run" "like:$job" "$last_cpu" <<'PY' || fail "the job's limits and CPUs are not those of the measurement"
import json, sys
view = json.loads(open(sys.argv[1]).readline())["places"][sys.argv[2]]["view"]
assert view["limits"]["nofile"] == 777 and view["limits"]["memlock"] == 65536, view
assert view["cpus"] == sys.argv[3], view
PY
host_cases "like:$job"
# A limit of its own that may not be had here: by name, and what to do.
expect 2 setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource \
    prlimit --nofile=500:500 "$GPUVET" run --rounds 1 --case null --allow-busy --no-baseline --in "like:$job"
grep -q 'RLIMIT_NOFILE.*Operation not permitted; needs CAP_SYS_RESOURCE' out err || fail "which limit is not said"
kill -9 $job
wait $job 2>/dev/null

# One in namespaces of its own, with no folder of ours, less capabilities, and a user of its own.
mkdir -p root
small_root root bare
for d in bin dev proc tmp; do mkdir -p "root/$d"; done
mount --bind root root
env -i PATH=/usr/sbin:/usr/bin:/bin NCCL_OF_THE_JOB=1 SECRET_OF_THE_JOB=1 \
    unshare --mount --pid --ipc --uts --fork --mount-proc="$PWD/root/proc" \
    setpriv --bounding-set=-sys_nice chroot "$PWD/root" sleep 600 &
job=$!
sleep 1
inner=$(pgrep -P $job -x sleep) || fail "no job in its own namespaces"
expect 0 "$GPUVET" run --profile quick --rounds 2 --case null --allow-busy --no-baseline --in host --in "like:$inner"
python3 - "$(last_run)" "like:$inner" <<'PY' || fail "the job's place is not that of the measurement"
import json, sys
place = json.loads(open(sys.argv[1]).readline())["places"][sys.argv[2]]
assert place["same_machine"] and not place["view"]["sys_nice"], place
PY
# Its variables that concern CUDA and NCCL, and no others. Its worker: others of this machine are in other namespaces.
beside() {
    local p
    for p in $(pgrep -f '^gpuvet worker'); do
        [ "$(readlink "/proc/$p/ns/mnt")" != "$(readlink "/proc/$inner/ns/mnt")" ] || echo "$p"
    done
}
rm -rf results/runs
"$GPUVET" run --profile quick --rounds 1 --case 'fault@1/*how=hang}*' --allow-busy --no-baseline --in "like:$inner" >out 2>err &
pid=$!
for _ in $(seq 200); do worker=$(beside | tail -1); [ -n "$worker" ] && grep -qs '"type":"start"' results/runs/*.jsonl && break; sleep 0.1; done
[ -n "$worker" ] || fail "no worker beside the job"
grep -qz '^NCCL_OF_THE_JOB=1' "/proc/$worker/environ" || fail "the job's NCCL variables are lost"
! grep -qz '^SECRET' "/proc/$worker/environ" || fail "more of the job's environment came along than is needed"
kill -9 $pid
wait $pid 2>/dev/null
for _ in $(seq 100); do [ -n "$(beside)" ] || break; sleep 0.1; done
[ -z "$(beside)" ] || fail "a worker is left after a kill"
kill -9 "$inner"
expect 2 "$GPUVET" run --rounds 1 --case null --allow-busy --in "like:$inner"
one_line
