/* SPDX-License-Identifier: Apache-2.0 */
#include "server/proto/user_info.h"

#include <string.h>

#include "server/auth/account.h"
#include "server/auth/auth.h"
#include "server/auth/perms.h"
#include "server/base/clock.h"
#include "server/gather.h"
#include "server/net/conn.h"
#include "server/net/loop.h"

static json_t *
rules_json(const struct perm_rules *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->n && list != NULL; i++) {
        const struct perm_rule *rule = &r->v[i];
        json_array_append_new(list, rule->queue == NULL
                                        ? json_string(rule->subject)
                                        : json_sprintf("%s %s", rule->subject, rule->queue));
    }
    return list;
}

static void
add_pair(json_t *perms, const char *key, const struct perm_rules *allow,
         const struct perm_rules *deny)
{
    if (!allow->set && !deny->set) {
        return;
    }
    json_t *pair = json_object();
    if (allow->set) {
        json_object_set_new(pair, "allow", rules_json(allow));
    }
    if (deny->set) {
        json_object_set_new(pair, "deny", rules_json(deny));
    }
    json_object_set_new(perms, key, pair);
}

static json_t *
perms_json(const struct perms *p)
{
    json_t *o = json_object();
    add_pair(o, "publish", &p->pub_allow, &p->pub_deny);
    add_pair(o, "subscribe", &p->sub_allow, &p->sub_deny);
    if (p->responses) {
        json_object_set_new(o, "responses",
                            json_pack("{s:I, s:I}", "max", (json_int_t)p->responses_max, "ttl",
                                      (json_int_t)p->responses_expires));
    }
    return o;
}

struct answer {
    json_t *body; /* owned or NULL */
};

static void
ask(struct loop *l, void *part, void *query)
{
    struct answer *a = part;
    const uint64_t *cid = query;
    const struct conn *c = loop_find(l, *cid);
    if (c == NULL || c->account == NULL) {
        return;
    }
    a->body = json_pack("{s:s, s:s, s:s}", "user", c->user != NULL ? c->user->name : "", "account",
                        c->account->name, "account_name", c->account->name);
    if (c->user != NULL && c->user->perms != NULL) {
        json_object_set_new(a->body, "permissions", perms_json(c->user->perms));
    }
}

static void
drop(void *part)
{
    struct answer *a = part;
    json_decref(a->body);
}

static void
finish(void *part, void *arg)
{
    struct answer *a = part;
    json_t **out = arg;
    if (a->body != NULL) {
        *out = a->body;
    }
}

enum status
user_info_of(struct server *s, uint64_t cid, json_t **out)
{
    struct gather_spec spec = {.part_size = sizeof(struct answer),
                               .ask = ask,
                               .finish = finish,
                               .drop = drop,
                               .query = &cid,
                               .query_size = sizeof cid};
    json_t *body = NULL;
    enum status st = gather_run(s, &spec, &body);
    if (st != ST_OK) {
        return st;
    }
    *out = body;
    return body != NULL ? ST_OK : ST_NOTFOUND;
}
