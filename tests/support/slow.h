/* SPDX-License-Identifier: Apache-2.0 */
/* How much less a long test does where a sanitizer slows it down. */
#ifndef TESTS_SUPPORT_SLOW_H
#define TESTS_SUPPORT_SLOW_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SLOW_BUILD 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SLOW_BUILD 1
#endif

#ifdef SLOW_BUILD
#define SLOW_FACTOR 20u
#else
#define SLOW_FACTOR 1u
#endif

#endif
