/* SPDX-License-Identifier: Apache-2.0 */
/* CONNECT: a JSON object. As in nats-server keys are matched in any case, unknown ones are
 * ignored, null leaves the default, and a value of the wrong type ends the connection. */
#include <string.h>
#include <strings.h>

#include "server/auth/auth.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/inspect.h"
#include "server/monitor/events.h"
#include "server/net/conn.h"
#include "server/net/conn_subs.h"
#include "server/net/loop.h"
#include "server/net/snapshot.h"
#include "server/proto/login.h"
#include "server/proto/verbs.h"
#include "server/proto/wirejson.h"

enum { PROTO_MAX = 1 };

struct connect {
    bool verbose, pedantic, echo, headers, no_responders, tls_required, account_new;
    json_int_t protocol;
    const char *user, *pass, *token, *name, *lang, *version, *account; /* borrowed: of the JSON */
};

enum field_type { FIELD_BOOL, FIELD_TEXT, FIELD_INT };

struct field {
    const char *key;
    enum field_type type;
    size_t offset; /* (size_t)-1: checked, but not used */
};

#define UNUSED_FIELD SIZE_MAX
static const struct field fields[] = {
    {"verbose", FIELD_BOOL, offsetof(struct connect, verbose)},
    {"pedantic", FIELD_BOOL, offsetof(struct connect, pedantic)},
    {"echo", FIELD_BOOL, offsetof(struct connect, echo)},
    {"headers", FIELD_BOOL, offsetof(struct connect, headers)},
    {"no_responders", FIELD_BOOL, offsetof(struct connect, no_responders)},
    {"tls_required", FIELD_BOOL, offsetof(struct connect, tls_required)},
    {"new_account", FIELD_BOOL, offsetof(struct connect, account_new)},
    {"protocol", FIELD_INT, offsetof(struct connect, protocol)},
    {"user", FIELD_TEXT, offsetof(struct connect, user)},
    {"pass", FIELD_TEXT, offsetof(struct connect, pass)},
    {"auth_token", FIELD_TEXT, offsetof(struct connect, token)},
    {"name", FIELD_TEXT, offsetof(struct connect, name)},
    {"lang", FIELD_TEXT, offsetof(struct connect, lang)},
    {"version", FIELD_TEXT, offsetof(struct connect, version)},
    {"account", FIELD_TEXT, offsetof(struct connect, account)},
    {"nkey", FIELD_TEXT, UNUSED_FIELD},
    {"jwt", FIELD_TEXT, UNUSED_FIELD},
    {"sig", FIELD_TEXT, UNUSED_FIELD},
};

static bool
take_value(struct connect *k, const struct field *f, const json_t *value)
{
    void *at = f->offset == UNUSED_FIELD ? NULL : (char *)k + f->offset;
    switch (f->type) {
    case FIELD_BOOL:
        if (!json_is_boolean(value)) {
            return false;
        }
        if (at != NULL) {
            *(bool *)at = json_is_true(value);
        }
        return true;
    case FIELD_TEXT:
        if (!json_is_string(value)) {
            return false;
        }
        if (at != NULL) {
            *(const char **)at = json_string_value(value);
        }
        return true;
    case FIELD_INT:
        if (!json_is_integer(value)) {
            return false;
        }
        if (at != NULL) {
            *(json_int_t *)at = json_integer_value(value);
        }
        return true;
    }
    return false;
}

static bool
take_fields(struct connect *k, json_t *root)
{
    const char *key;
    json_t *value;
    bool ok = json_is_object(root) || json_is_null(root);
    json_object_foreach(root, key, value)
    {
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
            if (strcasecmp(key, fields[i].key) == 0 && !json_is_null(value)) {
                ok = ok && take_value(k, &fields[i], value);
            }
        }
    }
    return ok;
}

/* Without memory the text stays unknown: it is for people to read. */
static void
set_text(char **field, const char *text)
{
    mem_free(*field);
    *field = text != NULL && text[0] != '\0' ? mem_strdup(text) : NULL;
}

static void
announce(struct conn *c)
{
    struct conn_info info;
    if (snapshot_conn(c, false, &info) == ST_OK) {
        events_connect(c->loop->server, &info);
        conn_info_fini(&info);
    }
}

static void
finish(struct conn *c, bool ok)
{
    if (!ok) {
        verbs_auth_violation(c);
        return;
    }
    announce(c);
    if (c->client_proto < 0 || c->client_proto > PROTO_MAX) {
        conn_send_err(c, "invalid client protocol");
        conn_close(c, CLOSE_BAD_PROTO);
    } else if (c->no_responders && !c->headers) {
        conn_send_err(c, "no responders requires headers support");
        conn_close(c, CLOSE_NO_RESPONDERS);
    } else if (c->verbose) {
        conn_send(c, "+OK\r\n", 5);
    }
}

static void
apply(struct conn *c, const struct connect *k)
{
    c->verbose = k->verbose;
    c->pedantic = k->pedantic;
    c->echo = k->echo;
    c->headers = k->headers && !c->loop->cfg->no_header_support;
    c->parser.headers = c->headers;
    c->no_responders = k->no_responders;
    c->client_proto = k->protocol < 0 || k->protocol > PROTO_MAX ? -1 : (int)k->protocol;
    set_text(&c->name, k->name);
    set_text(&c->lang, k->lang);
    set_text(&c->version, k->version);
    set_text(&c->username, k->user);
}

void
verb_connect(struct conn *c, const struct op *op)
{
    struct connect k = {.verbose = c->verbose,
                        .pedantic = c->pedantic,
                        .echo = c->echo,
                        .headers = c->headers,
                        .no_responders = c->no_responders};
    json_error_t err;
    json_t *root = wirejson_load(op->arg, op->arg_len, &err);
    if (root == NULL || !take_fields(&k, root)) {
        conn_log(c, LVL_ERROR, "CONNECT: %s", root == NULL ? err.text : "wrong type of a field");
        json_decref(root);
        conn_close(c, CLOSE_PROTOCOL);
        return;
    }
    int64_t now = clock_mono_ns();
    if (!c->got_connect) {
        c->rtt = now > c->ping_sent ? now - c->ping_sent : 1;
    } else {
        conn_subs_remove_all(c); /* a second CONNECT may change the account */
    }
    c->last_in = now;
    apply(c, &k);
    c->got_connect = true;
    struct auth_creds creds = {k.user, k.pass, k.token};
    if (k.account_new || (k.account != NULL && k.account[0] != '\0')) {
        verbs_auth_violation(c);
    } else {
        login_check(c, &creds, finish);
    }
    json_decref(root);
}
