/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka and the headers it wants before itself. */
#ifndef GPUVET_UNIT_UNIT_H
#define GPUVET_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
