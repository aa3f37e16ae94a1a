#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A place whose folders are full, read-only or let no programs run, or that has no dd: the program goes through memory
# (perl) and leaves nothing; without perl one line with the reason, nothing left; where one folder serves, that one is
# taken.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
need_root
need nsenter dd
in_own_mounts "$@"

folders="/tmp /dev/shm /var/tmp /run"
# shellcheck disable=SC2016 # expanded in there
unshare -m sh -c 'mount --make-rprivate /; for d in $0; do mount -t tmpfs -o mode=1777,size=256m tmpfs $d; done; exec sleep 300' \
    "$folders" >/dev/null 2>&1 &
place=$!
for _ in $(seq 50); do
    [ "$(nsenter -t $place -m -- stat -f -c %T /run)" = tmpfs ] && [ "$(cat /proc/$place/comm)" = sleep ] && break
    sleep 0.1
done
inside() { nsenter -t $place -m -- sh -c "$1" || fail "cannot prepare the place"; }
remount() { inside "for d in $folders; do mount -n -o remount,$1 \$d; done"; }
printf '%s\n' nsenter -t $place -m -- >place.argv
run() { "$GPUVET" run --profile quick --rounds 2 --case null --allow-busy --no-baseline --in command:place.argv; }
left_nothing() { inside "[ -z \"\$(find $folders -name '.gpuvet*')\" ]"; }
refused() {
    expect 2 run
    one_line
    has err "$1"
    left_nothing
}
# Through memory, which needs no folder.
if command -v perl >/dev/null; then
    for how in noexec size=64k,exec; do
        remount $how
        expect 0 run
        left_nothing
        "$GPUVET" run --profile quick --rounds 1 --case 'fault@1/*how=hang}*' --allow-busy --no-baseline --in command:place.argv >out 2>err &
        pid=$!
        for _ in $(seq 200); do grep -qs '"type":"start"' results/runs/*-$pid.jsonl && break; sleep 0.1; done
        kill -9 $pid
        wait $pid 2>/dev/null
        nothing_left 20
    done
    perl=$(realpath "$(command -v perl)")
    # One that ends in the middle of the program.
    remount size=256m,noexec
    inside "mount -n -t tmpfs tmpfs /mnt; printf '#!/bin/sh\nhead -c 100000 >/dev/null\n' >/mnt/half; chmod 755 /mnt/half"
    inside "mount -n --bind /mnt/half $perl"
    refused "nor without a file: the worker ended before it greeted"
    inside "umount -n $perl; mount -n --bind /dev/null $perl"
    refused "Permission denied; nor without a file"
    remount exec
fi
remount size=64k
refused "No space left on device"
remount size=256m
remount noexec
refused "Permission denied"
remount ro,exec
refused "Read-only file system"
remount rw,exec
dd=$(realpath "$(command -v dd)")
inside "mount -n --bind /dev/null $dd"
refused dd
inside "umount -n $dd; mount -n -o remount,noexec /tmp"
expect 0 run
left_nothing
kill $place
exit 0
