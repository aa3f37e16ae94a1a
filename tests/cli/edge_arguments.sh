#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Empty, huge and nearly right arguments: refused in one line that says what to do, never taken for something else.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
run() { expect "$1" "$GPUVET" run --simulate --from "$CAPTURES/guest-2gpu" --profile quick "${@:2}"; }
refused() {
    run 2 "$@"
    one_line
    [ ! -s out ] || fail "output of a refused run: $*"
    ! grep -q . <(find results/runs -type f 2>/dev/null) || fail "a refused run left a file: $*"
}

# A made-up effect that is mistyped would look like none.
for effect in '' copy.h2d copy.h2d=abc copy.h2d= copy.h2d=0 copy.h2d=-1 copy.h2d=nan copy.h2d=inf copy.h2d=1e308 nonesuch=0.9; do
    refused --effect "$effect"
    has err --effect
done
refused --gpu ''
refused --case ''
refused --gpu ,
refused --gpu -1
refused --gpu 18446744073709551616
refused --rounds ''
refused --rounds 1e1
refused --rounds ' 1'
refused --rounds 9223372036854775808
refused --seed 4294967296
refused --wait-quiet nan
refused --wait-quiet 1e400
refused --profile ''
refused --in ''
refused --baseline ''
refused --baseline ../x
refused --baseline x --no-baseline
has err contradict
refused --results ''
has err '--results is empty'
refused x

# However long what was typed is, what to do stands at the end.
huge=$(head -c 100000 /dev/zero | tr '\0' x)
refused --case "$huge"
has err 'gpuvet list'
# A long pattern is taken whole: stars at its beginning are not all that there is.
refused --case "${huge//x/*}x"
has err 'gpuvet list'
refused --results "$huge"
has err 'File name too long'
expect 2 "$GPUVET" "$huge"
one_line
has err 'See gpuvet --help'
expect 2 "$GPUVET" run "--$huge"
one_line
has err 'See gpuvet run --help'
expect 2 "$GPUVET" compare "$huge" "$huge"
one_line
has err 'nor a baseline'
refused --label "$huge"
has err 'longer than 1000 bytes'
run 0 --label "${huge:0:1000}"
