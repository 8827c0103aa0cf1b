/* SPDX-License-Identifier: Apache-2.0 */
#include "server/config_auth.h"

#include <string.h>

#include "server/base/mem.h"

static void
free_strings(char **v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mem_free(v[i]);
    }
    mem_free(v);
}

void
config_perms_free(struct config_perms *p)
{
    if (p == NULL) {
        return;
    }
    free_strings(p->pub_allow.v, p->pub_allow.n);
    free_strings(p->pub_deny.v, p->pub_deny.n);
    free_strings(p->sub_allow.v, p->sub_allow.n);
    free_strings(p->sub_deny.v, p->sub_deny.n);
    mem_free(p);
}

void
config_user_free(struct config_user *u)
{
    if (u == NULL) {
        return;
    }
    mem_free(u->username);
    mem_free(u->password);
    config_perms_free(u->perms);
    free_strings(u->connection_types, u->n_connection_types);
    mem_free(u);
}

void
config_account_free(struct config_account *a)
{
    if (a == NULL) {
        return;
    }
    mem_free(a->name);
    config_perms_free(a->default_perms);
    mem_free(a);
}

static enum status
clone_subjects(struct config_subjects *out, const struct config_subjects *s)
{
    out->set = s->set;
    out->v = mem_alloc_array(s->n, sizeof(*out->v));
    if (out->v == NULL) {
        return ST_NOMEM;
    }
    for (; out->n < s->n; out->n++) {
        out->v[out->n] = mem_strdup(s->v[out->n]);
        if (out->v[out->n] == NULL) {
            return ST_NOMEM;
        }
    }
    return ST_OK;
}

enum status
config_perms_clone(struct config_perms **out, const struct config_perms *p)
{
    struct config_perms *copy = mem_alloc(sizeof(*copy));
    if (copy == NULL) {
        return ST_NOMEM;
    }
    copy->responses = p->responses;
    copy->responses_max = p->responses_max;
    copy->responses_expires = p->responses_expires;
    if (clone_subjects(&copy->pub_allow, &p->pub_allow) != ST_OK ||
        clone_subjects(&copy->pub_deny, &p->pub_deny) != ST_OK ||
        clone_subjects(&copy->sub_allow, &p->sub_allow) != ST_OK ||
        clone_subjects(&copy->sub_deny, &p->sub_deny) != ST_OK) {
        config_perms_free(copy);
        return ST_NOMEM;
    }
    *out = copy;
    return ST_OK;
}

static bool
same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool
same_strings(char *const *a, size_t na, char *const *b, size_t nb)
{
    for (size_t i = 0; na == nb && i < na; i++) {
        if (strcmp(a[i], b[i]) != 0) {
            return false;
        }
    }
    return na == nb;
}

static bool
same_subjects(const struct config_subjects *a, const struct config_subjects *b)
{
    return a->set == b->set && same_strings(a->v, a->n, b->v, b->n);
}

bool
config_perms_equal(const struct config_perms *a, const struct config_perms *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return same_subjects(&a->pub_allow, &b->pub_allow) &&
           same_subjects(&a->pub_deny, &b->pub_deny) &&
           same_subjects(&a->sub_allow, &b->sub_allow) &&
           same_subjects(&a->sub_deny, &b->sub_deny) && a->responses == b->responses &&
           a->responses_max == b->responses_max && a->responses_expires == b->responses_expires;
}

bool
config_user_equal(const struct config_user *a, const struct config_user *b)
{
    return same(a->username, b->username) && same(a->password, b->password) &&
           same(a->account, b->account) && a->proxy_required == b->proxy_required &&
           config_perms_equal(a->perms, b->perms) &&
           same_strings(a->connection_types, a->n_connection_types, b->connection_types,
                        b->n_connection_types);
}

bool
config_account_equal(const struct config_account *a, const struct config_account *b)
{
    return same(a->name, b->name) && a->max_conns == b->max_conns && a->max_subs == b->max_subs &&
           a->max_payload == b->max_payload && a->max_leafs == b->max_leafs &&
           config_js_account_equal(&a->js, &b->js) &&
           config_perms_equal(a->default_perms, b->default_perms);
}
