#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpuvet env: this machine, captures, and what is no capture.
# shellcheck source=tests/cli/lib.sh disable=SC1091
. "$GPUVET_SOURCE/tests/cli/lib.sh"

expect 0 "$GPUVET" env
has out "kernel.release = $(uname -r)"
has out "  (moves)"
LC_ALL=C sort -c out || fail "the lines are not sorted"
lacks out "SECRET"

# Variables by allow-list only.
AWS_SECRET_KEY=hush NCCL_DEBUG=WARN expect 0 "$GPUVET" env
has out "env.NCCL_DEBUG = WARN"
lacks out hush

expect 0 "$GPUVET" env --json
python3 - out <<'EOF' || fail "the JSON is not what it should be"
import json, sys
env = json.load(open(sys.argv[1]))
assert env["schema"] == "gpuvet.env/1"
assert not set(env["environment"]) & set(env["environment_volatile"])
assert "kernel.release" in env["environment"]
EOF

expect 0 "$GPUVET" env --from "$CAPTURES/two-socket-8gpu"
has out "pci.0000:01:00.0.mps = 256"
has out "pci.0000:01:00.0.link_gen = 1  (moves)"
has out "gpu.GPU-6000bbbb-0000-4000-8000-000000000007.power_limit_w = 600"

# A capture holds no more than it holds: nothing of this machine comes in.
NCCL_DEBUG=WARN expect 0 "$GPUVET" env --from "$CAPTURES/guest-2gpu"
has out "kernel.release = 6.8.0-60-generic"
lacks out NCCL_DEBUG

mkdir empty
expect 2 "$GPUVET" env --from empty
one_line
has err manifest.json
expect 2 "$GPUVET" env --from nowhere
one_line
mkdir odd
echo '{"schema":"gpuvet.capture/1"}' >odd/manifest.json
mkfifo odd/pipe
expect 2 "$GPUVET" env --from odd
one_line
has err pipe

# The generator and what is kept of it agree.
python3 "$GPUVET_SOURCE/tests/fixtures/make_captures.py" made || fail "make_captures.py"
diff -r --no-dereference made "$CAPTURES" >out || fail "tests/fixtures/captures are not what make_captures.py makes"

# A driver that hangs is told within ten seconds by each that asks it; the want of one is not told as that.
if [ -r "$GPUVET_BUILD/tests/fakes/libnvml.so" ]; then
    printf 'count 2\nhang gpu\n' >nvml
    export GPUVET_NVML=$GPUVET_BUILD/tests/fakes/libnvml.so GPUVET_FAKE_NVML=$PWD/nvml
    start=$SECONDS
    for command in 'env' 'env --json' 'run --dry-run' topo; do
        # shellcheck disable=SC2086
        timeout 20 "$GPUVET" $command >"said by $command" 2>&1 &
    done
    wait
    [ $((SECONDS - start)) -le 10 ] || fail "it took $((SECONDS - start)) s"
    for said in 'said by '*; do
        grep -q 'the NVIDIA driver (NVML): no answer within' "$said" || fail "a hang is not $said"
    done
    GPUVET_NVML=/nonexistent expect 0 "$GPUVET" env
    [ ! -s err ] || fail "the want of a driver is told as a hang"
fi
exit 0
