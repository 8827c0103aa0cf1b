/* SPDX-License-Identifier: Apache-2.0 */
/* A request is complete when evhttp calls us; the view is built, printed and handed back in that
 * call. What a client sends is bounded (header, body, number of connections, time). */
#include "server/monitor/http.h"

#include <ctype.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/api.h"
#include "server/base/buf.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/monitor/guard.h"
#include "server/monitor/index.h"
#include "server/monitor/jput.h"
#include "server/monitor/metrics.h"
#include "server/monitor/monitor.h"
#include "server/monitor/params.h"
#include "server/monitor/procz.h"
#include "server/monitor/routes.h"
#include "server/server.h"

enum {
    TIMEOUT_S = 10, /* of silence while reading or writing */
    MAX_HEADERS = 64 * 1024,
    MAX_BODY = 64 * 1024,
    BACKLOG = 128,
    N_COUNTERS = 32
};

#define TEXT_PLAIN "text/plain; charset=utf-8"

/* Owner: the monitor's thread; counters and port: read by any. */
struct http {
    struct server *server;           /* borrowed: outlives the monitor */
    struct evhttp *ev;               /* owned */
    struct evconnlistener *listener; /* owned by ev */
    struct guard *guard;             /* owned */
    char *base_path;                 /* owned; "" or "/x" */
    int port;
    _Atomic uint64_t counters[N_COUNTERS]; /* by index of the route */
};

static void
finish(struct evhttp_request *req, int code, const char *type, struct evbuffer *body)
{
    struct evkeyvalq *h = evhttp_request_get_output_headers(req);
    evhttp_add_header(h, "Content-Type", type);
    if (evhttp_request_get_command(req) == EVHTTP_REQ_HEAD) {
        char len[32];
        snprintf(len, sizeof len, "%zu", evbuffer_get_length(body));
        evhttp_add_header(h, "Content-Length", len);
        evbuffer_drain(body, evbuffer_get_length(body));
    }
    static const struct {
        int code;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {400, "Bad Request"},
                   {404, "Not Found"},
                   {500, "Internal Server Error"},
                   {503, "Service Unavailable"}};
    const char *reason = "";
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (reasons[i].code == code) {
            reason = reasons[i].reason;
        }
    }
    evhttp_send_reply(req, code, reason, body);
}

static void
send_text(struct evhttp_request *req, int code, const char *type, const char *text)
{
    struct evbuffer *body = evbuffer_new();
    if (body == NULL || evbuffer_add(body, text, strlen(text)) != 0) {
        evhttp_send_error(req, HTTP_SERVUNAVAIL, NULL);
    } else {
        finish(req, code, type, body);
    }
    if (body != NULL) {
        evbuffer_free(body);
    }
}

/* Takes text, from mem_alloc; NULL: out of memory. */
static void
send_owned(struct evhttp_request *req, const char *type, char *text)
{
    if (text == NULL) {
        send_text(req, 503, TEXT_PLAIN, status_text(ST_NOMEM));
        return;
    }
    send_text(req, 200, type, text);
    mem_free(text);
}

static int
add_to_body(const char *data, size_t n, void *arg)
{
    return evbuffer_add(arg, data, n);
}

/* Takes j, a new reference; NULL: out of memory. */
static void
send_json(struct evhttp_request *req, int code, json_t *j, const struct route *r)
{
    struct evbuffer *body = evbuffer_new();
    size_t flags =
        JSON_REAL_PRECISION(15) | (r->indent > 0 ? JSON_INDENT((size_t)r->indent) : JSON_COMPACT);
    if (j == NULL || body == NULL || json_dump_callback(j, add_to_body, body, flags) != 0) {
        send_text(req, 503, TEXT_PLAIN, status_text(ST_NOMEM));
    } else {
        evhttp_add_header(evhttp_request_get_output_headers(req), "Access-Control-Allow-Origin",
                          "*");
        finish(req, code, r->type != NULL ? r->type : "application/json", body);
    }
    json_decref(j);
    if (body != NULL) {
        evbuffer_free(body);
    }
}

static void
send_failure(struct evhttp_request *req, enum status st, char *err)
{
    bool is_clients = st == ST_INVAL || st == ST_SYNTAX || st == ST_CANCELLED;
    send_text(req, is_clients ? 400 : 503, TEXT_PLAIN, err != NULL ? err : status_text(st));
    mem_free(err);
}

/* The code is in the answer's first line, so it leaves the body. */
static int
take_health_code(json_t *j)
{
    int code = (int)json_integer_value(json_object_get(j, "status_code"));
    json_object_del(j, "status_code");
    const char *error = json_string_value(json_object_get(j, "error"));
    size_t n = json_array_size(json_object_get(j, "errors"));
    static struct log_limit limit;
    uint64_t held;
    if ((error != NULL || n > 0) && log_limit_pass(&limit, &held)) {
        if (error != NULL) {
            log_warn("Healthcheck failed: \"%s\"", error);
        } else {
            log_warn("Healthcheck failed: %zu errors", n);
        }
    }
    return code;
}

static void
serve_view(struct http *h, struct evhttp_request *req, const struct route *r)
{
    const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(req));
    json_t *options = NULL;
    json_t *j = NULL;
    char *err = NULL;
    enum status st = params_parse(query, r->params, r->n_params, &options, &err);
    if (st == ST_OK) {
        st = monitor_view(h->server, r->view, options, &j, &err);
        json_decref(options);
    }
    if (st != ST_OK) {
        send_failure(req, st, err);
        return;
    }
    int code = r->kind == ROUTE_HEALTH ? take_health_code(j) : 200;
    send_json(req, code, j, r);
}

static void
serve(struct http *h, struct evhttp_request *req, const struct route *r)
{
    struct api *api = server_api(h->server);
    switch (r->kind) {
    case ROUTE_VIEW:
    case ROUTE_HEALTH:
        serve_view(h, req, r);
        break;
    case ROUTE_INDEX:
        send_owned(req, "text/html; charset=utf-8", index_html(h->server, h->base_path));
        break;
    case ROUTE_THREADS:
        send_owned(req, "application/json", procz_threads());
        break;
    case ROUTE_APIZ:
    case ROUTE_WLMZ:
        if (api == NULL) {
            send_text(req, 503, TEXT_PLAIN, "the API plane is not running");
        } else {
            send_json(req, 200, r->kind == ROUTE_APIZ ? api_apiz(api) : api_wlmz(api), r);
        }
        break;
    case ROUTE_METRICS:
        send_owned(req, "text/plain; version=0.0.4; charset=utf-8", metrics_text(h->server));
        break;
    case ROUTE_RAFT:
        send_text(req, 404, TEXT_PLAIN, "No Raft nodes registered");
        break;
    }
}

/* What of the path is ours: behind the base path, "/" for the base itself; NULL: nothing. */
static const char *
below_base(const struct http *h, const char *path)
{
    size_t n = strlen(h->base_path);
    if (n == 0) {
        return path;
    }
    if (strncmp(path, h->base_path, n) != 0) {
        return NULL;
    }
    return path[n] == '\0' ? "/" : path[n] == '/' && path[n + 1] != '\0' ? path + n : NULL;
}

static void
on_request(struct evhttp_request *req, void *arg)
{
    struct http *h = arg;
    guard_touch(h->guard, req);
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
    const char *raw = uri != NULL ? evhttp_uri_get_path(uri) : NULL;
    char *path = raw != NULL ? evhttp_uridecode(raw, 0, NULL) : NULL;
    const char *own = path != NULL ? below_base(h, path) : NULL;
    int i = own != NULL ? routes_find(own) : -1;
    free(path); /* libevent's allocation */
    if (i < 0) {
        evhttp_add_header(evhttp_request_get_output_headers(req), "X-Content-Type-Options",
                          "nosniff");
        send_text(req, 404, TEXT_PLAIN, "404 page not found\n");
        return;
    }
    atomic_fetch_add(&h->counters[i], 1);
    serve(h, req, &routes[i]);
}

/* "/a/b" out of "a//b/", "" out of "/". */
static char *
clean_base_path(const char *p)
{
    struct buf b;
    buf_init(&b);
    buf_puts(&b, "");
    while (p != NULL && *p != '\0') {
        size_t n = strcspn(p, "/");
        if (n > 0 && !(n == 1 && p[0] == '.')) {
            buf_putc(&b, '/');
            buf_append(&b, p, n);
        }
        p += n + (p[n] == '/');
    }
    return buf_detach(&b, NULL);
}

/* As net.JoinHostPort. */
static char *
host_port(const char *host, int port)
{
    struct buf b;
    buf_init(&b);
    const char *fmt = strchr(host, ':') != NULL ? "[%s]:%d" : "%s:%d";
    if (fmt[0] == '[') {
        buf_printf(&b, "[%s]:%d", host, port);
    } else {
        buf_printf(&b, "%s:%d", host, port);
    }
    return buf_detach(&b, NULL);
}

static char *
listen_error(const char *host, int port, const char *reason)
{
    struct buf b;
    buf_init(&b);
    char *hp = host_port(host, port);
    buf_printf(&b, "can't listen to the monitor port: listen tcp %s: %c%s", hp != NULL ? hp : host,
               tolower((unsigned char)reason[0]), reason + 1);
    mem_free(hp);
    return buf_detach(&b, NULL);
}

static int
bound_port(evutil_socket_t fd)
{
    struct sockaddr_storage sa = {0};
    socklen_t len = sizeof sa;
    char port[16];
    if (getsockname(fd, (struct sockaddr *)&sa, &len) != 0 ||
        getnameinfo((struct sockaddr *)&sa, len, NULL, 0, port, sizeof port, NI_NUMERICSERV) != 0) {
        return 0;
    }
    return (int)strtol(port, NULL, 10);
}

static enum status
bind_listener(struct http *h, struct event_base *base, const struct http_opts *opts, char **why)
{
    char service[16];
    int port = opts->port < 0 ? 0 : opts->port;
    snprintf(service, sizeof service, "%d", port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int rc = getaddrinfo(opts->host[0] != '\0' ? opts->host : NULL, service, &hints, &found);
    if (rc != 0) {
        *why = listen_error(opts->host, port, gai_strerror(rc));
        return ST_IO;
    }
    unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE;
    struct evconnlistener *l = NULL;
    for (struct addrinfo *a = found; a != NULL && l == NULL; a = a->ai_next) {
        l = evconnlistener_new_bind(base, NULL, NULL, flags, BACKLOG, a->ai_addr,
                                    (int)a->ai_addrlen);
    }
    int saved = errno;
    freeaddrinfo(found);
    if (l == NULL) {
        char text[128];
        *why = listen_error(opts->host, port, strerror_r(saved, text, sizeof text));
        return ST_IO;
    }
    if (evhttp_bind_listener(h->ev, l) == NULL) {
        evconnlistener_free(l);
        return ST_NOMEM;
    }
    h->listener = l;
    h->port = bound_port(evconnlistener_get_fd(l));
    return ST_OK;
}

static void
configure(struct http *h)
{
    evhttp_set_timeout(h->ev, TIMEOUT_S);
    evhttp_set_max_headers_size(h->ev, MAX_HEADERS);
    evhttp_set_max_body_size(h->ev, MAX_BODY);
    evhttp_set_allowed_methods(h->ev, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
                                          EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS |
                                          EVHTTP_REQ_PATCH | EVHTTP_REQ_TRACE);
    evhttp_set_gencb(h->ev, on_request, h);
}

enum status
http_new(struct http **out, struct event_base *base, struct server *s, const struct http_opts *opts,
         char **why)
{
    *why = NULL;
    enum status st = ST_NOMEM;
    struct http *h = mem_alloc(sizeof *h);
    if (h == NULL) {
        return ST_NOMEM;
    }
    h->server = s;
    h->base_path = clean_base_path(opts->base_path);
    if (h->base_path == NULL) {
        goto err_after_alloc;
    }
    h->ev = evhttp_new(base);
    if (h->ev == NULL) {
        goto err_after_path;
    }
    st = bind_listener(h, base, opts, why);
    if (st != ST_OK) {
        goto err_after_ev;
    }
    st = guard_new(&h->guard, base, h->ev, h->listener);
    if (st != ST_OK) {
        goto err_after_ev;
    }
    configure(h);
    char *hp = host_port(opts->host, h->port);
    log_info("Starting http monitor on %s", hp != NULL ? hp : "");
    mem_free(hp);
    *out = h;
    return ST_OK;

err_after_ev:
    evhttp_free(h->ev);
err_after_path:
    mem_free(h->base_path);
err_after_alloc:
    mem_free(h);
    return st;
}

void
http_free(struct http *h)
{
    if (h == NULL) {
        return;
    }
    evhttp_free(h->ev);
    guard_free(h->guard);
    mem_free(h->base_path);
    mem_free(h);
}

void
http_tick(struct http *h, int64_t now)
{
    guard_tick(h->guard, now);
}

int
http_port(const struct http *h)
{
    return h->port;
}

json_t *
http_stats(const struct http *h)
{
    struct jput p = {0};
    json_t *o = jput_new(&p);
    for (size_t i = 0; i < routes_count; i++) {
        uint64_t n = atomic_load(&h->counters[i]);
        if (n == 0 || routes[i].stat == NULL) {
            continue;
        }
        json_int_t before = json_integer_value(json_object_get(o, routes[i].stat));
        jput_int(&p, o, routes[i].stat, before + (int64_t)n);
    }
    json_t *out;
    return jput_end(&p, o, &out) == ST_OK ? out : NULL;
}
