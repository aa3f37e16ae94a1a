#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doctor --after-upgrade: when a boot is judged, what is told where, and the unit and CI files that call it.
# shellcheck disable=SC2016 # the quoted scripts are expanded where they run
. "$GPUVET_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip "python3 writes the captures, and is not here"
ci=$GPUVET_SOURCE/scripts/ci
unit=$ci/gpuvet-after-upgrade.service

PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$GPUVET_SOURCE/tests/fixtures/doctor python3 - <<'PY' || fail "no captures"
import json
from machine import Machine
def podman(uvm):
    nodes = [{"path": path, "type": "c", "major": major, "minor": minor, "fileMode": 0o20666}
             for path, major, minor in (("/dev/nvidiactl", 195, 255), ("/dev/nvidia0", 195, 0), ("/dev/nvidia-uvm", uvm, 0))]
    return {"annotations": {"io.container.manager": "libpod"}, "linux": {"cgroupsPath": "x", "devices": nodes, "resources": {"devices": [
        {"allow": True, "type": "c", "major": n["major"], "minor": n["minor"], "access": "rwm"} for n in nodes]}}}
def conf(uvm):
    rules = "".join(f"lxc.cgroup2.devices.allow: c {n}:* rwm\n" for n in (195, uvm))
    nodes = "".join(f"lxc.mount.entry: /dev/{n} dev/{n} none bind,optional,create=file\n"
                    for n in ("nvidia0", "nvidiactl", "nvidia-uvm"))
    return "arch: amd64\n" + rules + nodes
def write(name, container, **versions):
    m = Machine(**versions)
    m.files["/etc/pve/lxc/129.conf"] = conf(container)
    m.files["/etc/pve/lxc/130.conf"] = "arch: amd64\n"
    # Of other managers: one line each, by the names that these have for them.
    m.files["/var/lib/docker/containers/" + "ab" * 32 + "/hostconfig.json"] = json.dumps(
        {"DeviceRequests": [{"Count": -1}], "Devices": [{"PathOnHost": "/dev/nvidia0"}]})
    storage = "/var/lib/containers/storage/overlay-containers/"
    m.files[storage + "containers.json"] = json.dumps([{"id": "cd" * 32, "names": ["infer"]}])
    m.files[storage + "cd" * 32 + "/userdata/config.json"] = json.dumps(podman(container))
    m.write(name)
old = dict(uvm=504, kernel="6.8.12-4-pve", driver="570.124.06")
write("old", 504, **old)
write("new", 504, uvm=509)
write("mended", 509, uvm=509)
write("numbers", 504, **{**old, "uvm": 505})
write("driver", 504, **{**old, "driver": "570.133.20"})
m = Machine(where="container", manager="lxc") # the toolkit's key in a table that nobody reads it from
m.files["/etc/nvidia-container-runtime/config.toml"] = "[nvidia-container-runtime]\nno-cgroups = true\n"
m.write("warns")
PY

# The unit's own command, on captures.
command=$(sed -n 's/^ExecStart=//p' "$unit")
[ "${command%% *}" = /usr/local/bin/gpuvet ] || fail "the unit runs ${command%% *}"
read -ra words <<<"${command#* }"
boot() { # boot STATUS CAPTURE [OPTION…]
    local status=$1 capture=$2
    shift 2
    rm -f motd
    expect "$status" "$GPUVET" "${words[@]}" --from "$capture" --motd motd --state state "$@"
}
judged() {
    has out "judged because of a change"
    has out "$1"
    [ -s motd ] || fail "nothing is told"
}
not_judged() {
    has out "nothing to judge"
    [ ! -e motd ] || fail "it was told all the same"
}

# Against a baseline: another kernel, another driver, other numbers.
boot 0 old --baseline ./old
not_judged
boot 1 new --baseline ./old
judged "kernel 6.8.12-4-pve → 6.14.11-5-pve"
has out "driver 570.124.06 → 580.159.04"
has out "number of nvidia-uvm 504 → 509"
has out "container 129: fail (lxc.major-wrong): gpuvet doctor --fix lxc:129"
has out "Docker container abababababab: ok"
has out "Podman container infer: fail (podman.device-stale)"
lacks out "container 130"
has out "verdict after the change: fail"
has motd "fail"
has motd "container 129 allows major 504"
has motd "gpuvet doctor --fix lxc:129"
boot 1 numbers --baseline ./old
judged "number of nvidia-uvm 504 → 505"
boot 0 driver --baseline ./old
judged "driver 570.124.06 → 570.133.20"
has motd ": ok"
has motd "container 129: ok"
boot 0 mended --baseline ./old
judged "kernel"

# Without a baseline: against what was seen last, and until it is good.
rm state
boot 0 old
judged "never judged here before"
boot 0 old
not_judged
boot 1 new
judged "504 → 509"
has out "lxc.major-wrong" # what was seen last proves what 504 was
boot 1 new
judged "it failed the last time"
has out "lxc.major-wrong"
boot 0 mended
judged "it failed the last time"
boot 0 mended
not_judged
python3 - <<'PY' || fail "the state is not right"
import json
s = json.load(open("state"))
assert s["schema"] == "gpuvet.last-seen/1" and s["verdict"] == "ok", s
assert s["environment"]["chrdev.nvidia-uvm"] == 509 and s["before"]["chrdev.nvidia-uvm"] == 504, s
PY
fits() { # where there is jsonschema
    ! python3 -c 'import jsonschema' 2>/dev/null ||
        python3 "$GPUVET_SOURCE/tests/cli/check_schema.py" "$GPUVET_SOURCE/results/schema/$1.schema.json" "$2" >out 2>err ||
        fail "$2 does not fit its schema"
}
fits last-seen state
for what in "--fix lxc:129 --baseline ./old" "--fix lxc:130" "--fix udev"; do
    # shellcheck disable=SC2086
    "$GPUVET" doctor $what --from new --json >mend.json || true
    fits mend mend.json
done
# A damaged state is none.
for garbage in '' '{' '[]' '{"environment":3}' '{"verdict":{},"environment":[]}'; do
    printf '%s' "$garbage" >state
    boot 0 mended
    judged "judged here before"
done
# What cannot be told is an error, and no pass.
mkdir folder
touch file
mkfifo fifo
rm state
for where in folder file/x fifo; do
    expect 2 "$GPUVET" doctor --after-upgrade --from old --motd "$where" --state other
    one_line
    rm -f other
    expect 2 "$GPUVET" doctor --after-upgrade --from old --motd - --state "$where"
    one_line
done
[ -p fifo ] || fail "a pipe was replaced by a file"
expect 2 "$GPUVET" doctor --after-upgrade --from nowhere
one_line

# What nobody reads is refused; with --strict a warning too is a 1, and judged again.
for more in --json --verbose "--motd ''" "--state ''"; do
    expect 2 eval '"$GPUVET" doctor --after-upgrade --from old' "$more"
    one_line
done
expect 2 "$GPUVET" doctor --fix udev --from old --strict
one_line
rm -f state
boot 0 warns
has out "verdict after the change: warn"
boot 0 warns
not_judged
for _ in 1 2; do
    boot 1 warns --strict
    judged "it warned the last time"
done

# On this machine: the verdict where logins see it; and the mend knows the number that was seen before.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    . "$GPUVET_SOURCE/tests/cli/mend_rig.bash"
    host '
        pve_conf "$OLD" >/etc/pve/lxc/129.conf
        cp devices right
        sed "s/^$UVM nvidia-uvm/$OLD nvidia-uvm/" right >devices
        "$GPUVET" doctor --after-upgrade >out || true
        has out "never judged here before"
        has out "container 129: ok"
        [ -s /run/motd.d/gpuvet ] && [ -s /var/lib/gpuvet/last-seen.json ] || fail "nothing was left"
        cat right >devices
        expect 1 "$GPUVET" doctor --after-upgrade
        has out "nvidia-uvm $OLD → $UVM"
        has /run/motd.d/gpuvet "lxc:129"
        expect 0 "$GPUVET" doctor --fix lxc:129 --apply
        has out "$OLD becomes $UVM"
        "$GPUVET" doctor --after-upgrade >out || true
        has out "container 129: ok"
    ' || exit $?
fi

# What the CI files call is what the program takes.
if python3 -c 'import yaml' 2>/dev/null; then
    python3 - "$ci/gitlab-ci.yml" "$ci/github-actions.yml" <<'PY' >commands || fail "a CI file is no YAML"
import re, sys, yaml
def walk(x):
    if isinstance(x, dict):
        for v in x.values(): yield from walk(v)
    elif isinstance(x, list):
        for v in x: yield from walk(v)
    elif isinstance(x, str):
        yield from re.findall(r"^\s*gpuvet (?:run|doctor)\b[^>|;\n]*", x, re.M)
for path in sys.argv[1:]:
    for line in walk(yaml.safe_load(open(path))): print(line.strip())
PY
    [ "$(grep -c "^gpuvet run" commands)-$(grep -c "^gpuvet doctor" commands)" = 2-4 ] || fail "commands are missing"
    mkdir -p "$GPUVET_RESULTS"
    while read -r _ line; do
        read -ra words <<<"$line"
        [ "${words[0]}" = run ] && words+=(--dry-run --from "$CAPTURES/two-socket-8gpu")
        [ "${words[0]}" = run ] || words+=(--from old)
        "$GPUVET" "${words[@]}" >out 2>err </dev/null
        status=$?
        # There is no baseline here, which is said after the options were understood.
        if [ "$status" != 0 ] && ! grep -q "no baseline" err; then fail "status $status: gpuvet $line"; fi
    done <commands
else
    echo "no yaml for python3: the CI files were not read"
fi

command -v systemd-analyze >/dev/null || skip "no systemd-analyze (package systemd): the rest was good"
mkdir units
sed "s|^ExecStart=[^ ]*|ExecStart=$GPUVET|" "$unit" >units/gpuvet-after-upgrade.service
for other in nvidia-persistenced pve-guests lxc docker slurmd; do
    printf '[Service]\nExecStart=/bin/true\n' >units/$other.service
done
cp -r units bad
sed -i "s/^Type=oneshot/Type=onceshot/" bad/gpuvet-after-upgrade.service
# First that it finds anything.
SYSTEMD_UNIT_PATH=$PWD/bad: systemd-analyze verify --man=no bad/gpuvet-after-upgrade.service >out 2>&1
grep -q onceshot out || { cat out; skip "systemd-analyze verify says nothing here: the rest was good"; }
SYSTEMD_UNIT_PATH=$PWD/units: systemd-analyze verify --man=no units/gpuvet-after-upgrade.service >out 2>&1 || fail "systemd-analyze verify"
[ ! -s out ] || fail "systemd-analyze verify complains"
