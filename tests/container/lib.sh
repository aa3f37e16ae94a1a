#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For the scripts in tests/container: real containers, engines and daemons, each started by the test itself from this
# machine's own files, so that nothing is fetched. What cannot be started here is a skip that says why.
# shellcheck shell=bash
# shellcheck source=../cli/lib.sh
. "$GPUVET_SOURCE/tests/cli/lib.sh"

need_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }
need() {
    local program
    for program in "$@"; do command -v "$program" >/dev/null || skip "$program is not installed"; done
}

# The whole test in a mount namespace of its own: what it mounts ends with it, and so does, by a keeper, what it starts
# (also when it is killed). Engines that need it get a cgroup v2.
in_own_mounts() {
    if [ "${GPUVET_OWN_MOUNTS:-}" = 1 ]; then
        (python3 "${0%/*}/keeper.py" $$ </dev/null >/dev/null 2>&1 &)
        return
    fi
    unshare -m true 2>/dev/null || skip "no mount namespace may be made here"
    GPUVET_OWN_MOUNTS=1 exec unshare -m bash "$0" "$@"
}
mount_cgroup2() {
    umount -l /sys/fs/cgroup/* /sys/fs/cgroup 2>/dev/null
    mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup || skip "no cgroup v2 here"
}

# without_exec COMMAND…: in a mount namespace in which no folder that gpuvet brings a program to lets it run.
without_exec() {
    # shellcheck disable=SC2016 # expanded in there
    unshare -m sh -c 'mount --make-rprivate / && for d in /tmp /dev/shm /var/tmp /run; do
        mount --bind $d $d && mount -o remount,bind,noexec $d || exit 1; done; exec "$@"' sh "$@"
}

# measure TARGET [OPTION…]: a short run of host and TARGET; the run file is in $run.
measure() {
    local target=$1
    shift
    expect 0 "$GPUVET" run --profile quick --allow-busy --no-baseline --rounds 2 --case null \
        --case host.frequency --in host --in "$target" "$@"
    run=$(last_run)
    python3 - "$run" "$target" <<'PY' || fail "the run of host and $target is not as it should be"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
header, footer = lines[0], lines[-1]
target = sys.argv[2]
assert header["targets"] == ["host", target], header["targets"]
assert footer["outcome"] == "complete", footer
records = [l for l in lines if l["type"] == "record"]
def sides(key):
    out = {}
    for r in records:
        k = (r["case"], r["metric"], json.dumps(r["where"], sort_keys=True), json.dumps(r["params"], sort_keys=True))
        if r["outcome"] == "ok":
            out.setdefault(r["target"], {}).setdefault(k, []).append(r[key] if key else r)
    return out
by = sides(None)
assert set(by) == {"host", target}, {(r["target"], r["outcome"], r.get("reason")) for r in records}
assert by["host"].keys() == by[target].keys(), "the two sides have other items"
for key in by["host"]:
    assert len(by["host"][key]) == len(by[target][key]) == 2, key
    pins = {json.dumps(r.get("pin", {}).get("cpu")) for side in (by["host"], by[target]) for r in side[key]}
    assert len(pins) == 1, (key, pins)
# Host, container, container, host.
order = []
for l in lines:
    if l["type"] == "start" and (not order or order[-1] != l["target"]):
        order.append(l["target"])
assert order == ["host", target, "host"], order
view = header["places"][target]["view"]
assert view["syscalls"]["get_mempolicy"], view
print("cpu", {r["pin"]["cpu"] for r in records if r.get("pin")}, "shm", view["shm_mib"], "seccomp", view["seccomp"])
PY
}

# host_cases TARGET...: a round of every host case on the host and on each TARGET; each case has been measured on all of
# them, or is a skip there with its reason.
host_cases() {
    local target began=$SECONDS
    local in=(--in host)
    for target in "$@"; do in+=(--in "$target"); done
    expect 0 "$GPUVET" run --profile quick --allow-busy --no-baseline --no-own-placement --rounds 1 --case 'host.*' "${in[@]}"
    python3 - "$(last_run)" "$GPUVET_SOURCE/bench/cases.def" "$@" <<'PY' || fail "not every host case was measured on host and $*"
import collections, json, re, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
cases = ["host." + name for name in re.findall(r"^CASE\(host_(\w+)\)", open(sys.argv[2]).read(), re.M)]
targets = ["host"] + sys.argv[3:]
assert lines[0]["targets"] == targets and lines[-1]["outcome"] == "complete", (lines[0]["targets"], lines[-1])
seen = collections.defaultdict(list)
for r in lines:
    if r["type"] == "record":
        good = r["outcome"] == "ok" and all(s > 0 for s in r["samples"]) or r["outcome"] == "skip" and r["reason"]
        assert good, (r["target"], r["case"], r["where"], r["params"], r["outcome"], r.get("reason"))
        seen[r["target"], r["case"]].append(r)
for case in cases:
    done = {t: sorted(json.dumps([r["metric"], r["where"], r["params"], r["outcome"]]) for r in seen[t, case]) for t in targets}
    assert all(done[t] == done["host"] for t in targets), (case, done)
    # A place with one CPU has nothing to hand over to.
    for t in targets:
        assert any(r["outcome"] == "ok" for r in seen[t, case]) or {r["reason"] for r in seen[t, case]} == {
            "there is no other core"
        }, (t, case, done[t])
counts = collections.Counter((t, r["outcome"]) for (t, _), records in seen.items() for r in records)
print("host cases:", {f"{t} {outcome}": n for (t, outcome), n in counts.items()})
PY
    echo "host cases on host and $*: $((SECONDS - began)) s"
}

# Whatever gpuvet is still there, as this machine's processes; each container is seen from outside.
left_processes() {
    local pid
    for pid in $(pgrep -f '(gpuvet[^ ]*|/proc/self/exe) (worker( --(unlink|parked|facts)|$)|enter|undo)' | grep -vx "$$"); do
        of_somebody_else "$pid" || echo "$pid"
    done
}
# What another run on this machine started, or another test: it or whoever started it works in another folder than we.
of_somebody_else() {
    local pid=$1 folder
    while [ "${pid:-0}" -gt 1 ]; do
        folder=$(readlink "/proc/$pid/cwd")
        case $folder in
        "$PWD" | "$PWD"/*) return 1 ;;
        */gpuvet-test.*) return 0 ;;
        esac
        ! grep -qsz '^run$' "/proc/$pid/cmdline" || return 0
        pid=$(ps -o ppid= -p "$pid" | tr -d ' ')
    done
    return 1
}

# nothing_left SECONDS FOLDER…: no process of ours, no file in these folders, after at most so long.
nothing_left() {
    local end=$((SECONDS + $1)) folder left
    shift
    while :; do
        left=$(left_processes)
        for folder in "$@"; do left+=$(find "$folder" -maxdepth 1 -name '.gpuvet-*' 2>/dev/null); done
        [ -n "$left" ] || return 0
        [ $SECONDS -lt $end ] || break
        sleep 0.2
    done
    [ -z "$(left_processes)" ] || ps -o pid,ppid,args -p "$(left_processes | paste -sd,)" >&2
    fail "left behind: $left"
}

# hang_and_kill TARGET FOLDER…: an item that never ends there is ended; a coordinator killed in the middle leaves
# nothing.
hang_and_kill() {
    local target=$1 pid
    shift
    expect 1 "$GPUVET" run --profile quick --allow-busy --no-baseline --rounds 1 --case 'fault@1/*how=hang}*' --case null --in "$target"
    run=$(last_run)
    grep -q '"outcome":"hang"' "$run" || fail "the hang in $target is not in the run"
    grep '"case":"null"' "$run" | grep -q '"outcome":"ok"' || fail "what came after the hang in $target was lost"
    nothing_left 15 "$@"
    local signal status
    for signal in KILL INT; do
        SECRET_OF_THE_HOST=1 "$GPUVET" run --profile quick --allow-busy --no-baseline --rounds 3 \
            --case 'fault@1/*how=hang}*' --in "$target" >out 2>err &
        pid=$!
        for _ in $(seq 300); do
            run=$(find results/runs -name "*-$pid.jsonl")
            [ -n "$run" ] && grep -q '"type":"start"' "$run" && break
            sleep 0.1
        done
        sleep 0.5
        ! worker_environs | xargs grep -lsz '^SECRET_OF_THE_HOST=' || fail "the coordinator's environment leaked into $target"
        status=0
        kill -"$signal" "$pid"
        wait "$pid" 2>/dev/null || status=$?
        [ "$status" = "$([ $signal = KILL ] && echo 137 || echo 130)" ] || fail "status $status after SIG$signal in $target"
        nothing_left 30 "$@"
    done
    grep -q '"outcome":"interrupted"' "$run" || fail "an interrupt leaves no footer"
}
worker_environs() { for p in $(pgrep -f 'gpuvet-[0-9a-f]{16}/gpuvet worker|gpuvet worker --parked'); do echo "/proc/$p/environ"; done; echo /dev/null; }

# The last CPU that we may use: a container may well have fewer than the host.
# shellcheck disable=SC2034
last_cpu=$(python3 -c 'import os; print(max(os.sched_getaffinity(0)))' 2>/dev/null)

# small_root FOLDER [bare]: a root of the few programs needed, with the libraries of $GPUVET; bare: nothing but sleep.
small_root() {
    local program library
    mkdir -p "$1"/{bin,usr,dev,proc,sys,tmp,etc,run,var/tmp}
    ln -s ../bin "$1/usr/bin"
    chmod 1777 "$1/tmp" "$1/var/tmp"
    local programs=(sleep find dd mkdir chmod rm cat)
    [ "${2:-}" != bare ] || programs=(sleep)
    for program in "${programs[@]}"; do cp -L "$(command -v "$program")" "$1/bin/"; done
    { for program in "${programs[@]}"; do ldd "$(command -v "$program")"; done; ldd "$GPUVET"; } |
        grep -o '/[^ ]*' | sort -u | while read -r library; do
        mkdir -p "$1$(dirname "$library")"
        cp -L "$library" "$1$library"
    done
}
