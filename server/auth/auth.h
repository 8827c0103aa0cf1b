/* SPDX-License-Identifier: Apache-2.0 */
/* Who may connect: the authorization part of a configuration, made ready for use. An immutable
 * snapshot with a reference count; a reload makes a new one. Any thread. */
#ifndef SERVER_AUTH_AUTH_H
#define SERVER_AUTH_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct account;
struct auth;
struct config;
struct perms;

/* A user as the configuration has it. Lives as long as its snapshot. */
struct auth_user {
    char *name;              /* owned; "" for a token or when nothing is required */
    char *password;          /* owned; plain or bcrypt; NULL: none */
    struct account *account; /* borrowed: accounts outlive every snapshot */
    struct perms *perms;     /* owned or NULL */
    bool perms_shared;       /* perms belong to the snapshot's defaults */
    bool no_standard;        /* connection types were given and STANDARD is not among them */
    struct auth_user *next;  /* owned: chain of the table */
};

/* Finds (or makes) the account of a name. Called on the main thread while a snapshot is made. */
typedef struct account *auth_account_fn(void *arg, const char *name);

enum status auth_new(struct auth **out, const struct config *cfg, auth_account_fn *account,
                     void *arg) MUST_CHECK;
struct auth *auth_ref(struct auth *a);
/* NULL is allowed. */
void auth_unref(struct auth *a);

/* False: anybody may connect, as auth_anonymous. */
bool auth_is_required(const struct auth *a);
/* The user of a connection that brings no credentials, or NULL: that is a violation. */
const struct auth_user *auth_anonymous(const struct auth *a);

/* The token that connects, or NULL. */
const char *auth_token(const struct auth *a);

/* What CONNECT brought; NULL where a part was not given. */
struct auth_creds {
    const char *user, *password, *token;
};

/* Finds the user that the credentials name, and the secret to be compared with what was given.
 * False: there is none such. *stored NULL: nothing is to be compared. */
bool auth_find(const struct auth *a, const struct auth_creds *c, const struct auth_user **user,
               const char **stored, const char **given);

/* True for a bcrypt hash: compared on the hashing threads only, as it is slow on purpose. */
bool auth_is_bcrypt(const char *stored);
/* Constant time in the content for plain secrets. Slow for bcrypt. */
bool auth_secret_matches(const char *stored, const char *given);

#endif
