/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/tool/target.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/buf.h"
#include "server/base/mem.h"

#define SCHEME       "nats://"
#define DEFAULT_PORT "4222"

static int
hex(char c)
{
    if (!isxdigit((unsigned char)c)) {
        return -1;
    }
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* A copy with its %XX decoded; NULL: out of memory. */
static char *
decode(const char *p, size_t n)
{
    char *out = mem_alloc(n + 1);
    size_t at = 0;

    for (size_t i = 0; out != NULL && i < n; i++) {
        if (p[i] == '%' && i + 2 < n && hex(p[i + 1]) >= 0 && hex(p[i + 2]) >= 0) {
            out[at++] = (char)(hex(p[i + 1]) * 16 + hex(p[i + 2]));
            i += 2;
            continue;
        }
        out[at++] = p[i];
    }
    return out;
}

static enum status
take_login(struct target *t, const char *p, size_t n)
{
    const char *colon = memchr(p, ':', n);
    size_t user = colon == NULL ? n : (size_t)(colon - p);

    if (user == 0) {
        return ST_INVAL;
    }
    t->user = decode(p, user);
    if (colon != NULL) {
        t->pass = decode(colon + 1, n - user - 1);
    }
    return t->user == NULL || (colon != NULL && t->pass == NULL) ? ST_NOMEM : ST_OK;
}

static enum status
take_port(struct target *t, const char *p)
{
    char *end = NULL;
    unsigned long n = strtoul(p, &end, 10);

    if (!isdigit((unsigned char)*p) || (strcmp(end, "") != 0 && strcmp(end, "/") != 0) || n == 0 ||
        n > 65535) {
        return ST_INVAL;
    }
    memcpy(t->port, p, (size_t)(end - p) < sizeof(t->port) ? (size_t)(end - p) : 0);
    return t->port[0] == '\0' ? ST_INVAL : ST_OK;
}

static enum status
take_host(struct target *t, const char *p)
{
    const char *end = p + strcspn(p, ":/");
    const char *rest = end;

    if (*p == '[') {
        end = strchr(++p, ']');
        if (end == NULL) {
            return ST_INVAL;
        }
        rest = end + 1;
    }
    if (end == p || (size_t)(end - p) >= sizeof(t->host)) {
        return ST_INVAL;
    }
    memcpy(t->host, p, (size_t)(end - p));
    if (*rest == ':') {
        return take_port(t, rest + 1);
    }
    memcpy(t->port, DEFAULT_PORT, sizeof(DEFAULT_PORT));
    return strcmp(rest, "") == 0 || strcmp(rest, "/") == 0 ? ST_OK : ST_INVAL;
}

enum status
target_parse(struct target *t, const char *url)
{
    memset(t, 0, sizeof(*t));
    if (strncmp(url, SCHEME, strlen(SCHEME)) == 0) {
        url += strlen(SCHEME);
    } else if (strstr(url, "://") != NULL) {
        return ST_UNSUPPORTED;
    }
    const char *at = strrchr(url, '@');
    if (at != NULL) {
        enum status st = take_login(t, url, (size_t)(at - url));
        if (st != ST_OK) {
            return st;
        }
        url = at + 1;
    }
    return take_host(t, url);
}

void
target_fini(struct target *t)
{
    mem_free(t->user);
    mem_free(t->pass);
}

enum status
tenant_parse(struct tenant *t, const char *text, double rate_max)
{
    const char *colon = strchr(text, ':');
    const char *at = strrchr(text, '@');
    char *end = NULL;

    memset(t, 0, sizeof(*t));
    if (colon == NULL || at == NULL || at < colon || colon == text) {
        return ST_INVAL;
    }
    t->rate = strtod(at + 1, &end);
    if (at[1] == '\0' || *end != '\0' || !(t->rate >= 0.1 && t->rate <= rate_max)) {
        return ST_INVAL;
    }
    t->user = mem_strndup(text, (size_t)(colon - text));
    t->pass = mem_strndup(colon + 1, (size_t)(at - colon - 1));
    return t->user == NULL || t->pass == NULL ? ST_NOMEM : ST_OK;
}

void
tenant_fini(struct tenant *t)
{
    mem_free(t->user);
    mem_free(t->pass);
}

char *
target_login(const char *user, const char *pass)
{
    struct buf out;
    char *text = NULL;
    json_t *o = NULL;

    buf_init(&out);
    if (user != NULL) {
        o = pass == NULL ? json_pack("{s:s}", "auth_token", user)
                         : json_pack("{s:s, s:s}", "user", user, "pass", pass);
        text = o == NULL ? NULL : json_dumps(o, JSON_COMPACT);
        json_decref(o);
        if (text == NULL) {
            return NULL;
        }
        /* The members without their braces. */
        buf_putc(&out, ',');
        buf_append(&out, text + 1, strlen(text) - 2);
        free(text);
    }
    char *login = buf_detach(&out, NULL);
    buf_fini(&out);
    return login;
}
