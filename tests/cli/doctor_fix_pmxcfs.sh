#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Mending in /etc/pve/lxc, on a file system that behaves as Proxmox's does.
# shellcheck disable=SC2016 # the quoted scripts are expanded where they run
. "$GPUVET_SOURCE/tests/cli/lib.sh"
[ -e /dev/fuse ] || skip "no /dev/fuse: no cluster file system to write on"
. "$GPUVET_SOURCE/tests/cli/mend_rig.bash"

mount_cluster='
    mkdir -p confs; pve_conf "$OLD" >confs/129.conf; pve_conf "$UVM" >confs/130.conf
    python3 "$GPUVET_SOURCE/tests/cli/pmxcfs.py" confs /etc/pve log 2>why || { cat why; exit 77; }
    baseline "$OLD"
    C=/etc/pve/lxc/129.conf
    fix() { expect "$1" "$GPUVET" doctor --fix lxc:129 --baseline ./before "${@:2}"; }
    unchanged() { cmp confs/129.conf $C && [ "$(ls /etc/pve/lxc)" = "129.conf
130.conf" ] || fail "something was left or changed"; }
'
host "$mount_cluster
    # First that it refuses what the real one refuses.
    ! chmod 600 \$C 2>/dev/null || fail 'chmod works'
    ! chown 1:1 \$C 2>/dev/null || fail 'chown works'
    ! ln \$C /etc/pve/lxc/x 2>/dev/null || fail 'hard links work'
    ! touch /etc/pve/lxc/.x 2>/dev/null || fail 'hidden names work'
    [ -L /etc/pve/lxc ] || fail 'no link'
    : >log

    fix 1
    unchanged
    [ ! -e /var/lib/gpuvet ] || fail 'a look writes something'
    cp out shown
    fix 0 --apply
    sed \"5s/$OLD/$UVM/\" confs/129.conf | cmp - \$C || fail 'the file is not what it should be'
    patch -p0 -s -o patched confs/129.conf <shown && cmp patched \$C || fail 'what was shown is not what was made'
    backup=\$(echo /var/lib/gpuvet/backup/*)
    cmp \"\$backup\" confs/129.conf || fail 'the backup is not the old file'
    has out \"\$backup\"
    has out 'pct stop 129 && pct start 129'
    has out 'Doctor on container 129: ok'
    [ \"\$(ls /etc/pve/lxc)\" = '129.conf
130.conf' ] || fail 'something was left beside it'
    grep -qE '^create 129.conf.tmp.[0-9]+\$' log || fail 'not written beside'
    grep -qE '^rename 129.conf.tmp.[0-9]+ 129.conf\$' log || fail 'not renamed'
    fix 0 --apply
    has out 'nothing is to be done'
    [ \"\$(ls /var/lib/gpuvet/backup | wc -l)\" = 1 ] || fail 'a backup of nothing'
" || exit $?

# Changed by somebody else between reading and renaming: refused, nothing left.
host "$mount_cluster
    touch meanwhile
    fix 2 --apply
    one_line
    has err 'changed meanwhile'
    rm meanwhile
    { cat confs/129.conf; echo '# somebody else'; } | cmp - \$C || fail 'it was overwritten'
    [ \"\$(ls /etc/pve/lxc | wc -l)\" = 2 ] || fail 'something was left'
" || exit $?

# Changed while Proxmox's lock was waited for; then the lock is never given back.
host "$mount_cluster
    mkdir -p /run/lock/lxc
    flock /run/lock/lxc/pve-config-129.lock bash -c 'touch held; sleep 1.5; echo \"# pct\" >>/etc/pve/lxc/129.conf' &
    while [ ! -e held ]; do sleep 0.05; done
    fix 2 --apply
    has err 'changed meanwhile'
    { cat confs/129.conf; echo '# pct'; } | cmp - \$C || fail 'it was overwritten'
    [ ! -e /var/lib/gpuvet ] || fail 'a backup of what was not changed'
    wait
    rm held
    flock /run/lock/lxc/pve-config-129.lock bash -c 'touch held; exec sleep 30' &
    while [ ! -e held ]; do sleep 0.05; done
    fix 2 --apply
    one_line
    has err pve-config-129.lock
    kill \$!
" || exit $?

# A disk that is full, a cluster without quorum.
for what in full:'No space' noquorum:pvecm; do
    rm -f full noquorum meanwhile
    host "$mount_cluster
    touch ${what%%:*}
    fix 2 --apply
    one_line
    has err '${what##*:}'
    rm ${what%%:*}
    [ \"\$(ls /etc/pve/lxc | head -2 | tail -1)\" = 130.conf ] || rm -f /etc/pve/lxc/*.tmp.*
    unchanged
" || exit $?
done

# Locked by Proxmox for a backup; the link leads elsewhere.
host "$mount_cluster
    echo 'lock: backup' | cat - confs/129.conf >\$C
    fix 2 --apply
    one_line
    has err 'lock: backup'
" || exit $?
host '
    rmdir /etc/pve/lxc; mkdir /run/elsewhere; pve_conf "$OLD" >/run/elsewhere/129.conf; ln -s /run/elsewhere /etc/pve/lxc
    expect 2 "$GPUVET" doctor --fix lxc:129 --apply
    one_line
    has err /run/elsewhere
    pve_conf "$OLD" | cmp - /run/elsewhere/129.conf
' || exit $?

# A cluster file system that is there and does not answer: said, in time.
sed "s/^    while True:/    time.sleep(60)\n    while True:/" "$GPUVET_SOURCE/tests/cli/pmxcfs.py" >dead.py
host '
    mkdir -p confs
    python3 dead.py confs /etc/pve log 2>why || { cat why; exit 77; }
    expect 2 timeout 30 "$GPUVET" doctor --fix lxc:129 --apply
    one_line
    has err "/etc/pve does not answer"
    umount -l /etc/pve
' || exit $?
