/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/events.h"

#include "server/base/clock.h"
#include "server/inspect.h"
#include "server/monitor/jput.h"
#include "server/monitor/monitor.h"
#include "server/monitor/sysevent.h"
#include "server/monitor/text.h"
#include "server/server.h"

static json_t *
begin_event(struct jput *p, struct server *s, const char *type, int64_t wall)
{
    char id[TEXT_ID_LEN];
    json_t *o = jput_new(p);
    jput_str(p, o, "type", type);
    jput_str(p, o, "id", text_new_id(id));
    jput_time(p, o, "timestamp", wall);
    jput_val(p, o, "server", monitor_server_info(s));
    return o;
}

/* Until it has authenticated, a client belongs to the global account. */
static const char *
account_of(const struct conn_info *ci)
{
    return ci->account != NULL && ci->account[0] != '\0' ? ci->account : "$G";
}

/* stop: 0, or when it ended. */
static void
put_client(struct jput *p, json_t *event, const struct conn_info *ci, int64_t stop)
{
    json_t *o = jput_obj(p, event, "client");
    jput_time(p, o, "start", ci->start_wall);
    jput_str_opt(p, o, "host", ci->host);
    jput_int_opt(p, o, "id", (int64_t)ci->cid);
    jput_str(p, o, "acc", account_of(ci));
    jput_str_opt(p, o, "user", ci->user);
    jput_str_opt(p, o, "name", ci->name);
    jput_str_opt(p, o, "lang", ci->lang);
    jput_str_opt(p, o, "ver", ci->version);
    if (stop != 0) {
        jput_int_opt(p, o, "rtt", ci->rtt);
        jput_time(p, o, "stop", stop);
    }
    jput_str(p, o, "name_tag", account_of(ci));
    jput_str_opt(p, o, "kind", ci->kind);
    jput_str_opt(p, o, "client_type", ci->type);
}

static void
put_data(struct jput *p, json_t *o, const char *key, int64_t msgs, int64_t bytes)
{
    json_t *d = jput_obj(p, o, key);
    jput_int(p, d, "msgs", msgs);
    jput_int(p, d, "bytes", bytes);
}

static void
publish(struct server *s, const struct sysevent *e, struct jput *p, json_t *root)
{
    json_t *body;
    if (jput_end(p, root, &body) == ST_OK) {
        sysevent_publish(e, s, body);
        json_decref(body);
    }
}

static void
publish_end(struct server *s, const struct sysevent *e, const struct conn_info *ci)
{
    int64_t stop = ci->stop_wall != 0 ? ci->stop_wall : clock_wall_ns();
    struct jput p = {0};
    json_t *o = begin_event(&p, s, "io.nats.server.advisory.v1.client_disconnect", stop);
    put_client(&p, o, ci, stop);
    /* NB: seen from the client, so what it sent is what came in. */
    put_data(&p, o, "sent", ci->in_msgs, ci->in_bytes);
    put_data(&p, o, "received", ci->out_msgs, ci->out_bytes);
    jput_str(&p, o, "reason", ci->reason);
    publish(s, e, &p, o);
}

void
events_connect(struct server *s, const struct conn_info *ci)
{
    monitor_account_changed(server_monitor(s), account_of(ci));
    struct sysevent e;
    if (!sysevent_is_wanted(&e, s, "$SYS.ACCOUNT.", account_of(ci), ".CONNECT")) {
        return;
    }
    struct jput p = {0};
    json_t *o = begin_event(&p, s, "io.nats.server.advisory.v1.client_connect", clock_wall_ns());
    put_client(&p, o, ci, 0);
    publish(s, &e, &p, o);
}

void
events_disconnect(struct server *s, const struct conn_info *ci)
{
    monitor_account_changed(server_monitor(s), account_of(ci));
    struct sysevent e;
    if (sysevent_is_wanted(&e, s, "$SYS.ACCOUNT.", account_of(ci), ".DISCONNECT")) {
        publish_end(s, &e, ci);
    }
}

void
events_auth_error(struct server *s, const struct conn_info *ci)
{
    struct sysevent e;
    if (sysevent_is_wanted(&e, s, "$SYS.SERVER.", server_id(s), ".CLIENT.AUTH.ERR")) {
        publish_end(s, &e, ci);
    }
}

static void
publish_server(struct server *s, const char *after)
{
    struct sysevent e;
    if (sysevent_is_wanted(&e, s, "$SYS.SERVER.", server_id(s), after)) {
        json_t *info = monitor_server_info(s);
        sysevent_publish(&e, s, info);
        json_decref(info);
    }
}

void
events_shutdown(struct server *s)
{
    publish_server(s, ".SHUTDOWN");
}

void
events_lame_duck(struct server *s)
{
    publish_server(s, ".LAMEDUCK");
}
