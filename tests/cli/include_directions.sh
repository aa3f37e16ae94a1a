#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who may include whom, and that a third-party header stays in the file that wraps it.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
cd "$GPUVET_SOURCE" || exit 1

# may FOLDER "ALLOWED…": first path parts of what its files include between quotes.
bad=0
may() {
    local folder=$1 file header part
    while IFS=: read -r file header; do
        part=${header%%/*}
        case " $2 " in
            *" $part "*) ;;
            *)
                case "$header" in
                    run/record.h) [ "${3:-}" = record ] && continue ;;
                    gpuvet_build.h) [ "$file" = harness/base/build.c ] && continue ;;
                esac
                echo "$file must not include $header"
                bad=1
                ;;
        esac
    done < <(grep -rHoE '^#include "[^"]+"' "$folder" | sed 's/#include "//; s/"$//')
}
may harness/base "base"
may harness/stats "stats base"
may harness/system "system base"
may harness/gpu "gpu system base kernels"
may harness/target "target system base"
may harness/run "run target gpu system stats base bench"
may bench "bench run gpu system stats base kernels"
may harness/compare "compare stats base" record
may kernels "kernels"
may harness/doctor "doctor system base"
may harness/report "report stats base" record
may harness/cli "cli base stats system gpu run bench target compare doctor report"

# only HEADER "FILES…"
only() {
    while IFS= read -r file; do
        case " $2 " in
            *" $file "*) ;;
            *) echo "$file must not include $1"; bad=1 ;;
        esac
    done < <(grep -rlE "^#include <$1>" harness bench kernels)
}
only jansson.h "harness/base/json.c"
only argp.h "harness/base/options.c"
only hwloc.h "harness/system/topology.c"
only numa.h "harness/system/pin.c"
only numaif.h "harness/system/pin.c"
only zlib.h "harness/run/record_read.c"
only sha2.h "harness/base/hash.c"
only yaml.h "harness/base/yaml.c"
[ "$(grep -rlE '#include <cuda_runtime' harness | grep -cv '^harness/gpu/')" = 0 ] || { echo "CUDA outside harness/gpu"; bad=1; }
[ "$bad" = 0 ] || fail "an include goes against the directions"

# The only header of run/ that includes bench/ names the cases.
[ "$(grep -rlE '^#include "bench/' harness/run)" = harness/run/case.c ] || fail "run/ knows bench/ elsewhere"
