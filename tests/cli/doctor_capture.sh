#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doctor --capture on this machine: the same findings and environment from the copy, and nothing that tells whose
# machine it is.
# shellcheck source=tests/cli/lib.sh disable=SC1091
. "$GPUVET_SOURCE/tests/cli/lib.sh"

judged() { # status 0 and 1 are both a judgement
    local got=0
    "$@" >out 2>err || got=$?
    [ "$got" = 0 ] || [ "$got" = 1 ] || fail "status $got: $*"
    return 0
}

export AWS_SECRET_KEY=hush-hush NCCL_DEBUG=WARN
judged "$GPUVET" doctor --json --capture taken
cp out live.json
judged "$GPUVET" doctor --json --from taken
diff live.json out || fail "the capture is judged otherwise than the machine"
[ "$(stat -c %a taken)" = 700 ] || fail "others can read the capture"
[ -z "$(find . -maxdepth 1 -name 'taken.part*')" ] || fail "something is left beside it"
grep -q '"recorded": true' taken/manifest.json || fail "not all was kept"
lacks taken/manifest.json incomplete

# The stable environment is the same; what needs root here needs root there.
"$GPUVET" env --json >live.env || fail "env"
expect 0 "$GPUVET" env diff live.env taken
lacks out "not visible"

# Its topology is whole without what was left out of it.
expect 0 "$GPUVET" run --dry-run --from taken --case 'host.*' --profile quick

# Nothing but files, folders and links; no file over 256 KiB in root/; no link that was followed out of it.
[ -z "$(find taken ! -type f ! -type d ! -type l)" ] || fail "odd types"
[ -z "$(find taken/root -type f -size +256k)" ] || fail "large files"
! grep -rqF hush-hush taken || fail "a secret of the environment"
if [ -s /etc/machine-id ]; then
    ! grep -rqF "$(cat /etc/machine-id)" taken || fail "the machine's id"
fi
for word in HostName Serial Address; do
    [ ! -f taken/topology.xml ] || lacks taken/topology.xml "$word"
done

# Only new or empty folders, and of this machine.
expect 2 "$GPUVET" doctor --capture taken
one_line
has err "not empty"
echo x >file
expect 2 "$GPUVET" doctor --capture file
one_line
ln -s nowhere link
expect 2 "$GPUVET" doctor --capture link
one_line
expect 2 "$GPUVET" doctor --capture new --from taken
one_line
[ ! -e new ] || fail "a capture of a capture"
expect 2 "$GPUVET" doctor --capture no/such/place
one_line
mkdir empty
judged "$GPUVET" doctor --json --capture empty
[ -f empty/manifest.json ] || fail "an empty folder is not taken"

# A capture whose writing ended early says so.
cp -r taken cut
sed -i 's/"recorded"/"incomplete": true,\n  "recorded"/' cut/manifest.json
judged "$GPUVET" doctor --json --from cut
has err "interrupted"
exit 0
