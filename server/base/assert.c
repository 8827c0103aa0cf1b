/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void
assert_fail(const char *cond, const char *file, int line, const char *func)
{
    fprintf(stderr, "sluice: bug: %s:%d: %s: assertion failed: %s\n", file, line, func, cond);
    abort();
}
