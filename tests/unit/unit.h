/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka and the headers it wants before itself. */
#ifndef GPUVET_UNIT_UNIT_H
#define GPUVET_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* A skip says why: scripts/test.sh shows these lines. */
#define skip_because(reason)                                                                                 \
    do {                                                                                                     \
        puts("skip: " reason);                                                                               \
        skip();                                                                                              \
    } while (0)

#endif
