/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/nccl_common.h"

NCCL_CASE(reduce_scatter, NCCL_REDUCE_SCATTER,
          "NCCL reduce_scatter: each GPU ends with its part of the sum over all");
