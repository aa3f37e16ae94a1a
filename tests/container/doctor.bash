# SPDX-License-Identifier: Apache-2.0
# doctor in real containers without a GPU: this mount namespace gets a /dev in which the made-up driver
# (tests/cli/made_driver.bash) has its nodes, and a list of its numbers that is laid over /proc/devices; containers get
# both from here, and gpuvet itself is brought in through the container's own door.
# shellcheck shell=bash
# shellcheck source=../cli/doctor_rig.bash
. "$GPUVET_SOURCE/tests/cli/doctor_rig.bash"

# driver_here: once, in a mount namespace of our own. The driver's names for the containers are in ./devices.
driver_here() {
    local entry
    made_devices
    mkdir newdev
    mount -t tmpfs -o mode=755 tmpfs newdev
    for entry in /dev/*; do
        if [ -d "$entry" ] && [ ! -L "$entry" ]; then
            mkdir "newdev/${entry##*/}"
            mount --rbind "$entry" "newdev/${entry##*/}"
        else
            cp -a "$entry" newdev
        fi
    done
    mount --move newdev /dev
    host_nodes
}
# host_nodes: the driver's nodes of this machine as they should be.
host_nodes() {
    rm -rf /dev/nvidia*
    made_nodes /dev
}

# doctor_by COMMAND…: what "COMMAND doctor --json" finds, as lines in ./found.
doctor_by() {
    local status=0
    rm -f found out err
    "$@" doctor --json >out 2>err || status=$?
    [ "$status" = 0 ] || [ "$status" = 1 ] || fail "status $status from $* doctor"
    [ ! -s err ] || fail "something on stderr from $* doctor"
    list_findings || fail "no findings from $* doctor"
}
# In a mount namespace of its own once more: with something mounted below /proc the kernel lets no unprivileged container
# mount one.
on_host() { doctor_by unshare -m bash -c 'mount --bind devices /proc/devices && exec "$0" "$@"' "$GPUVET"; }

# only [ID…]: no fail or warn but these, and what a made-up driver cannot have: its library, and an answer to open().
only() {
    local line id
    while read -r line; do
        id=$(cut -d' ' -f2 <<<"$line")
        case " libs.missing nodes.open-error $* " in
            *" $id "*) ;;
            *) cat found >&2; fail "not expected: $line" ;;
        esac
    done < <(grep -E '^(fail|warn) ' found)
}
# reached [NODE…]: access to these is sound; no driver is behind them.
reached() {
    local node nodes=("$@")
    [ "$#" -gt 0 ] || nodes=(nvidiactl nvidia-uvm nvidia0)
    for node in "${nodes[@]}"; do found "fail nodes.open-error" "/dev/$node has the right numbers" ENXIO; done
}
