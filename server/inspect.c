/* SPDX-License-Identifier: Apache-2.0 */
#include "server/inspect.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "server/auth/account.h"
#include "server/base/mem.h"
#include "server/gather.h"
#include "server/net/closed.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/net/snapshot.h"
#include "server/priv.h"

void
conn_info_fini(struct conn_info *v)
{
    mem_free(v->account);
    mem_free(v->user);
    mem_free(v->name);
    mem_free(v->lang);
    mem_free(v->version);
    mem_free(v->reason);
    inspect_free_subs(v->subs, v->n_subs);
    *v = (struct conn_info){0};
}

void
inspect_free_conns(struct conn_info *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        conn_info_fini(&v[i]);
    }
    mem_free(v);
}

void
inspect_free_subs(struct sub_info *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mem_free(v[i].account);
        mem_free(v[i].subject);
        mem_free(v[i].queue);
        mem_free(v[i].sid);
    }
    mem_free(v);
}

/* One loop's share, and the whole. */
struct conn_list {
    struct conn_info *v; /* owned */
    size_t n, cap;
    enum status st;
};

/* Takes what info owns, also on failure. */
static void
append(struct conn_list *list, struct conn_info *info)
{
    if (list->n == list->cap) {
        size_t cap = list->cap > 0 ? list->cap * 2 : 32;
        struct conn_info *v = mem_realloc(list->v, cap * sizeof *v);
        if (v == NULL) {
            conn_info_fini(info);
            list->st = ST_NOMEM;
            return;
        }
        list->v = v;
        list->cap = cap;
    }
    list->v[list->n++] = *info;
}

/* The query as it travels: texts by value. */
struct conn_query {
    struct inspect_query q;
    bool by_account, by_user;
    char account[256];
    char user[256];
};

static bool
wanted(const struct conn_query *q, const struct conn_info *info)
{
    return (q->q.cid == 0 || info->cid == q->q.cid) &&
           (!q->by_account || strcmp(info->account, q->account) == 0) &&
           (!q->by_user || strcmp(info->user, q->user) == 0);
}

static void
dup_text(char **text)
{
    *text = *text != NULL ? mem_strdup(*text) : NULL;
}

/* A copy of a closed one. */
static enum status
copy_closed(const struct conn_info *from, bool subs, struct conn_info *out)
{
    *out = *from;
    out->subs = NULL;
    out->n_subs = 0;
    dup_text(&out->account);
    dup_text(&out->user);
    dup_text(&out->name);
    dup_text(&out->lang);
    dup_text(&out->version);
    dup_text(&out->reason);
    bool ok = out->account != NULL && out->user != NULL && out->name != NULL && out->lang != NULL &&
              out->version != NULL && out->reason != NULL;
    if (ok && subs && from->n_subs > 0) {
        out->subs = mem_alloc_array(from->n_subs, sizeof *out->subs);
        ok = out->subs != NULL;
        for (size_t i = 0; ok && i < from->n_subs; i++) {
            struct sub_info *s = &out->subs[out->n_subs++];
            *s = from->subs[i];
            dup_text(&s->account);
            dup_text(&s->subject);
            dup_text(&s->queue);
            dup_text(&s->sid);
            ok = s->account != NULL && s->subject != NULL && s->queue != NULL && s->sid != NULL;
        }
    }
    if (!ok) {
        conn_info_fini(out);
    }
    return ok ? ST_OK : ST_NOMEM;
}

static void
ask_open(struct loop *l, struct conn_list *list, const struct conn_query *q)
{
    for (struct list_node *node = l->conns.next; node != &l->conns; node = node->next) {
        const struct conn *c = LIST_ENTRY(node, struct conn, all);
        struct conn_info info;
        if (q->q.cid != 0 && c->cid != q->q.cid) {
            continue;
        }
        if (snapshot_conn(c, q->q.subs, &info) != ST_OK) {
            list->st = ST_NOMEM;
        } else if (wanted(q, &info)) {
            append(list, &info);
        } else {
            conn_info_fini(&info);
        }
    }
}

static void
ask_closed(struct loop *l, struct conn_list *list, const struct conn_query *q)
{
    size_t n = closed_ring_count(l->closed);
    for (size_t i = 0; i < n; i++) {
        const struct conn_info *from = closed_ring_at(l->closed, i);
        struct conn_info info;
        if (!wanted(q, from)) {
            continue;
        }
        if (copy_closed(from, q->q.subs, &info) != ST_OK) {
            list->st = ST_NOMEM;
        } else {
            append(list, &info);
        }
    }
}

static void
ask_conns(struct loop *l, void *part, void *query)
{
    const struct conn_query *q = query;
    if (q->q.state != CONN_STATE_CLOSED) {
        ask_open(l, part, q);
    }
    if (q->q.state != CONN_STATE_OPEN) {
        ask_closed(l, part, q);
    }
}

static void
drop_conns(void *part)
{
    struct conn_list *list = part;
    inspect_free_conns(list->v, list->n);
}

static void
finish_conns(void *part, void *arg)
{
    struct conn_list *list = part;
    struct conn_list *all = arg;
    if (list->st != ST_OK) {
        all->st = list->st;
    }
    for (size_t i = 0; i < list->n; i++) {
        append(all, &list->v[i]);
    }
    mem_free(list->v);
}

static bool
set_text(char *to, size_t cap, const char *from)
{
    if (from == NULL) {
        return false;
    }
    strncpy(to, from, cap - 1);
    return true;
}

enum status
inspect_conns(struct server *s, const struct inspect_query *q, struct conn_info **out, size_t *n)
{
    struct conn_query cq = {.q = *q};
    cq.by_account = set_text(cq.account, sizeof cq.account, q->account);
    cq.by_user = set_text(cq.user, sizeof cq.user, q->user);
    struct gather_spec spec = {.part_size = sizeof(struct conn_list),
                               .ask = ask_conns,
                               .finish = finish_conns,
                               .drop = drop_conns,
                               .query = &cq,
                               .query_size = sizeof cq};
    struct conn_list all = {0};
    enum status st = gather_run(s, &spec, &all);
    st = st == ST_OK ? all.st : st;
    if (st != ST_OK) {
        inspect_free_conns(all.v, all.n);
        return st;
    }
    *out = all.v;
    *n = all.n;
    return ST_OK;
}

enum status
inspect_subs(struct server *s, const char *account, struct sub_info **out, size_t *n)
{
    struct inspect_query q = {.account = account, .subs = true};
    struct conn_info *conns;
    size_t n_conns;
    size_t total = 0;
    enum status st = inspect_conns(s, &q, &conns, &n_conns);
    if (st != ST_OK) {
        return st;
    }
    for (size_t i = 0; i < n_conns; i++) {
        total += conns[i].n_subs;
    }
    struct sub_info *v = mem_alloc_array(total, sizeof *v);
    if (v == NULL) {
        inspect_free_conns(conns, n_conns);
        return ST_NOMEM;
    }
    *n = 0;
    for (size_t i = 0; i < n_conns; i++) {
        for (size_t k = 0; k < conns[i].n_subs; k++) {
            v[(*n)++] = conns[i].subs[k];
        }
        conns[i].n_subs = 0; /* what they own has moved */
    }
    inspect_free_conns(conns, n_conns);
    *out = v;
    return ST_OK;
}

static void
add_counts(struct account *a, struct sublist_stats *out)
{
    struct sublist_counts counts;
    sublist_counts(a->subs, &counts);
    out->num_subs += counts.subs;
    out->num_inserts += counts.inserts;
    out->num_removes += counts.removes;
}

static uint64_t
read_u(const _Atomic int64_t *v)
{
    int64_t n = atomic_load_explicit(v, memory_order_relaxed);
    return n > 0 ? (uint64_t)n : 0;
}

enum status
inspect_sublist(struct server *s, const char *account, struct sublist_stats *out)
{
    *out = (struct sublist_stats){0};
    if (account != NULL) {
        struct account *a = server_account(s, account);
        if (a == NULL) {
            return ST_NOTFOUND;
        }
        add_counts(a, out);
    } else {
        pthread_rwlock_rdlock(&s->accounts_lock);
        for (struct account *a = s->accounts; a != NULL; a = a->next) {
            add_counts(a, out);
        }
        pthread_rwlock_unlock(&s->accounts_lock);
    }
    for (uint32_t i = 0; i < s->n_loops; i++) {
        const struct loop_stats *st = &s->loops[i]->stats;
        uint64_t most = read_u(&st->fanout_max);
        out->num_matches += read_u(&st->matches);
        out->cache_hits += read_u(&st->cache_hits);
        out->num_cache += read_u(&st->cached);
        out->fanout_sum += read_u(&st->fanout_sum);
        out->fanout_count += read_u(&st->fanout_count);
        out->max_fanout = most > out->max_fanout ? most : out->max_fanout;
    }
    return ST_OK;
}

static enum status
fill_account(struct account *a, struct account_info *out)
{
    *out = (struct account_info){.is_system = a->is_system,
                                 .conns = atomic_load(&a->conns),
                                 .total_conns = atomic_load(&a->total_conns),
                                 .num_subs = atomic_load(&a->client_subs),
                                 .in_msgs = atomic_load(&a->in_msgs),
                                 .out_msgs = atomic_load(&a->out_msgs),
                                 .in_bytes = atomic_load(&a->in_bytes),
                                 .out_bytes = atomic_load(&a->out_bytes),
                                 .slow_consumers = atomic_load(&a->slow_consumers)};
    out->name = mem_strdup(a->name);
    return out->name != NULL ? ST_OK : ST_NOMEM;
}

enum status
inspect_accounts(struct server *s, struct account_info **out, size_t *n)
{
    enum status st = ST_OK;
    *n = 0;
    pthread_rwlock_rdlock(&s->accounts_lock);
    struct account_info *v = mem_alloc_array(s->n_accounts, sizeof *v);
    if (v == NULL) {
        st = ST_NOMEM;
    }
    for (struct account *a = s->accounts; a != NULL && st == ST_OK; a = a->next) {
        if (atomic_load(&a->in_use)) {
            st = fill_account(a, &v[(*n)++]);
        }
    }
    pthread_rwlock_unlock(&s->accounts_lock);
    if (st != ST_OK) {
        inspect_free_accounts(v, *n);
        return st;
    }
    *out = v;
    return ST_OK;
}

void
inspect_free_accounts(struct account_info *v, size_t n)
{
    for (size_t i = 0; v != NULL && i < n; i++) {
        mem_free(v[i].name);
    }
    mem_free(v);
}

void
inspect_totals(struct server *s, struct server_totals *out)
{
    *out = (struct server_totals){.replies_dropped = atomic_load(&s->dropped)};
    for (uint32_t i = 0; i < s->n_loops; i++) {
        const struct loop_stats *st = &s->loops[i]->stats;
        out->connections += atomic_load(&st->conns);
        out->total_connections += atomic_load(&st->total_conns);
        out->subscriptions += atomic_load(&st->subs);
        out->in_msgs += atomic_load(&st->in_msgs);
        out->in_bytes += atomic_load(&st->in_bytes);
        out->out_msgs += atomic_load(&st->out_msgs);
        out->out_bytes += atomic_load(&st->out_bytes);
        out->slow_consumers += atomic_load(&st->slow_consumers);
        out->stale_connections += atomic_load(&st->stale);
        out->stalled_clients += atomic_load(&st->stalls);
        out->auth_errors += atomic_load(&st->auth_errors);
        out->replies_dropped += atomic_load(&st->dropped);
    }
    out->in_client_msgs = out->in_msgs;
    out->in_client_bytes = out->in_bytes;
    out->out_client_msgs = out->out_msgs;
    out->out_client_bytes = out->out_bytes;
}
