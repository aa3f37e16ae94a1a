/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/nccl_common.h"

NCCL_CASE(sendrecv, NCCL_SENDRECV,
          "NCCL sendrecv: each GPU sends to the next and receives from the one before");
