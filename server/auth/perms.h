/* SPDX-License-Identifier: Apache-2.0 */
/* What a user may publish and subscribe to. Immutable once made, shared by reference with the
 * authorization snapshot that it is part of. */
#ifndef SERVER_AUTH_PERMS_H
#define SERVER_AUTH_PERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct config_perms;

struct perm_rule {
    char *subject; /* owned */
    size_t subject_len;
    char *queue; /* owned; NULL: not for one queue (queue names may have wildcards) */
    size_t queue_len;
};

struct perm_rules {
    struct perm_rule *v; /* owned */
    size_t n;
    bool set; /* false: no rules were given, which for allow means everything */
};

struct perms {
    struct perm_rules pub_allow, pub_deny, sub_allow, sub_deny;
    bool star;                 /* sub_allow has a rule that ends in "*" */
    bool responses;            /* may publish to the replies of messages it received */
    int64_t responses_max;     /* <= 0: no limit */
    int64_t responses_expires; /* ns; <= 0: never */
};

enum status perms_new(struct perms **out, const struct config_perms *cfg) MUST_CHECK;
/* NULL is allowed. */
void perms_free(struct perms *p);

/* p NULL: everything is allowed. Without the responses, which the connection tracks. */
bool perms_may_publish(const struct perms *p, const char *subject, size_t n);
/* queue NULL: a plain subscription. As nats-server, "a.*" allows to subscribe to "a.>"; what such a
 * one may receive is asked message by message. */
bool perms_may_subscribe(const struct perms *p, const char *subject, size_t n, const char *queue,
                         size_t qn);
/* True if a subscription that is allowed may be wider than what is: then it may receive what it may
 * subscribe to. */
bool perms_is_wide(const struct perms *p, const char *subject, size_t n);
/* Else: may this message be delivered? Denied subjects may lie within what is allowed. */
bool perms_may_receive(const struct perms *p, const char *subject, size_t n, const char *queue,
                       size_t qn);

#endif
