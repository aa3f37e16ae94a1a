#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The version of an NCCL whose file's name has none is read from the file, whatever the file is.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
mkdir lib
version() { # WANT
    LD_LIBRARY_PATH=$PWD/lib expect 0 "$GPUVET" env --json
    python3 - "$1" <<'P' || fail "the version is not $1"
import json, sys
found = json.load(open("out"))
found = found.get("environment", found)
assert found["lib.nccl.path"].endswith("/lib/libnccl.so.2"), found["lib.nccl.path"]
assert found.get("lib.nccl.version") == (sys.argv[1] or None), found.get("lib.nccl.version")
P
}
printf 'ELF NCCL version mismatch \0NCCL version \0\1\2NCCL version 2.27.5+cuda12.9\0' >lib/libnccl.so.2
version 2.27.5
printf 'NCCL version ' >lib/libnccl.so.2
version ""
printf 'NCCL version 2.99999999999999999999999999999999999999999' >lib/libnccl.so.2
version 2.9999999999999999999999
printf 'x' >lib/libnccl.so.2
version ""
exit 0
