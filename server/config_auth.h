/* SPDX-License-Identifier: Apache-2.0 */
/* Who may connect and what they may do, as the configuration says it. Parts of a snapshot
 * (struct config owns them): only read after the load. Times are nanoseconds. */
#ifndef SERVER_CONFIG_AUTH_H
#define SERVER_CONFIG_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"
#include "server/config_js.h"

/* A list of subjects, each perhaps with a queue ("subject queue", as in subscribe permissions). */
struct config_subjects {
    char **v; /* owned; elements too */
    size_t n;
    bool set; /* the key was given, perhaps empty */
};

/* allow_responses sets pub_allow (to an empty list, if nothing else was allowed). */
struct config_perms {
    struct config_subjects pub_allow, pub_deny;
    struct config_subjects sub_allow, sub_deny;
    bool responses;            /* allow_responses */
    int64_t responses_max;     /* < 0: no limit */
    int64_t responses_expires; /* ns; < 0: no limit */
};

struct config_user {
    char *username;             /* owned */
    char *password;             /* owned; plain, or bcrypt ("$2a$…"); "" if none was given */
    const char *account;        /* borrowed: names an entry of accounts, or is "$G" */
    struct config_perms *perms; /* owned; NULL: everything is allowed. Defaults are filled in. */
    bool proxy_required;
    char **connection_types; /* owned; elements too; upper case; none: all */
    size_t n_connection_types;
};

/* Limits of one account; < 0: none. */
struct config_account {
    char *name; /* owned */
    int64_t max_conns;
    int64_t max_subs;
    int64_t max_payload;
    int64_t max_leafs;
    struct config_js_account js;
    struct config_perms *default_perms; /* owned or NULL */
};

void config_perms_free(struct config_perms *p);
void config_user_free(struct config_user *u);
void config_account_free(struct config_account *a);

enum status config_perms_clone(struct config_perms **out, const struct config_perms *p) MUST_CHECK;

/* Deep comparisons, for the reload; NULL is allowed. */
bool config_perms_equal(const struct config_perms *a, const struct config_perms *b);
bool config_user_equal(const struct config_user *a, const struct config_user *b);
bool config_account_equal(const struct config_account *a, const struct config_account *b);

#endif
