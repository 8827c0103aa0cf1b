/* SPDX-License-Identifier: Apache-2.0 */
/* Who a connection is: credentials, the user found for them, the account it joins. On the
 * connection's loop; bcrypt is compared on the hashing threads (auth/hasher.h). */
#ifndef SERVER_PROTO_LOGIN_H
#define SERVER_PROTO_LOGIN_H

#include <stdbool.h>

struct auth_creds;
struct auth_user;
struct conn;

/* Makes c a connection of that user (of c->auth): joins the account, takes its limits and
 * permissions. False: it was closed (the account is full, no memory). */
bool login_as(struct conn *c, const struct auth_user *user);

/* Checks credentials. Ends in a call of done(c, ok), at once or, with a bcrypt hash, later; until
 * then c is not read. */
void login_check(struct conn *c, const struct auth_creds *creds,
                 void (*done)(struct conn *c, bool ok));

/* The configuration was reloaded: c->loop has the new snapshots. Ends c where its user is gone or
 * changed, else takes over permissions and limits. */
void login_reload(struct conn *c);

#endif
