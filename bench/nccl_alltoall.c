/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/nccl_common.h"

NCCL_CASE(alltoall, NCCL_ALLTOALL, "NCCL alltoall: each GPU sends each other one a part of its own");
