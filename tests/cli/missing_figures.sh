#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A figure that does not exist is never printed as nan or inf: every output, of runs that lack what figures are made of.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
outputs=0

# look WHAT FILE…: gnuplot's scripts are programs, and have NaN as a word of their language.
look() {
    outputs=$((outputs + 1))
    ! grep -rIniwE --exclude='*.gp' -e '[-+]?(nan|inf|infinity)(x|%)?' "${@:2}" >hits || fail "$1: $(cut -c1-200 hits | head -3)"
    ! grep -qE 'Sanitizer|runtime error' err || fail "$1: the sanitizer speaks"
}
# Any of gpuvet's own statuses will do.
any() {
    local status=0
    "$GPUVET" "$@" >out 2>err || status=$?
    [ "$status" -le 3 ] || [ "$status" = 77 ] || fail "status $status: $*"
    look "$*" out err
}
# Without gnuplot but where it is asked for.
report() {
    local status=0
    rm -rf page
    PATH=$PWD/no-programs "$GPUVET" report "$@" -o page >out 2>err || status=$?
    [ "$status" -le 3 ] || fail "status $status: report $*"
    [ ! -d page ] || look "report $*" page
    look "report $*" out err
}

# What the sweep looks for, it finds.
: >err
for words in '+nan %' 'infx' '[-inf, 3]' '{"a":NaN}' 'NaN,1' 'Infinity%'; do
    echo "$words" >planted
    (look planted planted) 2>/dev/null && fail "'$words' is not found"
done
echo 'information of nanoseconds, infiniband, isNaN(x)' >planted
look planted planted
rm planted

mkdir no-programs made
for n in 1 2 3; do
    python3 "$GPUVET_SOURCE/tests/cli/make_node.py" "whole$n.jsonl" seed=$n gpus=2 rounds=8 || fail "make_node.py"
done
python3 "$GPUVET_SOURCE/tests/cli/make_degenerate.py" whole1.jsonl made || fail "make_degenerate.py"
for run in made/*.jsonl; do
    any compare whole2.jsonl "$run"
    any compare "$run" whole2.jsonl
    any compare --json --before whole1.jsonl whole2.jsonl whole3.jsonl --after "$run"
    report "$run"
    report --before whole2.jsonl --after "$run"
    report --before "$run" --after whole2.jsonl
    report "$run" whole2.jsonl whole3.jsonl
done
any baseline save kept made/one_round.jsonl
any baseline show kept
any baseline show --json kept
if command -v gnuplot >/dev/null; then
    any report --before whole2.jsonl --after made/apart_one_round.jsonl -o drawn
    [ -f drawn/index.html ] || fail "no page"
    look "drawings" drawn
fi

# One round of everything, in one place and in two.
printf '%s\n' env -i "PATH=$PATH" "HOME=$PWD" >here.argv
for places in "--in host" "--in host --in command:here.argv"; do
    # shellcheck disable=SC2086
    for flag in "" --json "--report one"; do
        rm -rf results one
        any run --simulate --from "$CAPTURES/guest-2gpu" --rounds 1 $places $flag
        any run --simulate --from "$CAPTURES/guest-2gpu" --rounds 1 $places $flag
        [ ! -d one ] || look "run --report $places" one
    done
    # shellcheck disable=SC2086
    any run --dry-run --from "$CAPTURES/guest-2gpu" --rounds 1 $places
done
run=$(last_run)
any run --simulate --from "$CAPTURES/guest-2gpu" --rounds 1 --case 'copy.h2d' --in host --in command:here.argv
has out "command:here.argv over host, 1 round in turn:"
grep -qE ' [0-9.]+ +[0-9.]+ GB/s +-  not comparable: fewer than 2 rounds have a value on both sides' out || fail "no figures beside the reason"
any compare "$run" "$(last_run)"
any report "$(last_run)" -o page
look "two places, one round" page

# Real processes: what hangs, fails, dies, or gives what is no figure; then nothing at all.
for how in hang crash negative; do
    any run --allow-busy --no-baseline --rounds 1 --case "fault@1/*how=$how}*" --case null --in host --in command:here.argv
    report "$(last_run)"
done
any run --allow-busy --no-baseline --rounds 1 --case 'fault@1/*how=crash}*'
any run --simulate --from "$CAPTURES/guest-2gpu" --rounds 1 --case 'p2p.*' --gpu 0
report "$(last_run)"

# Numbers from outside.
for number in nan inf -inf 1e999; do
    expect 2 "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --effect "copy.*=$number"
    one_line
    expect 2 "$GPUVET" run --dry-run --from "$CAPTURES/guest-2gpu" --wait-quiet "$number"
    one_line
done
mkdir empty
echo '{"schema":"gpuvet.capture/1"}' >empty/manifest.json
for capture in empty "$CAPTURES/guest-2gpu"; do
    any doctor --from "$capture"
    any doctor --from "$capture" --json
    any topo --from "$capture"
    any topo --from "$capture" --json
    any list --from "$capture"
done
any env
any env --json
echo "$outputs outputs"
