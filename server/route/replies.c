/* SPDX-License-Identifier: Apache-2.0 */
#include "server/route/replies.h"

#include <string.h>

#include "server/auth/perms.h"
#include "server/base/hash.h"
#include "server/base/list.h"
#include "server/base/mem.h"

enum { MAX_KEPT = 4096, BUCKETS = 256 };

struct reply {
    struct list_node age;
    struct reply *next; /* owned: chain of the bucket */
    int64_t since;
    int64_t used;
    size_t len;
    char subject[];
};

struct reply_perms {
    int64_t max;     /* <= 0: no limit */
    int64_t expires; /* ns; <= 0: never */
    struct list_node by_age;
    size_t n;
    struct reply *buckets[BUCKETS];
};

enum status
replies_new(struct reply_perms **out, const struct perms *p)
{
    struct reply_perms *r = mem_alloc(sizeof *r);
    if (r == NULL) {
        return ST_NOMEM;
    }
    r->max = p->responses_max;
    r->expires = p->responses_expires;
    list_init(&r->by_age);
    *out = r;
    return ST_OK;
}

static struct reply **
find(struct reply_perms *r, const char *subject, size_t n)
{
    struct reply **link = &r->buckets[hash_bytes(subject, n) % BUCKETS];
    while (*link != NULL && ((*link)->len != n || memcmp((*link)->subject, subject, n) != 0)) {
        link = &(*link)->next;
    }
    return link;
}

static void
drop(struct reply_perms *r, struct reply **link)
{
    struct reply *one = *link;
    *link = one->next;
    list_remove(&one->age);
    mem_free(one);
    r->n--;
}

static void
drop_oldest(struct reply_perms *r)
{
    struct reply *one = LIST_ENTRY(r->by_age.next, struct reply, age);
    drop(r, find(r, one->subject, one->len));
}

void
replies_free(struct reply_perms *r)
{
    if (r == NULL) {
        return;
    }
    while (r->n > 0) {
        drop_oldest(r);
    }
    mem_free(r);
}

static bool
is_over(const struct reply_perms *r, const struct reply *one, int64_t now)
{
    return r->expires > 0 && now - one->since > r->expires;
}

void
replies_note(struct reply_perms *r, const char *reply, size_t n, int64_t now)
{
    struct reply **link = find(r, reply, n);
    if (*link != NULL) {
        drop(r, link);
    }
    /* All live for the same time, so the oldest are those that are over. */
    while (r->n > 0 &&
           (r->n >= MAX_KEPT || is_over(r, LIST_ENTRY(r->by_age.next, struct reply, age), now))) {
        drop_oldest(r);
    }
    struct reply *one = mem_alloc(sizeof *one + n);
    if (one == NULL) {
        return;
    }
    one->since = now;
    one->len = n;
    memcpy(one->subject, reply, n);
    link = find(r, reply, n);
    one->next = *link;
    *link = one;
    list_push_back(&r->by_age, &one->age);
    r->n++;
}

bool
replies_allow(struct reply_perms *r, const char *subject, size_t n, int64_t now)
{
    struct reply **link = find(r, subject, n);
    if (*link == NULL) {
        return false;
    }
    (*link)->used++;
    if (is_over(r, *link, now) || (r->max > 0 && (*link)->used > r->max)) {
        drop(r, link);
        return false;
    }
    return true;
}
