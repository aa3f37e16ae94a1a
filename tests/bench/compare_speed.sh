#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds compare_speed optimised and runs it: bash tests/bench/compare_speed.sh
set -eu
cd "$(dirname "$0")/../.."
program=$(mktemp)
trap 'rm -f "$program"' EXIT
cc -O2 -std=gnu17 -D_GNU_SOURCE -Iharness -I. tests/bench/compare_speed.c harness/run/record*.c \
    harness/compare/{compare,environment,print,json,label}.c harness/stats/*.c \
    harness/base/{error,text,mem,files,json,clock}.c -ljansson -lz -lm -o "$program"
"$program"
