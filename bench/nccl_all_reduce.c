/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/nccl_common.h"

NCCL_CASE(all_reduce, NCCL_ALL_REDUCE, "NCCL all_reduce: every GPU ends with the sum over all of them");
