/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth/account.h"

#include <stdatomic.h>

#include "server/base/mem.h"

enum status
account_new(struct account **out, const char *name, uint64_t key)
{
    struct account *a = mem_alloc(sizeof *a);
    if (a == NULL) {
        return ST_NOMEM;
    }
    a->name = mem_strdup(name);
    if (a->name == NULL) {
        goto err_after_account;
    }
    if (sublist_new(&a->subs) != ST_OK) {
        goto err_after_name;
    }
    a->key = key;
    atomic_init(&a->max_conns, -1);
    atomic_init(&a->max_subs, -1);
    atomic_init(&a->max_payload, -1);
    *out = a;
    return ST_OK;

err_after_name:
    mem_free(a->name);
err_after_account:
    mem_free(a);
    return ST_NOMEM;
}

void
account_free(struct account *a)
{
    if (a == NULL) {
        return;
    }
    sublist_free(a->subs);
    mem_free(a->name);
    mem_free(a);
}
