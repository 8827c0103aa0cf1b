/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/subsz.h"

#include <string.h>

#include "server/base/subject.h"
#include "server/inspect.h"
#include "server/monitor/jput.h"
#include "server/monitor/subdetail.h"
#include "server/monitor/sublistz.h"
#include "server/monitor/views.h"
#include "server/monitor/vopts.h"

enum { DEFAULT_LIMIT = 1024 };

struct wish {
    int64_t offset, limit;
    bool subs;
    const char *account, *test;
};

static enum status
read_wish(struct vopts *o, struct wish *w)
{
    w->offset = vopts_int(o, "offset", "int");
    w->limit = vopts_int(o, "limit", "int");
    w->subs = vopts_bool(o, "subscriptions");
    w->account = vopts_str(o, "account", "string");
    w->test = vopts_str(o, "test", "string");
    w->offset = w->offset < 0 ? 0 : w->offset;
    w->limit = w->limit <= 0 ? DEFAULT_LIMIT : w->limit;
    if (o->st == ST_OK && w->test[0] != '\0' && !subject_is_literal(w->test, strlen(w->test))) {
        return vopts_fail(o, ST_INVAL, "invalid test subject, must be valid publish subject: %s",
                          w->test);
    }
    return o->st;
}

/* Moves the subscriptions that the test subject reaches to the front; returns how many. */
static size_t
keep_matching(struct sub_info *v, size_t n, const char *test)
{
    if (test[0] == '\0') {
        return n;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (subject_is_inside(test, strlen(test), v[i].subject, strlen(v[i].subject))) {
            struct sub_info tmp = v[kept];
            v[kept] = v[i];
            v[i] = tmp;
            kept++;
        }
    }
    return kept;
}

static enum status
print(struct server *s, const struct wish *w, const struct sublist_stats *stats,
      const struct sub_info *v, size_t total, json_t **out)
{
    struct jput p = {0};
    json_t *root = views_begin(&p, s);
    sublistz_put(&p, root, stats);
    jput_int(&p, root, "total", (int64_t)total);
    jput_int(&p, root, "offset", w->offset);
    jput_int(&p, root, "limit", w->limit);
    size_t from = (uint64_t)w->offset < total ? (size_t)w->offset : total;
    size_t page = (uint64_t)w->limit < total - from ? (size_t)w->limit : total - from;
    if (page > 0) {
        json_t *arr = jput_arr(&p, root, "subscriptions_list");
        for (size_t i = from; i < from + page; i++) {
            subdetail_add(&p, arr, &v[i], true);
        }
    }
    return jput_end(&p, root, out);
}

enum status
subsz_build(struct server *s, struct vopts *o, json_t **out)
{
    struct wish w;
    enum status st = read_wish(o, &w);
    if (st != ST_OK) {
        return st;
    }
    const char *account = w.account[0] != '\0' ? w.account : NULL;
    struct sublist_stats stats = {0};
    st = inspect_sublist(s, account, &stats);
    if (st == ST_NOTFOUND || (st == ST_OK && !w.subs)) {
        return print(s, &w, &stats, NULL, 0, out);
    }
    if (st != ST_OK) {
        return st;
    }
    struct sub_info *v;
    size_t n;
    st = inspect_subs(s, account, &v, &n);
    if (st != ST_OK) {
        return st;
    }
    st = print(s, &w, &stats, v, keep_matching(v, n, w.test), out);
    inspect_free_subs(v, n);
    return st;
}
