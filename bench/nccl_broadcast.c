/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/nccl_common.h"

NCCL_CASE(broadcast, NCCL_BROADCAST, "NCCL broadcast: every GPU ends with what the first one has");
