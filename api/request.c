/* SPDX-License-Identifier: Apache-2.0 */
#include "api/request.h"

#include <string.h>

#include "server/base/mem.h"

static const char *
put(char **at, const char *s, size_t n)
{
    char *p = *at;
    if (n > 0) {
        memcpy(p, s, n);
    }
    p[n] = '\0';
    *at = p + n + 1;
    return p;
}

enum status
request_new(struct api_request **out, struct api *a, const struct api_endpoint *ep,
            const struct api_message *m)
{
    const struct api_origin *o = &m->origin;
    size_t subject = strlen(m->subject);
    size_t reply = strlen(m->reply);
    size_t user = strlen(o->user);
    size_t client = strlen(o->client);
    size_t host = strlen(o->host);
    size_t hdr_len = m->hdr == NULL ? 0 : m->hdr_len;
    size_t size = sizeof(struct api_request) + subject + reply + user + client + host + hdr_len +
                  m->data_len + 7;
    /* Raw: the payload need not be zeroed only to be overwritten. */
    struct api_request *r = mem_alloc_raw(size);
    if (r == NULL) {
        return ST_NOMEM;
    }
    char *at = (char *)(r + 1);
    *r = (struct api_request){.api = a, .ep = ep, .origin = *o};
    r->subject = put(&at, m->subject, subject);
    r->reply = put(&at, m->reply, reply);
    r->origin.user = put(&at, o->user, user);
    r->origin.client = put(&at, o->client, client);
    r->origin.host = put(&at, o->host, host);
    if (m->hdr != NULL) {
        r->hdr = put(&at, m->hdr, hdr_len);
        r->hdr_len = hdr_len;
    }
    r->data = put(&at, m->data, m->data_len);
    r->data_len = m->data_len;

    apiq_item_init(&r->item);
    r->item.flow = o->account_key;
    r->item.owner = o->is_client ? o->cid : 0;
    r->item.bytes = size;
    r->item.label = r->subject;
    r->item.name = o->account_name;
    *out = r;
    return ST_OK;
}

void
request_free(struct api_request *r)
{
    mem_free(r);
}

struct api_request *
request_of_entry(struct group_entry *e)
{
    return LIST_ENTRY(e, struct api_request, group);
}

struct api_request *
request_of(struct apiq_item *it)
{
    return LIST_ENTRY(it, struct api_request, item);
}
