/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/nccl_common.h"

NCCL_CASE(all_gather, NCCL_ALL_GATHER, "NCCL all_gather: every GPU ends with the parts of all");
