#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doctor --fix on plain files: what is kept of a file, what is refused, and what is only shown.
# shellcheck disable=SC2016 # the quoted scripts are expanded where they run
. "$GPUVET_SOURCE/tests/cli/lib.sh"
. "$GPUVET_SOURCE/tests/cli/mend_rig.bash"

# Misuse says so, without root and without a container.
for words in "--apply" "--motd x" "--fix lxc:1 --after-upgrade" "--fix cdi --apply" "--fix lxc:1 --capture x"; do
    # shellcheck disable=SC2086
    expect 2 "$GPUVET" doctor $words
    one_line
done

# What cannot be mended is told so, and not looked for among LXC's containers.
for what in docker:a podman:a LXC:a ssh:a :a ''; do
    expect 2 "$GPUVET" doctor --fix "$what"
    one_line
    has err 'lxc:NAME, udev and cdi'
done

lxc='
    mkdir -p /var/lib/lxc/infer /etc/lxc
    F=/var/lib/lxc/infer/config
    plain() { printf "lxc.uts.name = infer\nlxc.cgroup2.devices.deny = a\nlxc.cgroup.devices.deny = a\n$KEY = c 195:* rwm\n$KEY = c $1:* rwm\n" >$F; }
    plain "$OLD"
    baseline "$OLD"
    fix() { expect "$1" "$GPUVET" doctor --fix lxc:infer --baseline ./before "${@:2}"; }
    refused() { fix 2 --apply; one_line; has err "$1"; [ ! -e /var/lib/gpuvet ] || fail "a backup of what was refused"; }
'
# Kept: mode, owner, attributes, line ends, a missing end; and nothing is written without --apply.
host "$lxc"'
    printf "lxc.cgroup2.devices.deny = a\r\nlxc.cgroup.devices.deny = a\r\n%s = c 195:* rwm\r\n\t%s =  c\t%s:0   rwm \r\nlxc.uts.name = infer" \
        "$KEY" "$KEY" "$OLD" >$F
    chown 12345:54321 $F
    chmod 4640 $F
    attribute=0
    python3 -c "import os, sys; os.setxattr(sys.argv[1], \"trusted.x\", b\"kept\")" $F 2>/dev/null && attribute=1
    cp $F was
    before=$(stat -c "%i %Y %a %u %g" $F)
    fix 1
    cmp was $F
    [ "$before" = "$(stat -c "%i %Y %a %u %g" $F)" ] && [ ! -e /var/lib/gpuvet ] || fail "a look changes something"
    fix 0 --apply
    sed "s/$OLD:0/$UVM:0/" was | cmp - $F
    [ "$(stat -c "%a %u %g" $F)" = "4640 12345 54321" ] || fail "mode or owner are lost"
    [ $attribute = 0 ] || python3 -c "import os, sys; assert os.getxattr(sys.argv[1], \"trusted.x\") == b\"kept\"" $F
    [ "$(ls -A /var/lib/lxc/infer)" = config ] || fail "something was left"
    cmp was /var/lib/gpuvet/backup/var-lib-lxc-infer-config.*
    [ "$(stat -c %a /var/lib/gpuvet/backup/*)" = 600 ] || fail "the backup may be read by others"
    has out "lxc-stop -n infer && lxc-start -n infer"
' || exit $?

# Without proof: the rule stays, the needed one comes after it; the name alone will do; a second time there is nothing.
host "$lxc"'
    cp $F was
    expect 0 "$GPUVET" doctor --fix infer --apply
    { cat was; echo "$KEY = c $UVM:* rwm"; } | cmp - $F
    has out "$OLD:* rwm) stays: stale"
    cp $F was
    expect 0 "$GPUVET" doctor --fix infer --apply
    has out "nothing is to be done"
    cmp was $F
' || exit $?

# A GPU that is bound and denied, MIG instances likewise, and a node that an unprivileged container may not make.
host "$lxc"'
    mknod -m 666 /dev/nvidia1 c 195 1
    bind() { printf "lxc.mount.entry = /dev/%s dev/%s none bind,optional,create=file 0 0\n" "$1" "$1"; }
    printf "lxc.uts.name = infer\nlxc.idmap = u 0 100000 65536\nlxc.idmap = g 0 100000 65536\n" >$F
    printf "lxc.cgroup2.devices.deny = a\nlxc.cgroup.devices.deny = a\n" >>$F
    printf "$KEY = c %s rwm\n" "195:255" "195:0" "$UVM:*" >>$F
    { bind nvidiactl; bind nvidia0; bind nvidia1; bind nvidia-caps/nvidia-cap21; } >>$F
    cp $F was
    "$GPUVET" doctor >said 2>&1 || true
    has said "--fix lxc:infer"
    expect 1 "$GPUVET" doctor --fix lxc:infer
    cmp was $F
    (cd / && patch -s -p1 -o "$HERE/patched") <out
    expect 0 "$GPUVET" doctor --fix lxc:infer --apply
    cmp patched $F
    [ "$(diff was $F | grep "^[<>]")" = "> $KEY = c 195:1 rwm
> lxc.mount.entry = /dev/nvidia-uvm dev/nvidia-uvm none bind,optional,create=file 0 0" ] || { diff was $F >out; fail "other lines"; }
    expect 0 "$GPUVET" doctor --fix lxc:infer --apply
    has out "nothing is to be done"
    mkdir -p driver/nvidia/capabilities/gpu0/mig/gi1
    if [ -d /proc/driver ] && mount --bind driver /proc/driver 2>/dev/null; then
        expect 0 "$GPUVET" doctor --fix lxc:infer --apply
        has $F "$KEY = c $CAPS:21 rwm"
        lacks $F "$CAPS:*"
    fi
' || exit $?

# Edited where the rule is; who else reads that file is said.
host "$lxc"'
    printf "lxc.cgroup2.devices.deny = a\nlxc.cgroup.devices.deny = a\nlxc.include = /etc/lxc/gpu.conf\n" >$F
    mkdir /var/lib/lxc/other
    cp $F /var/lib/lxc/other/config
    printf "%s = c 195:* rwm\n%s = c %s:* rwm\n" "$KEY" "$KEY" "$OLD" >/etc/lxc/gpu.conf
    cp $F was
    fix 0 --apply
    cmp was $F
    has /etc/lxc/gpu.conf "$KEY = c $UVM:* rwm"
    has out "container other includes /etc/lxc/gpu.conf too"
' || exit $?

# Refused: links, more names than one, something that is no file, too large, another user, no such container.
host "$lxc"'
    mv $F /run/real; ln -s /run/real $F; refused "is a link"; rm $F; mv /run/real $F
    ln $F /var/lib/lxc/second; refused "hard links"; rm /var/lib/lxc/second
    mkdir /var/lib/real; cp -a /var/lib/lxc/infer /var/lib/real/; rm -r /var/lib/lxc; ln -s real /var/lib/lxc
    refused "through a link"
    rm /var/lib/lxc; mv /var/lib/real /var/lib/lxc
    { echo; head -c 300000 /dev/zero | tr "\\0" "#"; } >>$F; refused "larger than"
    plain "$OLD"; printf "\\0\n" >>$F; refused NUL
    plain "$OLD"
    expect 2 "$GPUVET" doctor --fix lxc:infre --apply
    one_line
    has err lxc:infer
    expect 2 "$GPUVET" doctor --fix lxc:infer --from ./before --apply
    one_line
    cp "$GPUVET" /dev/gpuvet
    expect 2 setpriv --reuid 1000 --regid 1000 --clear-groups /dev/gpuvet doctor --fix lxc:infer --apply
    has err "needs root"
    grep -v " nvidia-uvm" devices >without
    mount --bind without /proc/devices
    fix 2
    one_line
    has err "load the driver first"
' || exit $?
host "$lxc"'
    rm $F
    mkfifo $F
    expect 2 timeout 20 "$GPUVET" doctor --fix lxc:infer --apply
    one_line
' || exit $?

# Refused by the file system, with the old file as it was and no copy of it left: read-only, no room for the copy.
host "$lxc"'
    cp $F was
    mount --bind /var/lib/lxc /var/lib/lxc
    mount -o remount,ro,bind /var/lib/lxc
    fix 2 --apply
    one_line
    has err "Read-only"
    umount /var/lib/lxc
    [ -z "$(ls -A /var/lib/gpuvet/backup)" ] || fail "a copy of what was not changed"
    mount -t tmpfs -o size=4k tmpfs /var/lib/gpuvet/backup
    head -c 4096 /dev/zero >/var/lib/gpuvet/backup/all
    fix 2 --apply
    one_line
    has err "No space"
    [ "$(ls -A /var/lib/gpuvet/backup)" = all ] || fail "half a copy is left"
    cmp was $F
    [ "$(ls -A /var/lib/lxc/infer)" = config ] || fail "something was left"
' || exit $?

# What cannot be shown is not done.
host "$lxc"'
    cp $F was
    mknod -m 666 /dev/full c 1 7
    got=0
    "$GPUVET" doctor --fix lxc:infer --baseline ./before --apply >/dev/full 2>err || got=$?
    [ "$got" = 2 ] || fail "status $got"
    one_line
    has err "standard output"
    cmp was $F
' || exit $?

# Killed at any moment: the old file or the new one, and the next mend is not hindered.
host "$lxc"'
    cp $F was
    sed "s/c $OLD/c $UVM/" was >new
    old=0
    for delay in 01 02 03 04 05 06 07 08 09 10 11 12 14 16 18 20 25 30 40; do
        cat was >$F
        "$GPUVET" doctor --fix lxc:infer --baseline ./before --apply >/dev/null 2>&1 &
        sleep 0.$delay
        kill -9 $! 2>/dev/null || true
        wait $! 2>/dev/null || true
        cmp -s was $F || cmp -s new $F || fail "killed after 0.$delay s, it is neither the old nor the new one"
        cmp -s new $F || old=$((old + 1))
    done
    [ "$old" -lt 19 ] || fail "it never came to writing: nothing was tried"
    cat was >$F
    fix 0 --apply
    cmp new $F
' || exit $?

# A rule of udev's is shown as a difference, of a package's file to one under /etc; CDI's command.
host '
    mkdir -p /etc/udev/rules.d /etc/cdi
    printf "# x\nKERNEL==\"nvidia\", RUN+=\"/bin/mknod -m 666 /dev/nvidia-uvm c %s 0\"\n# y\n" "$OLD" >/etc/udev/rules.d/99-nvidia.rules
    cp /etc/udev/rules.d/99-nvidia.rules was
    printf "cdiVersion: \"0.5.0\"\nkind: nvidia.com/gpu\ndevices: []\ncontainerEdits:\n  deviceNodes:\n  - path: /dev/nvidia-uvm\n    major: %s\n    minor: 0\n" "$OLD" >/etc/cdi/nvidia.yaml
    expect 1 "$GPUVET" doctor --fix udev
    cmp was /etc/udev/rules.d/99-nvidia.rules
    patch -s -o patched was <out
    has patched "nvidia-modprobe -u -c 0"
    lacks patched mknod
    has out "udevadm control --reload"
    expect 1 "$GPUVET" doctor --fix cdi
    has out "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
    expect 1 "$GPUVET" doctor --fix cdi --json
    python3 -m json.tool out >/dev/null
    rm /etc/cdi/nvidia.yaml /etc/udev/rules.d/99-nvidia.rules
    expect 0 "$GPUVET" doctor --fix cdi
    expect 0 "$GPUVET" doctor --fix udev
' || exit $?

# For machines.
host "$lxc"'
    fix 0 --apply --json
    python3 -c "
import json
m = json.load(open(\"out\"))
assert m[\"schema\"] == \"gpuvet.mend/1\" and m[\"applied\"] and m[\"verdict\"] == \"ok\", m
assert m[\"files\"][0][\"diff\"].startswith(\"--- \") and m[\"files\"][0][\"backup\"], m"
' || exit $?
