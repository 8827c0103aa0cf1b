/* SPDX-License-Identifier: Apache-2.0 */
/* The out-of-memory sweep of a constructor: its first allocation fails, then its second, and so on
 * until none of it does. */
#ifndef TESTS_SUPPORT_OOM_H
#define TESTS_SUPPORT_OOM_H

#include "server/base/status.h"

/* make must give ST_NOMEM and leave no block behind each time, then ST_OK; unmake frees all. */
void oom_sweep(enum status (*make)(void *arg), void (*unmake)(void *arg), void *arg);

#endif
