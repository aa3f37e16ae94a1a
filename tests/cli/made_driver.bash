# SPDX-License-Identifier: Apache-2.0
# A made-up driver for tests in a mount namespace of their own: its numbers in a list that is laid over /proc/devices, and
# its nodes in a /dev. Numbers: 195 nvidia, UVM nvidia-uvm, CAPS nvidia-caps; OLD is nobody's. No driver answers them, so a
# sound node says ENXIO.
# shellcheck shell=bash

[ "$(id -u)" = 0 ] || { echo "skip: a mount namespace with its own devices needs root"; exit 77; }
unshare -m true 2>/dev/null || { echo "skip: this user may make no mount namespace"; exit 77; }
command -v python3 >/dev/null || { echo "skip: python3 is not here"; exit 77; }

free_major() { # the first from $1 that no driver has
    local n=$1
    while grep -qE "^ *$n " /proc/devices; do n=$((n + 1)); done
    echo "$n"
}
UVM=$(free_major 330)
CAPS=$(free_major $((UVM + 1)))
OLD=$(free_major $((CAPS + 1)))
export UVM CAPS OLD

# made_devices: /proc/devices with the driver in it, as ./devices.
made_devices() {
    sed "s/^Block devices:/195 nvidia\n195 nvidiactl\n195 nvidia-modeset\n$CAPS nvidia-caps\n$UVM nvidia-uvm\n\n&/" \
        /proc/devices >devices
}

# made_nodes FOLDER: the driver's nodes as they should be.
made_nodes() {
    mknod -m 666 "$1/nvidiactl" c 195 255
    mknod -m 666 "$1/nvidia0" c 195 0
    mknod -m 666 "$1/nvidia-uvm" c "$UVM" 0
}

# made_dev FOLDER: a small /dev with them, to be moved there.
made_dev() {
    mkdir -p "$1"
    mount -t tmpfs -o mode=755 tmpfs "$1"
    cp -a /dev/null /dev/zero /dev/urandom "$1"
    [ ! -e /dev/fuse ] || cp -a /dev/fuse "$1"
    mkdir "$1/shm"
    made_nodes "$1"
}
export -f made_devices made_nodes made_dev
