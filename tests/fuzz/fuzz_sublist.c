/* SPDX-License-Identifier: Apache-2.0 */
/* A subscription list against a plain list of the same subscriptions, matched token by token. The
 * bytes are a programme of inserts, removals and matches over a small alphabet of subjects, so that
 * they meet. Matches are kept, and one whose stamp is current must be what a new match gives. */
#include "server/base/subject.h"
#include "server/route/sub.h"
#include "server/route/sublist.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SUBS = 64, MAX_CACHED = 8, MAX_SUBJECT = 16, MAX_TOKENS = 4 };

/* Owned by the one thread there is. */
struct world {
    const uint8_t *data; /* borrowed: the input */
    size_t left;
    struct sublist *list;       /* owned */
    struct sub *subs[MAX_SUBS]; /* ref each */
    size_t n_subs;
    struct {
        char subject[MAX_SUBJECT];
        struct match m; /* n_subs 0 and no memory: free */
    } cached[MAX_CACHED];
    size_t turn;
};

static void
require(bool cond)
{
    if (!cond) {
        abort();
    }
}

static uint8_t
next_byte(struct world *w)
{
    if (w->left == 0) {
        return 0;
    }
    w->left--;
    return *w->data++;
}

/* One to four tokens of a set of three, with wildcards where they are allowed. */
static void
make_subject(struct world *w, bool wildcards, char out[MAX_SUBJECT])
{
    static const char *const tokens[] = {"a", "b", "cc", "a", "*", "*", ">", "b"};
    uint8_t shape = next_byte(w);
    size_t n = 1 + shape % MAX_TOKENS;
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const char *t = tokens[next_byte(w) % (wildcards ? 8 : 4)];
        strcat(out, t);
        if (t[0] == '>') {
            break;
        }
        if (i + 1 < n) {
            strcat(out, ".");
        }
    }
}

static bool
matches(const char *pattern, const char *subject)
{
    for (;;) {
        size_t p = strcspn(pattern, ".");
        size_t s = strcspn(subject, ".");
        if (p == 1 && pattern[0] == '>') {
            return true;
        }
        if (!(p == 1 && pattern[0] == '*') && (p != s || memcmp(pattern, subject, p) != 0)) {
            return false;
        }
        if (pattern[p] == '\0' || subject[s] == '\0') {
            return pattern[p] == subject[s];
        }
        pattern += p + 1;
        subject += s + 1;
    }
}

static void
insert(struct world *w)
{
    char subject[MAX_SUBJECT];
    make_subject(w, true, subject);
    uint8_t queue = next_byte(w) % 4;
    if (w->n_subs == MAX_SUBS) {
        return;
    }
    struct sub_spec spec = {
        .subject = subject,
        .subject_len = strlen(subject),
        .queue = queue == 0   ? ""
                 : queue == 1 ? "q"
                              : "queue",
        .queue_len = queue == 0   ? 0
                     : queue == 1 ? 1
                                  : 5,
        .sid = "1",
        .sid_len = 1,
    };
    struct sub *s = NULL;
    require(sub_new(&s, &spec, NULL) == ST_OK);
    require(sublist_insert(w->list, s) == ST_OK);
    w->subs[w->n_subs++] = s;
}

static void
remove_one(struct world *w)
{
    if (w->n_subs == 0) {
        return;
    }
    size_t i = next_byte(w) % w->n_subs;
    struct sub *s = w->subs[i];
    w->subs[i] = w->subs[--w->n_subs];
    require(sublist_remove(w->list, s));
    require(!sublist_remove(w->list, s));
    sub_unref(s);
}

static bool
holds(const struct match *m, uint32_t begin, uint32_t n, const struct sub *s)
{
    for (uint32_t i = begin; i < begin + n; i++) {
        if (m->subs[i] == s) {
            return true;
        }
    }
    return false;
}

/* The match holds each member once, plain ones in front, each queue name in one group. */
static void
check(const struct world *w, const struct match *m, const char *subject)
{
    uint32_t n_plain = 0;
    uint32_t n_queued = 0;
    for (size_t i = 0; i < w->n_subs; i++) {
        const struct sub *s = w->subs[i];
        if (!matches(sub_subject(s), subject)) {
            require(!holds(m, 0, m->n_subs, s));
        } else if (s->queue_len == 0) {
            n_plain++;
            require(holds(m, 0, m->n_plain, s));
        } else {
            n_queued++;
            require(holds(m, m->n_plain, m->n_subs - m->n_plain, s));
        }
    }
    require(m->n_plain == n_plain && m->n_subs == n_plain + n_queued);
    uint32_t at = m->n_plain;
    for (uint32_t g = 0; g < m->n_groups; g++) {
        require(m->groups[g].n > 0 && m->groups[g].begin == at);
        for (uint32_t i = 0; i < m->groups[g].n; i++) {
            require(strcmp(sub_queue(m->subs[at + i]), sub_queue(m->subs[at])) == 0);
        }
        for (uint32_t other = 0; other < g; other++) {
            require(strcmp(sub_queue(m->subs[at]), sub_queue(m->subs[m->groups[other].begin])) !=
                    0);
        }
        at += m->groups[g].n;
    }
    require(at == m->n_subs);
}

static void
match_one(struct world *w)
{
    size_t slot = w->turn++ % MAX_CACHED;
    char *subject = w->cached[slot].subject;
    make_subject(w, false, subject);
    struct match *m = &w->cached[slot].m;
    require(sublist_match(w->list, subject, strlen(subject), m) == ST_OK);
    check(w, m, subject);
    require(sublist_has_interest(w->list, subject, strlen(subject)) == (m->n_subs > 0));
}

static void
check_cached(struct world *w)
{
    for (size_t i = 0; i < MAX_CACHED; i++) {
        const char *subject = w->cached[i].subject;
        struct sublist_watch watch = sublist_watch(w->list, subject, strlen(subject));
        if (subject[0] != '\0' && sublist_is_current(&watch, &w->cached[i].m.stamp)) {
            check(w, &w->cached[i].m, subject);
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w = {.data = data, .left = size};
    require(sublist_new(&w.list) == ST_OK);
    while (w.left > 0) {
        uint8_t what = next_byte(&w) % 8;
        if (what < 3) {
            insert(&w);
        } else if (what < 5) {
            remove_one(&w);
        } else {
            match_one(&w);
        }
        check_cached(&w);
    }
    while (w.n_subs > 0) {
        struct sub *s = w.subs[--w.n_subs];
        require(sublist_remove(w.list, s));
        sub_unref(s);
    }
    for (size_t i = 0; i < MAX_CACHED; i++) {
        match_fini(&w.cached[i].m);
    }
    struct sublist_counts counts;
    sublist_counts(w.list, &counts);
    require(counts.subs == 0 && counts.inserts == counts.removes);
    sublist_free(w.list);
    return 0;
}
