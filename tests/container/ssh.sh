#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Over ssh, to an sshd of our own on this machine with keys of its own.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
need ssh ssh-keygen python3
sshd=$(PATH=$PATH:/usr/sbin command -v sshd) || skip "sshd is not installed"
need_root
in_own_mounts "$@"
mkdir -p bin keys /run/sshd
chmod 700 . keys
ssh-keygen -q -t ed25519 -N '' -f keys/host
ssh-keygen -q -t ed25519 -N '' -f keys/user
cp keys/user.pub keys/authorized
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >sshd_config <<X
Port $port
ListenAddress 127.0.0.1
HostKey $PWD/keys/host
AuthorizedKeysFile $PWD/keys/authorized
PidFile $PWD/sshd.pid
StrictModes no
UsePAM no
PasswordAuthentication no
X
echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 keys/host.pub)" >keys/known
cat >ssh_config <<X
Host node-a
    HostName 127.0.0.1
    Port $port
    User $(id -un)
    IdentityFile $PWD/keys/user
    IdentitiesOnly yes
    UserKnownHostsFile $PWD/keys/known
X
# The user's configuration file, as gpuvet's ssh would read it.
printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$PWD/ssh_config" >bin/ssh
chmod 755 bin/ssh
PATH=$PWD/bin:$PATH
"$sshd" -f "$PWD/sshd_config" -D -E sshd.log &
daemon=$!
trap 'kill $daemon 2>/dev/null' EXIT
for _ in $(seq 50); do ssh -o BatchMode=yes node-a true 2>/dev/null && break; sleep 0.1; done
ssh -o BatchMode=yes node-a true 2>ssh.err || skip "no login over ssh here: $(tail -1 ssh.err)"
measure ssh:node-a
host_cases ssh:node-a
hang_and_kill ssh:node-a /tmp

# No folder there lets a program run: it goes through memory, and leaves nothing either.
if command -v perl >/dev/null; then
    kill $daemon
    wait $daemon
    without_exec "$sshd" -f "$PWD/sshd_config" -E sshd.log
    for _ in $(seq 50); do ssh -o BatchMode=yes node-a true 2>/dev/null && break; sleep 0.1; done
    daemon=$(cat sshd.pid)
    cp "$(type -P true)" true
    ssh node-a true || fail "no login to the second sshd"
    # shellcheck disable=SC2029 # the same folder there
    ! ssh node-a "$PWD/true" 2>/dev/null || fail "a program runs from /tmp there"
    measure ssh:node-a
    nothing_left 15 /tmp
fi
expect 2 "$GPUVET" run --rounds 1 --case null --allow-busy --in ssh:nonesuch.invalid
one_line
expect 2 "$GPUVET" run --rounds 1 --case null --allow-busy --in ssh:-oProxyCommand=false
one_line
