#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# incident.sh PROGRAM OUT DEBDIR [mend]: the incident, for real, on a GPU machine: an LXC container whose configuration allows the
# nvidia-uvm major of another kernel. nvidia-smi works in it, cuInit answers 999; doctor names it on both sides, a run
# skips what needs a GPU there with that reason, --apply mends the file, the container is started again. Both ways: with a
# baseline that knows the old number (the line is replaced) and without (the needed line is added, the stale one stays).
# Then every case on host and container, and three times the host against itself through the path of containers.
# DEBDIR: the packages that lxc-gpu-rig.sh asks for. Only /usr, /var/lib/lxc, /var/lib/gpuvet, /etc/lxc and /tmp of the
# machine are written. With "mend" it ends once both containers are mended (20 s). About 200 s
# with one GPU, 260 s with two. Into OUT: incident.txt, host-lxc.txt, broken, host-lxc and control (.jsonl.gz), details.tar.gz.
set -u
program=$(realpath "$1")
out=$2
debs=$(realpath "$3")
part=${4:-all}
here=$(dirname "$(realpath "$0")")
mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d /tmp/incident.XXXXXX)
export GPUVET_RESULTS=/tmp/gpuvet-incident GPUVET_LOCK=/tmp/gpuvet-incident.lock
mkdir -p "$GPUVET_RESULTS/runs" "$GPUVET_RESULTS/baselines"
failures=0
longest=420 # seconds for all of this
[ -e "${GPUVET_INCIDENT_NODE:-/dev/nvidiactl}" ] || { echo "skip: no NVIDIA driver on this machine"; exit 77; }
exec > >(tee "$out/incident.txt") 2>&1

bad() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}
give_up() {
    bad "$*"
    finish
}
finish() {
    tar -C "$work" --exclude=./before -czf "$out/details.tar.gz" .
    echo "$SECONDS s in all; failures: $failures"
    [ "$failures" = 0 ]
    exit
}
step() { printf '\n== %s (%s s so far)\n' "$*" "$SECONDS"; }
# expect STATUS NAME COMMAND…: its output is shown, and kept as NAME.
expect() {
    local want=$1 kept=$2 got=0
    shift 2
    "$@" >"$work/$kept" 2>&1 || got=$?
    cat "$work/$kept"
    [ "$got" = "$want" ] || bad "status $got instead of $want: $*"
}
says() { grep -qE -- "$2" "$work/$1" || bad "$1 does not say: $2"; }
# shellcheck disable=SC2317 # called by way of expect
inside() { lxc-attach --clear-env -n "$name" -- "$@"; }
# shellcheck source=tests/gpu/lib.sh
. "$here/lib.sh"
start() {
    bash "$here/lxc-gpu-rig.sh" start "$@" || give_up "the container does not start: $(tail -3 "/tmp/lxc-rig/$1.log" 2>/dev/null)"
    cp "$program" /tmp/lxc-rig/root/tmp/gpuvet
}
check() { python3 "$here/incident_check.py" "$@" || bad "the run is not as it should be: $1"; }

bash "$here/lxc-gpu-rig.sh" install "$debs" || give_up "LXC is not installed from $debs"
real=$(awk '$2 == "nvidia-uvm" { print $1 }' /proc/devices)
stale=504
[ -n "$real" ] || give_up "/proc/devices has no nvidia-uvm"
for way in unknown known; do
    name=gpu-$way
    step "a container whose configuration allows $stale:*; this kernel has nvidia-uvm at $real"
    start "$name" "$stale"
    line=$(grep -n "devices.allow = c $stale:" "/var/lib/lxc/$name/config" | cut -d: -f1)
    grep -n devices.allow "/var/lib/lxc/$name/config"
    step "nvidia-smi in it"
    expect 0 "$way-nvidia-smi.txt" inside nvidia-smi -L
    step "doctor in it"
    expect 1 "$way-inside-broken.txt" inside /tmp/gpuvet doctor
    says "$way-inside-broken.txt" "denies /dev/nvidia-uvm \(c $real:0\)"
    says "$way-inside-broken.txt" 'cuInit answers 999'
    baseline=()
    if [ "$way" = known ]; then
        step "what the machine was before: a capture in which nvidia-uvm is $stale"
        "$program" doctor --capture "$work/before" >/dev/null || [ $? = 1 ] || bad "no capture" # 1: it finds the fault
        sed -i "s/^ *$real nvidia-uvm\$/$stale nvidia-uvm/" "$work/before/root/proc/devices"
        baseline=(--baseline "$work/before")
    fi
    step "doctor on the host (${baseline[*]:-no baseline})"
    expect 1 "$way-host.txt" "$program" doctor "${baseline[@]}"
    says "$way-host.txt" "container $name"
    says "$way-host.txt" "c $real:\* rwm"
    step "host and container side by side, while it is broken"
    expect 1 "$way-broken-run.txt" "$program" run --profile quick --allow-busy --no-baseline --rounds 2 --label broken \
        --in host --in "lxc:$name" --case 'copy.latency@*/call*bytes=4096*' --case 'host.frequency@*cores=one*'
    says "$way-broken-run.txt" "skipped there: host is fine; the device cgroup denies"
    check broken "$(newest)" "lxc:$name" "c $real:0" "/var/lib/lxc/$name/config line $line says" "$stale"
    keep broken
    step "the mend, shown"
    expect 1 "$way-fix.txt" "$program" doctor --fix "lxc:$name" "${baseline[@]}"
    step "the mend, made"
    expect 0 "$way-apply.txt" "$program" doctor --fix "lxc:$name" "${baseline[@]}" --apply
    says "$way-apply.txt" "is changed; the old one is /var/lib/gpuvet/backup/"
    grep -n devices.allow "/var/lib/lxc/$name/config"
    step "started again"
    bash "$here/lxc-gpu-rig.sh" stop "$name"
    start "$name"
    expect 0 "$way-inside-mended.txt" inside /tmp/gpuvet doctor
    expect 0 "$way-host-mended.txt" "$program" doctor
    [ "$way" = known ] || bash "$here/lxc-gpu-rig.sh" stop "$name"
done

if [ "$part" = mend ]; then
    bash "$here/lxc-gpu-rig.sh" stop "$name"
    finish
fi

step "every case on host and container"
status=0
timeout -s INT 170 "$program" run --profile standard --rounds 5 --allow-busy --no-baseline --label host-lxc --in host \
    --in "lxc:$name" >"$work/host-lxc.txt" 2>&1 || status=$?
cat "$work/host-lxc.txt"
cp "$work/host-lxc.txt" "$out/"
# 1: an item was lost; which, and whether that matters, is for the check to say.
[ "$status" = 0 ] || [ "$status" = 1 ] || bad "status $status of the run on host and container"
keep host-lxc
check cases "$(newest)" "lxc:$name" "$here/../../bench"
bash "$here/lxc-gpu-rig.sh" stop "$name"

# As the container has it: an environment of its own, the same libraries.
printf '%s\n' env -i "PATH=$PATH" "HOME=$HOME" ${LD_LIBRARY_PATH:+"LD_LIBRARY_PATH=$LD_LIBRARY_PATH"} >/tmp/self.argv
for i in 1 2 3; do
    step "control $i of 3: the host against itself, every quick case"
    [ $((SECONDS + 85)) -lt $longest ] || { bad "no time is left for it"; break; }
    status=0
    timeout -s INT 100 "$program" run --profile quick --allow-busy --no-baseline --no-own-placement --seed "$i" --label control \
        --json --in host --in command:/tmp/self.argv >"$work/control-$i.json" 2>"$work/control-$i.err" || status=$?
    [ "$status" = 0 ] || [ "$status" = 1 ] || { cat "$work/control-$i.err"; bad "status $status of control $i"; }
    check control "$work/control-$i.json"
    keep control
done

step "what is left"
pgrep -a gpuvet && bad "processes"
left=$(find /tmp /dev/shm /var/tmp /run /tmp/lxc-rig/root/tmp /tmp/lxc-rig/root/run /sys/fs/cgroup -maxdepth 1 \
    \( -name '.gpuvet-*' -o -name 'gpuvet-[0-9]*' \) 2>/dev/null)
[ -z "$left" ] || bad "left behind: $left"
nvidia-smi --query-gpu=index,utilization.gpu,memory.used --format=csv
finish
