/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/healthz.h"

#include "server/monitor/jput.h"
#include "server/monitor/vopts.h"
#include "server/server.h"

struct health {
    int code;
    const char *type; /* borrowed: static */
    const char *text; /* borrowed: static; NULL: healthy */
};

static struct health
check(struct server *s, const char *account, const char *stream, const char *consumer)
{
    if (account[0] == '\0' && stream[0] != '\0') {
        return (struct health){400, "BAD_REQUEST",
                               "\"account\" must not be empty when checking stream health"};
    }
    if (stream[0] == '\0' && consumer[0] != '\0') {
        return (struct health){400, "BAD_REQUEST",
                               "\"stream\" must not be empty when checking consumer health"};
    }
    if (server_port(s) <= 0 || server_is_lame_duck(s)) {
        return (struct health){500, "CONNECTION",
                               "failed to be ready for connections after 1ms: server"};
    }
    return (struct health){200, NULL, NULL};
}

enum status
healthz_build(struct server *s, struct vopts *o, json_t **out)
{
    vopts_bool(o, "js-enabled");
    vopts_bool(o, "js-enabled-only");
    vopts_bool(o, "js-server-only");
    vopts_bool(o, "js-meta-only");
    const char *account = vopts_str(o, "account", "string");
    const char *stream = vopts_str(o, "stream", "string");
    const char *consumer = vopts_str(o, "consumer", "string");
    bool details = vopts_bool(o, "details");
    if (o->st != ST_OK) {
        return o->st;
    }
    struct health h = check(s, account, stream, consumer);
    struct jput p = {0};
    json_t *root = jput_new(&p);
    jput_str(&p, root, "status", h.text == NULL ? "ok" : "error");
    jput_int(&p, root, "status_code", h.code);
    if (h.text != NULL && details) {
        json_t *e = jput_add_obj(&p, jput_arr(&p, root, "errors"));
        jput_str(&p, e, "type", h.type);
        jput_str(&p, e, "error", h.text);
    } else if (h.text != NULL) {
        jput_str(&p, root, "error", h.text);
    }
    return jput_end(&p, root, out);
}
