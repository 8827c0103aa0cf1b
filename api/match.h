/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of workload groups. Pure; any thread. */
#ifndef API_MATCH_H
#define API_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/* True if the text is as the pattern says, in which each '*' stands for any run of characters (also
 * none): "checkout-*". Takes time in the product of the lengths at worst. */
bool match_glob(const char *pattern, const char *text);

/* True if the literal subject is matched by the pattern of a subscription: '*' stands for one
 * token, '>' at the end for one or more. */
bool match_subject(const char *pattern, const char *subject);

/* A subject that can be subscribed to: no empty token, '>' only as the last one, no white space. */
bool match_is_subject(const char *pattern);

#endif
