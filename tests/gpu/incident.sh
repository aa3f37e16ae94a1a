#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# incident.sh GPUVET OUT DEBDIR: the incident, for real, on a GPU machine: an LXC container whose configuration allows the
# nvidia-uvm major of another kernel. nvidia-smi works in it, cuInit answers 999; doctor names it on both sides, --apply
# mends the file, the container is started again, the measurement runs in it. Both ways: with a baseline that knows the
# old number (the line is replaced) and without (the needed line is added, the stale one stays). DEBDIR: the packages
# that lxc-gpu-rig.sh asks for. Only /var/lib/lxc, /etc/lxc and /tmp of the machine are written.
set -u
gpuvet=$(realpath "$1")
out=$2
debs=$(realpath "$3")
rig=$(dirname "$(realpath "$0")")/lxc-gpu-rig.sh
mkdir -p "$out"
log=$out/incident.txt
export GPUVET_RESULTS=/tmp/gpuvet-incident GPUVET_LOCK=/tmp/gpuvet-incident.lock
mkdir -p "$GPUVET_RESULTS/runs" "$GPUVET_RESULTS/baselines"
failures=0
[ -e /dev/nvidiactl ] || { echo "skip: no NVIDIA driver on this machine"; exit 77; }
exec > >(tee "$log") 2>&1

step() { printf '\n== %s\n' "$*"; }
expect() { # expect STATUS COMMAND…
    local want=$1 got=0
    shift
    "$@" || got=$?
    [ "$got" = "$want" ] || { echo "FAIL: status $got instead of $want: $*"; failures=$((failures + 1)); }
}
must_say() { grep -qE "$2" "$1" || { echo "FAIL: $1 does not say $2"; failures=$((failures + 1)); }; }
inside() { lxc-attach --clear-env -n "$name" -- "$@"; }

bash "$rig" install "$debs"
real=$(awk '$2 == "nvidia-uvm" { print $1 }' /proc/devices)
stale=504
for way in unknown known; do
    name=gpu-$way
    step "a container whose configuration allows $stale:*; this kernel has nvidia-uvm at $real"
    bash "$rig" start "$name" "$stale"
    cp "$gpuvet" "/tmp/lxc-rig/root/tmp/gpuvet"
    grep -n devices.allow "/var/lib/lxc/$name/config"
    step "nvidia-smi in it"
    inside nvidia-smi -L
    step "doctor in it"
    expect 1 inside /tmp/gpuvet doctor | tee "$out/$way-inside-broken.txt"
    must_say "$out/$way-inside-broken.txt" "$real"
    must_say "$out/$way-inside-broken.txt" '999'
    baseline=()
    if [ "$way" = known ]; then
        step "what the machine was before: a capture in which nvidia-uvm is $stale"
        "$gpuvet" doctor --capture /tmp/before >/dev/null
        sed -i "s/^ *$real nvidia-uvm\$/$stale nvidia-uvm/" /tmp/before/root/proc/devices
        baseline=(--baseline /tmp/before)
    fi
    step "doctor on the host (${baseline[*]:-no baseline})"
    expect 1 "$gpuvet" doctor "${baseline[@]}" | tee "$out/$way-host.txt"
    must_say "$out/$way-host.txt" "$name"
    must_say "$out/$way-host.txt" "c $real:\* rwm"
    step "host and container side by side, while it is broken"
    expect 1 "$gpuvet" run --profile quick --allow-busy --no-baseline --rounds 2 --in host --in "lxc:$name" \
        --case 'copy.latency@*/call*bytes=4096*' --case 'host.frequency@*cores=one*'
    step "the mend, shown, then made"
    expect 1 "$gpuvet" doctor --fix "lxc:$name" "${baseline[@]}" | tee "$out/$way-fix.txt"
    expect 0 "$gpuvet" doctor --fix "lxc:$name" "${baseline[@]}" --apply
    grep -n devices.allow "/var/lib/lxc/$name/config"
    step "started again"
    bash "$rig" stop "$name"
    bash "$rig" start "$name"
    cp "$gpuvet" "/tmp/lxc-rig/root/tmp/gpuvet"
    expect 0 inside /tmp/gpuvet doctor | tee "$out/$way-inside-mended.txt"
    expect 0 "$gpuvet" doctor | tee "$out/$way-host-mended.txt"
    if [ "$way" = known ]; then
        step "host and container side by side"
        expect 0 "$gpuvet" run --profile quick --allow-busy --no-baseline --label host-lxc --in host --in "lxc:$name" \
            | tee "$out/host-lxc.txt"
        gzip -9c "$(find "$GPUVET_RESULTS/runs" -name '*.jsonl' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-)" >"$out/host-lxc.jsonl.gz"
    fi
    bash "$rig" stop "$name"
done
step "what is left"
pgrep -a gpuvet && failures=$((failures + 1))
nvidia-smi --query-gpu=index,utilization.gpu,memory.used --format=csv
echo "failures: $failures"
[ "$failures" = 0 ]
