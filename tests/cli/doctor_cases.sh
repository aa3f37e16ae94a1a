#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every public report and every row of the fault matrix, as captures: the true cause, the right remedy, no wrong one.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip "python3 writes the captures, and is not here"
python3 "$GPUVET_SOURCE/tests/fixtures/doctor/run_cases.py" "$GPUVET" "$PWD" >out 2>err || fail "doctor was wrong"
cat out
