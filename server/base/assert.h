/* SPDX-License-Identifier: Apache-2.0 */
/* ASSERT is for our own bugs only: on in release, prints the place and aborts.
 * What a peer sends or what the machine runs out of is never asserted. */
#ifndef SERVER_BASE_ASSERT_H
#define SERVER_BASE_ASSERT_H

#define ASSERT(cond) ((cond) ? (void)0 : assert_fail(#cond, __FILE__, __LINE__, __func__))

_Noreturn void assert_fail(const char *cond, const char *file, int line, const char *func);

#endif
