/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/item.h"

struct apiq_item *
apiq_fallen_pop(struct list_node *fallen)
{
    struct list_node *n = list_pop_front(fallen);
    return n == NULL ? NULL : LIST_ENTRY(n, struct apiq_item, link);
}
