#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The portable program needs libc and libm only, and no symbol of a glibc after 2.35.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
grep -q 'GPUVET_PORTABLE:BOOL=ON' "$GPUVET_BUILD/CMakeCache.txt" || skip "not the portable build"
command -v readelf >/dev/null || skip "readelf is not installed"
readelf -d "$GPUVET" | grep NEEDED | grep -o '\[.*\]' >needed
grep -vE '^\[(libc\.so\.6|libm\.so\.6|ld-linux-x86-64\.so\.2)\]$' needed && fail "needs more than libc and libm"
grep -q 'libc.so.6' needed || fail "readelf shows no libc"
newest=$(readelf -V "$GPUVET" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
if [ "$(printf '%s\n' GLIBC_2.35 "$newest" | sort -V | tail -1)" != GLIBC_2.35 ]; then
    # From glibc 2.38 on the headers themselves bind strtol and others to new versions: there the program is as
    # portable as the system it was built on.
    here=$(getconf GNU_LIBC_VERSION | grep -o '[0-9.]*')
    [ "$(printf '%s\n' 2.37 "$here" | sort -V | tail -1)" = 2.37 ] ||
        skip "built on glibc $here, so it needs $newest; for other machines build on Debian 12 or Ubuntu 22.04"
    fail "needs $newest"
fi
