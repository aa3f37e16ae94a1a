#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/doctor.md is what the program says of its rules.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
expect 0 "$GPUVET" doctor --list --markdown
[ "$(grep -c '^##' out)" -gt 50 ] || fail "it says too little"
cmp -s out "$GPUVET_SOURCE/docs/doctor.md" || {
    diff "$GPUVET_SOURCE/docs/doctor.md" out | head -20 >err
    fail "docs/doctor.md is old: gpuvet doctor --list --markdown >docs/doctor.md"
}
# Every rule is in it, and nothing else.
"$GPUVET" doctor --list | awk '{ print $1 }' | while read -r id; do has out "$id"; done
