/* SPDX-License-Identifier: Apache-2.0 */
/* Who is loaded, and as whom: the URL of a server, the tenants of a run. Pure but for memory. */
#ifndef TESTS_BENCH_TOOL_TARGET_H
#define TESTS_BENCH_TOOL_TARGET_H

#include <stddef.h>

#include "server/base/status.h"

#define TARGET_HOST_MAX 256

struct target {
    char host[TARGET_HOST_MAX];
    char port[6];
    char *user; /* owned; NULL: none in the URL */
    char *pass; /* owned; NULL: none in the URL; without one, user is a token */
};

/* "[nats://][user[:password]@]host[:port]", IPv6 in brackets, %XX in user and password.
 * ST_UNSUPPORTED: another scheme. target_fini on every path. */
enum status target_parse(struct target *t, const char *url) MUST_CHECK;
void target_fini(struct target *t);

struct tenant {
    char *user; /* owned */
    char *pass; /* owned */
    double rate;
};

/* "USER:PASSWORD@RATE": the first colon and the last @ divide it. tenant_fini on every path. */
enum status tenant_parse(struct tenant *t, const char *text, double rate_max) MUST_CHECK;
void tenant_fini(struct tenant *t);

/* Members for CONNECT's JSON, with a comma in front ("" without a user): mem_free it. A user
 * without a password is a token. NULL: out of memory. */
char *target_login(const char *user, const char *pass) MUST_CHECK;

#endif
