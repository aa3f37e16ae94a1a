#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Four Slurm nodes on this machine: a controller and four slurmd of our own.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
need_root
PATH=$PATH:/usr/sbin
need munged slurmctld slurmd srun sinfo python3
in_own_mounts "$@"
id munge >/dev/null 2>&1 || skip "there is no user munge"
mkdir munge ctl spool
dd if=/dev/urandom of=munge/key bs=128 count=1 status=none
chmod 700 munge
chmod 400 munge/key
chmod 755 .
chown -R munge munge
cleanup() { for f in ctl/*.pid spool/*.pid munge/pid; do [ -s "$f" ] && kill "$(cat "$f")" 2>/dev/null; done; sleep 0.5; }
trap cleanup EXIT
setpriv --reuid munge --clear-groups munged --key-file "$PWD/munge/key" --socket "$PWD/munge/socket" --pid-file "$PWD/munge/pid" \
    --log-file "$PWD/munge/log" --seed-file "$PWD/munge/seed" --force 2>munge.err || skip "munged does not start: $(tail -1 munge.err)"
chmod 755 munge
read -r base < <(python3 -c 'import random; print(random.randrange(20000, 28000))')
cat >slurm.conf <<X
ClusterName=gpuvettest
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$base
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$PWD/munge/socket
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
StateSaveLocation=$PWD/ctl
SlurmdSpoolDir=$PWD/spool/%n
SlurmctldPidFile=$PWD/ctl/ctl.pid
SlurmdPidFile=$PWD/spool/%n.pid
SlurmctldLogFile=$PWD/ctl/log
SlurmdLogFile=$PWD/spool/%n.log
KillWait=2
$(for n in 1 2 3 4; do echo "NodeName=n$n NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((base + n)) CPUs=$(nproc) State=UNKNOWN"; done)
PartitionName=all Nodes=n[1-4] Default=YES State=UP MaxTime=INFINITE OverSubscribe=FORCE:4
X
export SLURM_CONF=$PWD/slurm.conf
# No cgroups are asked for, but which are there is looked for, and a mixture refused.
echo CgroupPlugin=cgroup/v1 >cgroup.conf
slurmctld -f "$SLURM_CONF" 2>ctl.err || skip "slurmctld does not start: $(tail -1 ctl.err)"
# No folder of the first lets a program run, so that it is measured through memory.
in_memory="env"
! command -v perl >/dev/null || in_memory=without_exec
for n in 1 2 3 4; do $([ $n = 1 ] && echo $in_memory) slurmd -N n$n -f "$SLURM_CONF" 2>"d$n.err" || skip "slurmd does not start: $(tail -1 "d$n.err")"; done
for _ in $(seq 100); do [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 4 ] && break; sleep 0.3; done
[ "$(sinfo -h -t idle -o %D)" = 4 ] || skip "the four nodes do not come up: $(sinfo -h -R 2>&1 | head -1)"
[ "$(srun --nodelist=n3 printenv SLURMD_NODENAME 2>srun.err)" = n3 ] || skip "srun runs nothing: $(tail -1 srun.err)"

cp "$(type -P true)" true
srun --nodelist=n2 "$PWD/true" || fail "n2 runs nothing from here"
[ $in_memory = env ] || ! srun --nodelist=n1 "$PWD/true" 2>/dev/null || fail "n1 runs a program from /tmp"
measure slurm:n2
# Each node in one run, with options for srun behind the name.
host_cases slurm:n1 slurm:n2 slurm:n3 'slurm:n4/--partition=all --mem=0'
hang_and_kill slurm:n4 /tmp
for _ in $(seq 100); do [ -z "$(squeue -h)" ] && break; sleep 0.3; done
[ -z "$(squeue -h)" ] || fail "a job is left in the queue: $(squeue -h)"
# A worker that no longer answers does not see the end of its stdin: srun, asked to end, cancels its step.
"$GPUVET" run --profile quick --allow-busy --no-baseline --rounds 1 --case 'fault@1/*how=hang}*' --in slurm:n4 >out 2>err &
pid=$!
for _ in $(seq 300); do
    worker=
    for p in $(left_processes); do
        [ "$(sed -zn 2p "/proc/$p/cmdline" | tr -d '\0')" != worker ] || ! pgrep -P "$p" >/dev/null || worker=$p
    done
    [ -n "$worker" ] && grep -qs '"key":"fault@' results/runs/*-$pid.jsonl && break
    sleep 0.1
done
kill -STOP "$worker" || fail "no item began on n4"
wait $pid
grep -q '"reason":"the worker itself no longer answers"' "$(last_run)" || fail "the frozen worker is not in the run"
nothing_left 15 /tmp
[ -z "$(squeue -h)" ] || fail "a job is left in the queue after a frozen worker: $(squeue -h)"
expect 2 "$GPUVET" run --rounds 1 --case null --allow-busy --in slurm:n9
one_line
