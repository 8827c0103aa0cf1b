/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/conn_label.h"

#include <stdio.h>
#include <string.h>

#include "server/auth/account.h"
#include "server/auth/auth.h"
#include "server/net/conn.h"

/* Owned by the caller of conn_label. */
struct text {
    char *s;
    size_t n, cap;
};

static void
put(struct text *t, const char *s)
{
    while (*s != '\0' && t->n + 1 < t->cap) {
        t->s[t->n++] = *s++;
    }
    t->s[t->n] = '\0';
}

/* The clients' words come quoted, and cannot begin a line of their own. */
static void
put_escaped(struct text *t, const char *s)
{
    for (; *s != '\0'; s++) {
        unsigned char ch = (unsigned char)*s;
        char one[8];
        if (ch == '"' || ch == '\\') {
            snprintf(one, sizeof one, "\\%c", ch);
        } else if (ch < 0x20 || ch == 0x7f) {
            snprintf(one, sizeof one, "\\x%02x", ch);
        } else {
            snprintf(one, sizeof one, "%c", ch);
        }
        put(t, one);
    }
}

static void
put_client(struct text *t, const struct conn *c)
{
    const char *parts[] = {c->version, c->lang, c->name};
    const char *before = c->version != NULL ? "v" : "";
    if (c->version == NULL && c->lang == NULL && c->name == NULL) {
        return;
    }
    put(t, " - \"");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i] != NULL) {
            put(t, before);
            put_escaped(t, parts[i]);
            before = ":";
        }
    }
    put(t, "\"");
}

static void
put_user(struct text *t, const struct conn *c)
{
    bool token = c->username == NULL && auth_token(c->auth) != NULL;
    if (c->account == NULL || (c->username == NULL && !token)) {
        return;
    }
    put(t, " - \"");
    put_escaped(t, c->account->name);
    put(t, token ? "/token" : "/user:");
    put_escaped(t, token ? "" : c->username);
    put(t, "\"");
}

void
conn_label(const struct conn *c, char out[CONN_LABEL_LEN])
{
    bool ipv6 = strchr(c->host, ':') != NULL;
    int n = snprintf(out, CONN_LABEL_LEN, "%s%s%s:%u - cid:%llu", ipv6 ? "[" : "", c->host,
                     ipv6 ? "]" : "", c->port, (unsigned long long)c->cid);
    if (!c->got_connect || !c->connected) {
        return;
    }
    struct text t = {.s = out, .n = (size_t)n, .cap = CONN_LABEL_LEN};
    put_client(&t, c);
    put_user(&t, c);
}
