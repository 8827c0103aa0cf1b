/* SPDX-License-Identifier: Apache-2.0 */
/* One subscription in /connz and /subsz. */
#ifndef SERVER_MONITOR_SUBDETAIL_H
#define SERVER_MONITOR_SUBDETAIL_H

#include <jansson.h>
#include <stdbool.h>

struct jput;
struct sub_info;

/* Appends it to arr. with_account: with the members account and account_tag. */
void subdetail_add(struct jput *p, json_t *arr, const struct sub_info *sub, bool with_account);

#endif
