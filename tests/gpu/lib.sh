#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For the scripts in this folder, which set $program, $out and GPUVET_RESULTS: the run files that $program writes.
# shellcheck shell=bash disable=SC2154

# The run file written last.
newest() { find "$GPUVET_RESULTS/runs" -name '*.jsonl' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-; }

# keep NAME [RUN]: a copy under $out of that run (the newest), as it may be published: it names the program without the folder
# that it lay in.
keep() { sed "1s#\"$program\"#\"gpuvet\"#" "${2:-$(newest)}" | gzip -9n >"$out/$1.jsonl.gz"; }
