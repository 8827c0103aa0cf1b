/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth/perms.h"

#include <string.h>

#include "server/base/mem.h"
#include "server/base/subject.h"
#include "server/config.h"

static void
free_rules(struct perm_rules *r)
{
    for (size_t i = 0; i < r->n; i++) {
        mem_free(r->v[i].subject);
        mem_free(r->v[i].queue);
    }
    mem_free(r->v);
}

static enum status
make_rule(struct perm_rule *rule, const char *text)
{
    size_t len = strcspn(text, " \t");
    const char *queue = text + len + strspn(text + len, " \t");
    rule->subject = mem_strndup(text, len);
    rule->subject_len = len;
    if (rule->subject == NULL) {
        return ST_NOMEM;
    }
    if (queue[0] != '\0') {
        rule->queue = mem_strdup(queue);
        if (rule->queue == NULL) {
            return ST_NOMEM;
        }
        rule->queue_len = strlen(queue);
    }
    return ST_OK;
}

static enum status
make_rules(struct perm_rules *r, const struct config_subjects *cfg)
{
    r->set = cfg->n > 0;
    if (cfg->n == 0) {
        return ST_OK;
    }
    r->v = mem_alloc_array(cfg->n, sizeof *r->v);
    if (r->v == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < cfg->n; i++) {
        r->n = i + 1;
        if (make_rule(&r->v[i], cfg->v[i]) != ST_OK) {
            return ST_NOMEM;
        }
    }
    return ST_OK;
}

static bool
ends_in_star(const struct perm_rules *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->v[i].subject_len > 0 && r->v[i].subject[r->v[i].subject_len - 1] == '*') {
            return true;
        }
    }
    return false;
}

enum status
perms_new(struct perms **out, const struct config_perms *cfg)
{
    struct perms *p = mem_alloc(sizeof *p);
    if (p == NULL) {
        return ST_NOMEM;
    }
    p->responses = cfg->responses;
    p->responses_max = cfg->responses_max;
    p->responses_expires = cfg->responses_expires;
    if (make_rules(&p->pub_allow, &cfg->pub_allow) != ST_OK ||
        make_rules(&p->pub_deny, &cfg->pub_deny) != ST_OK ||
        make_rules(&p->sub_allow, &cfg->sub_allow) != ST_OK ||
        make_rules(&p->sub_deny, &cfg->sub_deny) != ST_OK) {
        perms_free(p);
        return ST_NOMEM;
    }
    p->star = ends_in_star(&p->sub_allow);
    /* Who may answer what he is asked may publish nothing else, but for what is allowed by name. */
    p->pub_allow.set = p->pub_allow.set || p->responses;
    *out = p;
    return ST_OK;
}

void
perms_free(struct perms *p)
{
    if (p == NULL) {
        return;
    }
    free_rules(&p->pub_allow);
    free_rules(&p->pub_deny);
    free_rules(&p->sub_allow);
    free_rules(&p->sub_deny);
    mem_free(p);
}

/* Of a subscription to "a.>" and a rule "a.*". */
static bool
is_starred(const char *subject, size_t n, const struct perm_rule *rule)
{
    size_t rn = rule->subject_len;
    if (n == 0 || subject[n - 1] != '>' || rn == 0 || rule->subject[rn - 1] != '*') {
        return false;
    }
    if (n == 1 || rn == 1) {
        return n == rn;
    }
    return subject_is_inside(subject, n - 2, rule->subject, rn - 2);
}

/* How a subject stands to a list of rules. */
struct hits {
    bool plain;  /* a rule without a queue */
    bool queues; /* a rule with some queue */
    bool queue;  /* a rule with the queue asked for */
};

static struct hits
match_rules(const struct perm_rules *r, const char *subject, size_t n, const char *queue, size_t qn)
{
    struct hits h = {false, false, false};
    for (size_t i = 0; i < r->n; i++) {
        const struct perm_rule *rule = &r->v[i];
        if (!subject_is_inside(subject, n, rule->subject, rule->subject_len) &&
            !is_starred(subject, n, rule)) {
            continue;
        }
        if (rule->queue == NULL) {
            h.plain = true;
            continue;
        }
        h.queues = true;
        if (queue != NULL && subject_is_inside(queue, qn, rule->queue, rule->queue_len)) {
            h.queue = true;
        }
    }
    return h;
}

bool
perms_may_publish(const struct perms *p, const char *subject, size_t n)
{
    if (p == NULL) {
        return true;
    }
    if (p->pub_allow.set && !match_rules(&p->pub_allow, subject, n, NULL, 0).plain) {
        return false;
    }
    return !p->pub_deny.set || !match_rules(&p->pub_deny, subject, n, NULL, 0).plain;
}

static bool
is_denied(const struct perms *p, const char *subject, size_t n, const char *queue, size_t qn)
{
    if (!p->sub_deny.set) {
        return false;
    }
    struct hits h = match_rules(&p->sub_deny, subject, n, queue, qn);
    return h.plain || h.queue;
}

bool
perms_may_subscribe(const struct perms *p, const char *subject, size_t n, const char *queue,
                    size_t qn)
{
    if (p == NULL) {
        return true;
    }
    if (p->sub_allow.set) {
        struct hits h = match_rules(&p->sub_allow, subject, n, queue, qn);
        /* Rules that name queues bind a queue subscription, whatever the plain ones allow. */
        bool allowed = queue != NULL && h.queues ? h.queue : h.plain;
        if (!allowed) {
            return false;
        }
    }
    return !is_denied(p, subject, n, queue, qn);
}

bool
perms_is_wide(const struct perms *p, const char *subject, size_t n)
{
    return p != NULL && p->star && n > 0 && subject[n - 1] == '>';
}

bool
perms_may_receive(const struct perms *p, const char *subject, size_t n, const char *queue,
                  size_t qn)
{
    return p == NULL || !is_denied(p, subject, n, queue, qn);
}
