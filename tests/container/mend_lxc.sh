#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A real LXC container whose rule is stale: denied inside, named by doctor, mended, restarted, and the node opens. With a
# baseline that knows the number and without one; privileged and not. /dev/nvidia-uvm is a node of the kernel's misc
# driver here, which /proc/devices then calls nvidia-uvm.
# shellcheck disable=SC2016 # the quoted scripts are expanded where they run
. "$GPUVET_SOURCE/tests/cli/lib.sh"
command -v lxc-start >/dev/null || skip "LXC (lxc-start) is not here"
[ -e /dev/fuse ] || skip "no /dev/fuse, which stands for the GPU's node"
. "$GPUVET_SOURCE/tests/cli/mend_rig.bash"

script='
    [ -e /sys/fs/cgroup/cgroup.controllers ] || skip "no cgroup v2 here, by which LXC denies devices"
    cp devices given
    sed "/ nvidia-uvm/d; s/^ *10 misc/ 10 nvidia-uvm/" given >devices # the same file, for it is mounted
    has /proc/devices "10 nvidia-uvm"
    rm /dev/nvidia-uvm; mknod -m 666 /dev/nvidia-uvm c 10 229
    mkdir /dev/pts; mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts; ln -s pts/ptmx /dev/ptmx
    for n in full random tty; do cp -a "/proc/1/root/dev/$n" /dev/ 2>/dev/null || true; done
    ln -s /proc/self/fd /dev/fd
    echo root:100000:65536 | tee /etc/subuid >/etc/subgid
    baseline "$OLD"
    R=/var/lib/lxc/root; F=/var/lib/lxc/infer/config
    mkdir -p $R/{dev,proc,sys,tmp,usr,etc,run,root,var} /var/lib/lxc/infer
    for d in bin sbin lib lib64; do ln -s usr/$d $R/$d; done
    chmod 755 /var/lib/lxc
    cat >$F <<CONF
# the one with the GPU
lxc.uts.name = infer
lxc.rootfs.path = dir:$R
lxc.mount.entry = /usr usr none rbind,ro 0 0
lxc.mount.auto = proc:mixed sys:ro cgroup:mixed
lxc.net.0.type = $NET
lxc.apparmor.profile = unconfined
lxc.pty.max = 1
lxc.tty.max = 0
lxc.cgroup2.devices.deny = a
lxc.cgroup2.devices.allow = c 1:* rwm
lxc.cgroup2.devices.allow = c 5:* rwm
lxc.cgroup2.devices.allow = c 136:* rwm
lxc.cgroup2.devices.allow = c 195:* rwm
lxc.cgroup2.devices.allow = c $OLD:* rwm
lxc.mount.entry = /dev/nvidia0 dev/nvidia0 none bind,optional,create=file 0 0
lxc.mount.entry = /dev/nvidiactl dev/nvidiactl none bind,optional,create=file 0 0
lxc.mount.entry = /dev/nvidia-uvm dev/nvidia-uvm none bind,optional,create=file 0 0
$MAP
CONF
    trap "lxc-stop -n infer -k 2>/dev/null || true" EXIT
    start() { # a user namespace gets no new /proc where something is mounted over a file of the old one
        unshare -m sh -c "umount /proc/devices; exec lxc-start -n infer -d -o $PWD/lxc.log -l INFO -- /usr/bin/sleep 300" >out 2>&1 || { cat lxc.log >>out; skip "LXC starts no container here"; }
        lxc-wait -n infer -s RUNNING -t 20 || fail "it does not run"
    }
    inside() { lxc-attach --clear-env -n infer -- /usr/bin/sh -c "(exec 3<>/dev/nvidia-uvm)" >out 2>&1; }
    start
    ! inside || fail "the node opens though its number is not allowed"
    has out "not permitted"
    "$GPUVET" doctor --json $BASELINE >out || true
    has out "$FINDING"
    expect 1 "$GPUVET" doctor --fix lxc:infer $BASELINE
    expect 0 "$GPUVET" doctor --fix lxc:infer $BASELINE --apply
    has out "Doctor on container infer: ok"
    ! inside || fail "it opens before the restart: the rule was not what denied it"
    lxc-stop -n infer -k
    start
    inside || fail "the node does not open after the mend"
    expect 0 "$GPUVET" doctor --fix lxc:infer $BASELINE
    has out "nothing is to be done"
    if [ -n "$MAP" ]; then # an unprivileged one cannot make the node that nothing gives it
        lxc-stop -n infer -k
        sed -i "/ dev\/nvidia-uvm /d" $F
        rm -f $R/dev/nvidia-uvm
        start
        ! lxc-attach --clear-env -n infer -- /usr/bin/test -c /dev/nvidia-uvm || fail "there is a node that nothing gave"
        expect 0 "$GPUVET" doctor --fix lxc:infer $BASELINE --apply
        has out "may not make itself"
        lxc-stop -n infer -k
        start
        inside || fail "the node was not given by the mend"
    fi
    [ "$NET" = none ] && [ -z "$BASELINE" ] || exit 0
    # For good: the printed program, with the lines that are printed with it.
    lxc-stop -n infer -k
    sed -i "s/c 10:/c $OLD:/" $F
    expect 1 "$GPUVET" doctor --fix lxc:infer
    sed -n "/#!\/bin\/sh/,/LXC_NAME/s/^      //p" out >/var/lib/lxc/program
    [ "$(wc -l </var/lib/lxc/program)" = 5 ] || fail "no program is printed"
    chmod 755 /var/lib/lxc/program
    sed -i "/ c 195:/d; / c $OLD:/d" $F
    sed -n "s|^      lxc.hook.pre-start = .*|lxc.hook.pre-start = /var/lib/lxc/program|p; s/^      \(lxc.include\)/\1/p" out >>$F
    cp devices right
    sed "s/^ 10 nvidia-uvm/$OLD nvidia-uvm/" right >devices
    /var/lib/lxc/program 2>/dev/null || fail "the program fails at boot"
    has /var/lib/lxc/nvidia-rules.conf "= c $OLD:* rwm"
    cat right >devices # another number, and no unit ran
    ! lxc-start -n infer -d -o lxc.log -l INFO -- /usr/bin/sleep 300 >out 2>&1 || fail "a start with old numbers goes on"
    lxc-start -n infer -d -o lxc.log -l INFO -- /usr/bin/sleep 300 >out 2>&1 || fail "the next start fails too"
    lxc-wait -n infer -s RUNNING -t 20
    inside || fail "the node does not open with the lasting way"
'
tried=0
for kind in privileged unprivileged; do
    for proof in "" "--baseline ./before"; do
        export NET=none MAP="" BASELINE=$proof FINDING=lxc.rule-missing
        [ -z "$proof" ] || FINDING=lxc.major-wrong
        if [ "$kind" = unprivileged ]; then
            NET=empty
            MAP=$(printf 'lxc.idmap = u 0 100000 65536\nlxc.idmap = g 0 100000 65536')
        fi
        rm -rf own devices before out err lxc.log
        status=0
        host "$script" || status=$?
        [ "$status" = 0 ] || [ "$status" = 77 ] || { echo "$kind, '$proof'"; tail -5 lxc.log 2>/dev/null; exit "$status"; }
        [ "$status" = 77 ] || tried=$((tried + 1))
    done
done
echo "$tried of 4 containers were mended"
[ "$tried" -gt 0 ] || skip "none of the containers could be started here"
