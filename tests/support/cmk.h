/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with the headers it needs in front of it; tests include this and never cmocka.h. */
#ifndef TESTS_SUPPORT_CMK_H
#define TESTS_SUPPORT_CMK_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
