#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Never hanging: a stopped process, one that ends only with the control's variable, one that cannot be killed. Each is
# called by its name within its deadline plus two seconds, and all other items are there.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
run() { expect "$1" timeout 60 "${wrap[@]}" "$GPUVET" run --allow-busy --no-baseline --rounds 1 --profile quick "${@:2}"; } # the last --rounds counts
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

# Two seconds after each deadline at most the verdict is there, whatever comes after it.
in_time() {
    python3 - "$(last_run)" <<'P' || fail "a verdict came too late"
import json, sys
records = [json.loads(line) for line in open(sys.argv[1]) if '"type":"record"' in line]
hung = [r for r in records if r["outcome"] == "hang"]
assert hung, records
for r in hung:
    assert 0 <= r["verdict_ms"] <= 2000, r
for r in records:
    assert r["outcome"] == "hang" or "verdict_ms" not in r, r
P
}

run 1 --case 'nccl.fault@1/*how=stopped}*' --case null
in_time
has err 'nccl.fault hangs: no end within 2000 ms'
look stopped '"outcome":"hang"' 'no end within 2000 ms' 'its process is stopped' \
    '"control":{"env":{"NCCL_P2P_DISABLE":"1"},"outcome":"hang"'

run 1 --case 'nccl.fault@1/*how=hangs-with-p2p}*' --case null
look hangs-with-p2p '"outcome":"hang"' '"control":{"env":{"NCCL_P2P_DISABLE":"1"},"outcome":"ok"}'

# The item ran so already: there is nothing to tell apart.
NCCL_P2P_DISABLE=1 run 0 --case 'nccl.fault@1/*how=hangs-with-p2p}*' --case null
look hangs-with-p2p '"outcome":"ok"'
NCCL_P2P_DISABLE=1 run 1 --case 'nccl.fault@1/*how=stopped}*' --case null
look stopped '"outcome":"hang"' '"outcome":"skip","reason":"the item ran with these variables already"'

# A driver in which everything hangs: CUDA and NVML are made up, and once the measuring process (which alone has
# CUDA_MODULE_LOADING) hangs in cuInit, NVML does as nvml.then says.
fakes=$GPUVET_BUILD/tests/fakes
with_driver=
if "$GPUVET" version --json | grep -q '"cuda": *true' && [ -r "$fakes/libcuda.so" ]; then
    with_driver=1
    mkdir lib
    ln -s "$fakes/libcuda.so" lib/libcuda.so.1
    export GPUVET_NVML=$fakes/libnvml.so GPUVET_LIBCUDA=$fakes/libcuda.so LD_LIBRARY_PATH=$PWD/lib
    export GPUVET_FAKE_CUDA=$PWD/cuda GPUVET_FAKE_NVML=$PWD/nvml
else
    echo "built without CUDA: no driver hangs here"
fi
# driver WORDS: what NVML does once something hangs.
driver() {
    printf 'count 2\nutilization 0\n' >nvml
    printf 'count 2\n%s\n' "$1" >nvml.then
    printf 'count 2\nhang init\nonly_with CUDA_MODULE_LOADING\nthen %s\n' "$PWD/nvml" >cuda
}
second=GPU-00000000-0000-0000-0000-000000000001
if [ -n "$with_driver" ]; then
    driver 'hang init'
    run 1 --case 'fault@1/*how=gpu-hang}*' --case null
    in_time
    look gpu-hang '"outcome":"hang"' '"gpus_answering":0' 'no answer within 5.0 s'
    # A verdict that is out is kept, also when an interrupt comes while the GPUs are asked.
    driver 'hang init'
    "$GPUVET" run --allow-busy --no-baseline --rounds 1 --case 'fault@1/*how=gpu-hang}*' >out 2>err &
    pid=$!
    for _ in $(seq 200); do grep -q 'fault hangs: no end' err && break; sleep 0.1; done
    kill -INT "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" = 130 ] || fail "status $status after an interrupt"
    grep '"type":"record"' "$(last_run)" | grep -q '"outcome":"hang"' || fail "the verdict is lost"
    # It answers, and a GPU goes on working on what nobody runs: once more would tell nothing.
    driver 'utilization 100'
    run 1 --case 'nccl.fault@1/*how=none,*' --case null
    in_time
    # Where to look stands in the run.
    has "$(last_run)" '"type":"finding","target":"host","id":"nccl.hang"'
    has "$(last_run)" 'nccl.fault (asked to go wrong: none)'
    look none '"gpus_answering":2' "\"$second\":100" '"outcome":"skip","reason":"GPU GPU-00000000-0000-0000-0000-000000000000 is still 100 % busy after the hang"'
fi

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
in_time
look hang '"outcome":"hang"' 'its process cannot be killed'
[ $((SECONDS - start)) -lt 20 ] || fail "it took $((SECONDS - start)) s"
run 1 --case 'fault@1/*how=mute}*' --case null
look mute '"outcome":"error"' 'ended its side and does not end itself while running fault; its process cannot be killed'
# Its GPU is left alone in all rounds, and the rest runs.
if [ -n "$with_driver" ]; then
    driver 'utilization 0'
    run 1 --rounds 2 --case 'fault@1/*how=gpu-*' --case null
    in_time
    python3 - "$(last_run)" <<'P' || fail "a wedged GPU was touched, or none is"
import json, sys
records = [json.loads(line) for line in open(sys.argv[1]) if '"type":"record"' in line]
on_gpu = [r for r in records if "gpu" in r["where"]]
assert [r["outcome"] for r in on_gpu] == ["hang", "skip", "skip", "skip"], on_gpu
for r in on_gpu[1:]:
    assert r["reason"].endswith("is wedged: a process that hung on it cannot be killed"), r
assert "is wedged" in on_gpu[0]["reason"], on_gpu[0]
assert [r["outcome"] for r in records if r["case"] == "null"] == ["ok", "ok"]
P
fi
exit 0
