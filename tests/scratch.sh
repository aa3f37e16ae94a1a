#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one test script in a new folder, which is removed afterwards.
set -u
script=$(realpath "$1")
folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuvet-test.XXXXXX") || exit 1
trap 'chmod -R u+rwX "$folder" 2>/dev/null; rm -rf "$folder" 2>/dev/null || { sleep 2; rm -rf "$folder"; }' EXIT
cd "$folder" || exit 1
bash "$script"
