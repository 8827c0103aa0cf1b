/* SPDX-License-Identifier: Apache-2.0 */
#include "server/proto/info.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "server/auth/account.h"
#include "server/base/buf.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/base/version.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/server.h"

struct info {
    _Atomic uint32_t refs;
    char *head; /* owned: the JSON object without its closing brace */
    size_t head_len;
    bool lame_duck;
};

static json_t *
to_json(const struct info_spec *spec)
{
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:i, s:{s:s, s:s}, s:s, s:i, s:b, s:I, s:s}", "server_id",
                  spec->server_id, "server_name", spec->server_name, "version", SERVER_VERSION,
                  "proto", SERVER_PROTO, "sluice", "name", "sluice", "version", SLUICE_VERSION,
                  "host", spec->host, "port", spec->port, "headers", spec->headers ? 1 : 0,
                  "max_payload", (json_int_t)spec->max_payload, "xkey", spec->xkey);
    if (o != NULL && spec->auth_required) {
        json_object_set_new(o, "auth_required", json_true());
    }
    if (o != NULL && spec->jetstream) {
        json_object_set_new(o, "jetstream", json_true());
        json_object_set_new(o, "api_lvl", json_integer(JS_API_LEVEL));
        if (spec->domain != NULL) {
            json_object_set_new(o, "domain", json_string(spec->domain));
        }
    }
    if (o != NULL && spec->lame_duck) {
        json_object_set_new(o, "ldm", json_true());
    }
    return o;
}

enum status
info_new(struct info **out, const struct info_spec *spec)
{
    struct info *i = mem_alloc(sizeof *i);
    json_t *o = to_json(spec);
    char *text = o != NULL ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    if (i != NULL && text != NULL) {
        i->head_len = strlen(text) - 1;
        i->head = mem_strndup(text, i->head_len);
    }
    free(text);
    if (i == NULL || i->head == NULL) {
        mem_free(i);
        return ST_NOMEM;
    }
    atomic_init(&i->refs, 1);
    i->lame_duck = spec->lame_duck;
    *out = i;
    return ST_OK;
}

struct info *
info_ref(struct info *i)
{
    atomic_fetch_add(&i->refs, 1);
    return i;
}

void
info_unref(struct info *i)
{
    if (i != NULL && atomic_fetch_sub(&i->refs, 1) == 1) {
        mem_free(i->head);
        mem_free(i);
    }
}

/* Account names come from the configuration and may hold anything: escaped by jansson. */
static void
put_account(struct buf *line, const struct account *a)
{
    json_t *name = json_string(a->name);
    char *text = name != NULL ? json_dumps(name, JSON_ENCODE_ANY) : NULL;
    if (text != NULL) {
        buf_printf(line, ",\"remote_account\":%s", text);
    }
    free(text);
    json_decref(name);
    if (a->is_system) {
        buf_puts(line, ",\"acc_is_sys\":true");
    }
}

void
info_send(struct conn *c, bool connect_info)
{
    const struct info *i = c->loop->info;
    struct buf line;
    buf_init(&line);
    buf_puts(&line, "INFO ");
    buf_append(&line, i->head, i->head_len);
    buf_printf(&line, ",\"client_id\":%llu,\"client_ip\":\"%s\"", (unsigned long long)c->cid,
               c->host);
    if (connect_info && c->account != NULL) {
        buf_puts(&line, ",\"connect_info\":true");
        put_account(&line, c->account);
    }
    buf_puts(&line, "} \r\n");
    if (buf_status(&line) == ST_OK) {
        conn_send(c, line.data, line.len);
    } else {
        conn_close(c, CLOSE_NOMEM);
    }
    buf_fini(&line);
}
