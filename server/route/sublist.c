/* SPDX-License-Identifier: Apache-2.0 */
#include "server/route/sublist.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "server/base/assert.h"
#include "server/base/hash.h"
#include "server/base/list.h"
#include "server/base/mem.h"
#include "server/base/subject.h"
#include "server/route/sub.h"
#include "server/route/trie.h"

enum { GEN_LITERAL = 1024, GEN_FIRST = 256, TABLE_MIN = 64 };

/* A literal subject with subscriptions; the subject is read from one of them. */
struct literal {
    struct subset set;
    struct literal *next; /* owned: chain of the bucket */
    uint64_t hash;
};

struct sublist {
    pthread_rwlock_t lock;
    struct literal **table; /* owned */
    size_t n_table, n_literals;
    struct trie_node *root; /* owned */
    uint64_t n_subs, inserts, removes;
    _Atomic uint32_t gen_literal[GEN_LITERAL];
    _Atomic uint32_t gen_first[GEN_FIRST];
    _Atomic uint32_t gen_any;
};

enum status
sublist_new(struct sublist **out)
{
    struct sublist *l = mem_alloc(sizeof *l);
    if (l == NULL) {
        return ST_NOMEM;
    }
    l->table = mem_alloc_array(TABLE_MIN, sizeof(struct literal *));
    if (l->table == NULL) {
        goto err_after_list;
    }
    l->n_table = TABLE_MIN;
    if (trie_root_new(&l->root) != ST_OK) {
        goto err_after_table;
    }
    pthread_rwlockattr_t attr;
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&l->lock, &attr);
    pthread_rwlockattr_destroy(&attr);
    *out = l;
    return ST_OK;

err_after_table:
    mem_free(l->table);
err_after_list:
    mem_free(l);
    return ST_NOMEM;
}

void
sublist_free(struct sublist *l)
{
    if (l == NULL) {
        return;
    }
    for (size_t i = 0; i < l->n_table; i++) {
        while (l->table[i] != NULL) {
            struct literal *lit = l->table[i];
            l->table[i] = lit->next;
            subset_fini(&lit->set);
            mem_free(lit);
        }
    }
    mem_free(l->table);
    trie_free(l->root);
    pthread_rwlock_destroy(&l->lock);
    mem_free(l);
}

static bool
is_subject(const struct literal *lit, uint64_t hash, const char *subject, size_t n)
{
    if (lit->hash != hash) {
        return false;
    }
    struct subset set = lit->set.n > 0 ? lit->set : *lit->set.groups;
    const struct sub *s = subset_members(&set)[0];
    return s->subject_len == n && memcmp(sub_subject(s), subject, n) == 0;
}

static struct literal **
find_literal(struct sublist *l, uint64_t hash, const char *subject, size_t n)
{
    struct literal **link = &l->table[hash & (l->n_table - 1)];
    while (*link != NULL && !is_subject(*link, hash, subject, n)) {
        link = &(*link)->next;
    }
    return link;
}

/* Without memory for a larger table the old one goes on, only slower. */
static void
grow_table(struct sublist *l)
{
    if (l->n_literals < l->n_table) {
        return;
    }
    size_t n = l->n_table * 2;
    struct literal **table = mem_alloc_array(n, sizeof(struct literal *));
    if (table == NULL) {
        return;
    }
    for (size_t i = 0; i < l->n_table; i++) {
        while (l->table[i] != NULL) {
            struct literal *lit = l->table[i];
            l->table[i] = lit->next;
            lit->next = table[lit->hash & (n - 1)];
            table[lit->hash & (n - 1)] = lit;
        }
    }
    mem_free(l->table);
    l->table = table;
    l->n_table = n;
}

static enum status
insert_literal(struct sublist *l, struct sub *s)
{
    uint64_t hash = hash_bytes(sub_subject(s), s->subject_len);
    struct literal **link = find_literal(l, hash, sub_subject(s), s->subject_len);
    struct literal *lit = *link;
    if (lit != NULL) {
        return subset_add(&lit->set, s);
    }
    lit = mem_alloc(sizeof *lit);
    if (lit == NULL) {
        return ST_NOMEM;
    }
    lit->hash = hash;
    enum status st = subset_add(&lit->set, s);
    if (st != ST_OK) {
        mem_free(lit);
        return st;
    }
    *link = lit;
    l->n_literals++;
    grow_table(l);
    return ST_OK;
}

static enum status
insert_wildcard(struct sublist *l, struct sub *s)
{
    struct trie_node *node;
    enum status st = trie_make(l->root, sub_subject(s), s->subject_len, &node);
    if (st != ST_OK) {
        return st;
    }
    st = subset_add(&node->set, s);
    if (st != ST_OK) {
        trie_prune(node);
    }
    return st;
}

static _Atomic uint32_t *
gen_of_first(struct sublist *l, const char *subject, size_t n)
{
    size_t len = subject_token_len(subject, n, 0);
    return &l->gen_first[hash_bytes(subject, len) % GEN_FIRST];
}

/* Under the write lock, so that a reader's stamp and its match belong together. */
static void
bump(struct sublist *l, const struct sub *s, bool wildcard)
{
    const char *subject = sub_subject(s);
    _Atomic uint32_t *gen = &l->gen_any;
    if (!wildcard) {
        gen = &l->gen_literal[hash_bytes(subject, s->subject_len) % GEN_LITERAL];
    } else if (!subject_has_wildcard(subject, subject_token_len(subject, s->subject_len, 0))) {
        gen = gen_of_first(l, subject, s->subject_len);
    }
    atomic_fetch_add_explicit(gen, 1, memory_order_release);
}

enum status
sublist_insert(struct sublist *l, struct sub *s)
{
    bool wildcard = subject_has_wildcard(sub_subject(s), s->subject_len);
    pthread_rwlock_wrlock(&l->lock);
    enum status st = wildcard ? insert_wildcard(l, s) : insert_literal(l, s);
    if (st == ST_OK) {
        bump(l, s, wildcard);
        l->n_subs += s->gate == NULL ? 1 : 0;
        l->inserts += s->gate == NULL ? 1 : 0;
    }
    pthread_rwlock_unlock(&l->lock);
    return st;
}

static void
remove_literal(struct sublist *l, struct sub *s, struct subset *root)
{
    struct literal *lit = LIST_ENTRY(root, struct literal, set);
    struct literal **link = &l->table[lit->hash & (l->n_table - 1)];
    while (*link != lit) {
        link = &(*link)->next;
    }
    subset_remove(root, s);
    if (subset_is_empty(root)) {
        *link = lit->next;
        mem_free(lit);
        l->n_literals--;
    }
}

bool
sublist_remove(struct sublist *l, struct sub *s)
{
    bool wildcard = subject_has_wildcard(sub_subject(s), s->subject_len);
    pthread_rwlock_wrlock(&l->lock);
    bool found = s->set != NULL;
    if (found) {
        struct subset *root = s->set->root != NULL ? s->set->root : s->set;
        bump(l, s, wildcard);
        l->n_subs -= s->gate == NULL ? 1 : 0;
        l->removes += s->gate == NULL ? 1 : 0;
        if (wildcard) {
            subset_remove(root, s);
            trie_prune(LIST_ENTRY(root, struct trie_node, set));
        } else {
            remove_literal(l, s, root);
        }
    }
    pthread_rwlock_unlock(&l->lock);
    return found;
}

struct sublist_watch
sublist_watch(struct sublist *l, const char *subject, size_t n)
{
    return (struct sublist_watch){.literal = &l->gen_literal[hash_bytes(subject, n) % GEN_LITERAL],
                                  .first = gen_of_first(l, subject, n),
                                  .any = &l->gen_any};
}

static struct sublist_stamp
read_stamp(struct sublist *l, uint64_t hash, const char *subject, size_t n)
{
    return (struct sublist_stamp){
        .literal = atomic_load_explicit(&l->gen_literal[hash % GEN_LITERAL], memory_order_acquire),
        .first = atomic_load_explicit(gen_of_first(l, subject, n), memory_order_acquire),
        .any = atomic_load_explicit(&l->gen_any, memory_order_acquire)};
}

/* A match in the making; sets are only good under the lock, so members are copied out. */
struct collect {
    struct match *m;
    bool nomem;
    bool groups; /* a set with queue groups was met */
};

static bool
add_subs(struct match *m, struct subset *set)
{
    if (m->n_subs + set->n > m->cap_subs) {
        uint32_t cap = m->cap_subs > 0 ? m->cap_subs : 8;
        while (cap < m->n_subs + set->n) {
            cap *= 2;
        }
        struct sub **subs = mem_realloc(m->subs, cap * sizeof *subs);
        if (subs == NULL) {
            return false;
        }
        m->subs = subs;
        m->cap_subs = cap;
    }
    struct sub **v = subset_members(set);
    for (uint32_t i = 0; i < set->n; i++) {
        m->subs[m->n_subs++] = sub_ref(v[i]);
    }
    return true;
}

static bool
add_plain(void *arg, struct subset *set)
{
    struct collect *c = arg;
    c->groups = c->groups || set->groups != NULL;
    c->nomem = c->nomem || (set->n > 0 && !add_subs(c->m, set));
    return !c->nomem;
}

static bool
new_group(struct match *m)
{
    if (m->n_groups == m->cap_groups) {
        uint32_t cap = m->cap_groups > 0 ? m->cap_groups * 2 : 4;
        struct match_group *groups = mem_realloc(m->groups, cap * sizeof *groups);
        if (groups == NULL) {
            return false;
        }
        m->groups = groups;
        m->cap_groups = cap;
    }
    m->groups[m->n_groups++] = (struct match_group){m->n_subs, 0};
    return true;
}

static struct match_group *
find_match_group(struct match *m, const struct sub *s)
{
    for (uint32_t i = 0; i < m->n_groups; i++) {
        const struct sub *first = m->subs[m->groups[i].begin];
        if (first->queue_len == s->queue_len &&
            memcmp(sub_queue(first), sub_queue(s), s->queue_len) == 0) {
            return &m->groups[i];
        }
    }
    return NULL;
}

/* Makes the members that were just appended part of an earlier group of the same name: the tail
 * is rotated in behind that group's last member. */
static void
merge_tail(struct match *m, struct match_group *g, uint32_t n)
{
    uint32_t end = g->begin + g->n;
    for (uint32_t k = 0; k < n; k++) {
        struct sub *s = m->subs[m->n_subs - 1];
        memmove(&m->subs[end + 1], &m->subs[end], (m->n_subs - 1 - end) * sizeof(struct sub *));
        m->subs[end] = s;
    }
    g->n += n;
    for (uint32_t i = 0; i < m->n_groups; i++) {
        if (m->groups[i].begin >= end && &m->groups[i] != g) {
            m->groups[i].begin += n;
        }
    }
}

/* Gates do not overlap, but one that is being replaced may still be there. */
static void
take_gate(struct match *m, struct sub *s)
{
    if (m->gate == NULL) {
        m->gate = sub_ref(s);
    }
}

static bool
add_groups(void *arg, struct subset *set)
{
    struct collect *c = arg;
    struct match *m = c->m;
    for (struct subset *g = set->groups; g != NULL; g = g->next) {
        struct sub *first = subset_members(g)[0];
        if (first->gate != NULL) {
            take_gate(m, first);
            continue;
        }
        struct match_group *same = find_match_group(m, first);
        c->nomem = c->nomem || (same == NULL && !new_group(m)) || !add_subs(m, g);
        if (c->nomem) {
            return false;
        }
        if (same == NULL) {
            m->groups[m->n_groups - 1].n = g->n;
        } else {
            merge_tail(m, same, g->n);
        }
    }
    return true;
}

/* Clients may publish to such a subject; as in nats-server it is nobody's. */
static bool
has_empty_token(const char *subject, size_t n)
{
    return n == 0 || subject[0] == '.' || subject[n - 1] == '.' ||
           memmem(subject, n, "..", 2) != NULL;
}

static void
walk(struct sublist *l, uint64_t hash, const char *subject, size_t n, struct collect *c)
{
    struct literal *lit = *find_literal(l, hash, subject, n);
    if (lit != NULL) {
        add_plain(c, &lit->set);
    }
    trie_match(l->root, subject, n, add_plain, c);
    c->m->n_plain = c->m->n_subs;
    if (!c->groups) {
        return;
    }
    if (lit != NULL) {
        add_groups(c, &lit->set);
    }
    trie_match(l->root, subject, n, add_groups, c);
}

enum status
sublist_match(struct sublist *l, const char *subject, size_t n, struct match *m)
{
    uint64_t hash = hash_bytes(subject, n);
    struct collect c = {.m = m};
    match_reset(m);
    pthread_rwlock_rdlock(&l->lock);
    m->stamp = read_stamp(l, hash, subject, n);
    if (!has_empty_token(subject, n)) {
        walk(l, hash, subject, n, &c);
    }
    pthread_rwlock_unlock(&l->lock);
    if (c.nomem) {
        match_reset(m);
        return ST_NOMEM;
    }
    return ST_OK;
}

static bool
has_receiver(struct subset *set)
{
    struct subset *g = set->groups;
    if (set->n > 0) {
        return true;
    }
    while (g != NULL && subset_members(g)[0]->gate != NULL) {
        g = g->next;
    }
    return g != NULL;
}

static bool
stop_at_first(void *arg, struct subset *set)
{
    bool *found = arg;
    *found = has_receiver(set);
    return !*found;
}

bool
sublist_has_interest(struct sublist *l, const char *subject, size_t n)
{
    bool found = false;
    if (has_empty_token(subject, n)) {
        return false;
    }
    pthread_rwlock_rdlock(&l->lock);
    struct literal *lit = *find_literal(l, hash_bytes(subject, n), subject, n);
    if ((lit != NULL && has_receiver(&lit->set)) ||
        !trie_match(l->root, subject, n, stop_at_first, &found)) {
        found = true;
    }
    pthread_rwlock_unlock(&l->lock);
    return found;
}

static bool
has_member(struct subset *set, const char *queue)
{
    if (queue[0] == '\0') {
        return set->n > 0;
    }
    struct subset *g = set->groups;
    while (g != NULL && strcmp(sub_queue(subset_members(g)[0]), queue) != 0) {
        g = g->next;
    }
    return g != NULL;
}

bool
sublist_has_literal(struct sublist *l, const char *subject, size_t n, const char *queue)
{
    pthread_rwlock_rdlock(&l->lock);
    struct literal *lit = *find_literal(l, hash_bytes(subject, n), subject, n);
    bool found = lit != NULL && has_member(&lit->set, queue);
    pthread_rwlock_unlock(&l->lock);
    return found;
}

void
sublist_counts(struct sublist *l, struct sublist_counts *out)
{
    pthread_rwlock_rdlock(&l->lock);
    *out = (struct sublist_counts){l->n_subs, l->inserts, l->removes};
    pthread_rwlock_unlock(&l->lock);
}

void
match_reset(struct match *m)
{
    for (uint32_t i = 0; i < m->n_subs; i++) {
        sub_unref(m->subs[i]);
    }
    sub_unref(m->gate);
    m->gate = NULL;
    m->n_subs = 0;
    m->n_plain = 0;
    m->n_groups = 0;
}

void
match_fini(struct match *m)
{
    match_reset(m);
    mem_free(m->subs);
    mem_free(m->groups);
    *m = (struct match){0};
}
