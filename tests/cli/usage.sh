#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command line itself: help, nearest names, statuses.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
# What nobody reads is refused, so that nobody waits for it to matter.
for words in '--man --completion' '--completion run' '--man x' 'run list' 'run --man'; do
    # shellcheck disable=SC2086
    expect 2 "$GPUVET" help $words
    one_line
    has err 'one word too many'
done

expect 0 "$GPUVET" --help
# Asking help for help is no mistake either.
for word in --help -h; do
    expect 0 "$GPUVET" help "$word"
    has out "Usage: gpuvet COMMAND"
done
for c in run list compare baseline env version; do
    has out "  $c "
    expect 0 "$GPUVET" "$c" --help
    has out "Usage"
    expect 0 "$GPUVET" --help
done
lacks out worker
expect 2 "$GPUVET"
expect 2 "$GPUVET" comapre
one_line
has err "did you mean compare"
expect 2 "$GPUVET" env --jsno
one_line
has err "--json"
expect 2 "$GPUVET" env surplus
one_line
expect 0 "$GPUVET" version
has out gpuvet
expect 0 "$GPUVET" version --json
has out build_id
expect 0 "$GPUVET" list
for c in host.wake host.frequency launch.latency copy.h2d copy.d2h copy.latency memory.copy; do has out "$c"; done
lacks out fault
[ -c /dev/full ] && { "$GPUVET" list >/dev/full 2>err; [ $? = 2 ] || fail "a full disk behind stdout goes unnoticed"; }
expect 0 "$GPUVET" run --dry-run --from "$CAPTURES/two-socket-8gpu"
has out "12 rounds"
