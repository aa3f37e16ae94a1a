#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A place whose folders are full, read-only or let no programs run, or that has no dd: one line with the reason, nothing
# left; where one folder serves, that one is taken.
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
refused() {
    expect 2 run
    one_line
    has err "$1"
    inside "[ -z \"\$(find $folders -name '.gpuvet*')\" ]"
}
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
inside "[ -z \"\$(find $folders -name '.gpuvet*')\" ]"
kill $place
exit 0
