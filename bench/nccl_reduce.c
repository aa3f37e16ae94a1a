/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/nccl_common.h"

NCCL_CASE(reduce, NCCL_REDUCE, "NCCL reduce: the first GPU ends with the sum over all");
