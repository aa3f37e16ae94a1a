#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Never hanging: a stopped process, one that ends only with the control's variable, one that cannot be killed. Each is
# called by its name within its deadline plus two seconds, and all other items are there.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
run() { expect "$1" timeout 60 "${wrap[@]}" "$GPUVET" run --allow-busy --no-baseline --rounds 1 --profile quick "${@:2}"; }
wrap=()

# look HOW WORDS…: the record of this way, and the null case beside it.
look() {
    file=$(last_run)
    record=$(grep '"type":"record"' "$file" | grep -F "\"how\":\"$1\"")
    shift
    for words in "$@"; do
        grep -qF -- "$words" <<<"$record" || fail "'$words' is missing: $record"
    done
    grep '"type":"record"' "$file" | grep '"case":"null"' | grep -q '"outcome":"ok"' || fail "null did not run"
    grep -q '"type":"footer"' "$file" || fail "no footer"
}

run 1 --case 'nccl.fault@1/*how=stopped}*' --case null
look stopped '"outcome":"hang"' 'no end within 2000 ms' 'its process is stopped' \
    '"control":{"env":{"NCCL_P2P_DISABLE":"1"},"outcome":"hang"'

run 1 --case 'nccl.fault@1/*how=hangs-with-p2p}*' --case null
look hangs-with-p2p '"outcome":"hang"' '"control":{"env":{"NCCL_P2P_DISABLE":"1"},"outcome":"ok"}'

# The item ran so already: there is nothing to tell apart.
NCCL_P2P_DISABLE=1 run 0 --case 'nccl.fault@1/*how=hangs-with-p2p}*' --case null
look hangs-with-p2p '"outcome":"ok"'
NCCL_P2P_DISABLE=1 run 1 --case 'nccl.fault@1/*how=stopped}*' --case null
look stopped '"outcome":"hang"' '"outcome":"skip","reason":"the item ran with these variables already"'

# A process in the kernel's hands cannot be killed. Here kill(2) does nothing and says that all is well, so the one
# that hangs stays; the rest must go on without it, and nobody may wait for it.
cat >no_kill.py <<'P'
import ctypes, os, platform, struct, sys
number = {"x86_64": 62, "aarch64": 129}.get(platform.machine())
if number is None:
    sys.exit(77)
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000), (0x06, 0, 0, 0x7FFF0000)]
raw = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *c) for c in code))
program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(raw))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) != 0:
    print("skip: no seccomp filter can be set here")
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
P
status=0
python3 no_kill.py /bin/true || status=$?
[ "$status" = 77 ] && { echo "skip: seccomp filters are not to be had here: the unkillable process is left out"; exit 0; }
wrap=(python3 no_kill.py)
start=$SECONDS
run 1 --case 'fault@1/*how=hang}*' --case null
look hang '"outcome":"hang"' 'its process cannot be killed'
[ $((SECONDS - start)) -lt 20 ] || fail "it took $((SECONDS - start)) s"
exit 0
