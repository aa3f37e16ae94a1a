#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A machine with faults, made in a mount namespace: the capture of it has every finding, the secrets in its
# configurations stay out, and links stay links.
# shellcheck source=tests/cli/lib.sh disable=SC1091
. "$GPUVET_SOURCE/tests/cli/lib.sh"

cat >inside.sh <<'INSIDE'
set -eu
mkdir dev
mount -t tmpfs none dev
mkdir dev/shm
mknod dev/null c 1 3 && mknod dev/zero c 1 5 && mknod dev/urandom c 1 9 && chmod 666 dev/null dev/zero dev/urandom
mknod dev/nvidiactl c 195 255 && mknod dev/nvidia-uvm c 508 0 && chmod 600 dev/nvidiactl
: >dev/null && [ "$(head -c 1 dev/zero | wc -c)" = 1 ]
mount --rbind dev /dev
mount -t tmpfs none /run
mkdir -p /run/cdi /run/systemd/system
cat >/run/cdi/nvidia.yaml <<'CDI'
cdiVersion: 0.5.0
kind: nvidia.com/gpu
containerEdits:
  env: [LICENCE_TOKEN=hush]
  deviceNodes:
  - {path: /dev/nvidia-uvm, major: 508, minor: 0}
devices: []
CDI
cat >/run/systemd/system/infer.service <<'UNIT'
[Service]
Environment=API_KEY=hush
ExecStart=/usr/bin/infer --key hush
DeviceAllow=/dev/nvidia0 rw
DeviceAllow=char-nvidia-none rw
UNIT
printf 'Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n509 nvidia-uvm\n\nBlock devices:\n' >devices
mount --bind devices /proc/devices
touch ready
"$GPUVET" doctor --json --capture taken >live.json || [ $? = 1 ]
INSIDE
[ "$(id -u)" = 0 ] || skip "mounts and nodes need root"
unshare -m bash inside.sh 2>inside.err || [ -e ready ] || skip "no mounts or nodes here: $(head -1 inside.err)"
[ -s live.json ] || fail "no judgement: $(cat inside.err)"

got=0
"$GPUVET" doctor --json --from taken >captured.json 2>err || got=$?
[ "$got" = 1 ] || fail "status $got instead of 1"
diff live.json captured.json || fail "the capture is judged otherwise than the machine"
for id in uvm.major-stale cdi.major-stale unit.class-unknown; do
    has captured.json "\"$id\""
done
! grep -rq hush taken || fail "a secret is in the capture"
grep -q $'^/dev/nvidia-uvm\tc\t' taken/dev.tsv || fail "a node is not listed"
# Line numbers are those of the files.
[ "$(grep -n char-nvidia-none taken/root/run/systemd/system/infer.service | cut -d: -f1)" = 5 ] || fail "lines moved"
if [ -L /var/run ]; then
    [ -L taken/root/var/run ] || fail "a link is no link"
fi
exit 0
