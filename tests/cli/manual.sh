#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/gpuvet.1 is what the program says of itself, man(1) has no remark on it, and bash completes commands, options and
# choices.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
expect 0 "$GPUVET" help --man
cmp -s out "$GPUVET_SOURCE/docs/gpuvet.1" || fail "docs/gpuvet.1 is old: gpuvet help --man >docs/gpuvet.1"
if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww -k out >page 2>remarks || fail "groff"
    [ ! -s remarks ] || fail "groff has remarks: $(head -3 remarks)"
fi
for command in doctor run list compare baseline env topo report version; do
    has out "gpuvet $command"
    # Each option that --help names stands there too.
    "$GPUVET" "$command" --help >help
    while read -r option; do
        grep -qF -- "$(printf %s "$option" | sed 's/-/\\-/g')" out || fail "$command $option is not in the page"
    done < <(grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' help | grep -oE -- '--[a-z-]+' | grep -vE -- '--(help|usage)$')
done
lacks out 'gpuvet worker'

expect 0 "$GPUVET" help --completion
cp out completion
completes() { # WHAT WORDS…: what bash offers for the last of the words
    local wanted=$1
    shift
    # shellcheck disable=SC2016
    got=$(bash -c '. ./completion; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpuvet; printf "%s\n" "${COMPREPLY[@]}"' - "$@")
    [ "$got" = "$wanted" ] || fail "for '$*' bash offers '$got'"
}
completes run gpuvet ru
completes --profile gpuvet run --prof
completes standard gpuvet run --profile st
completes '' gpuvet work
exit 0
