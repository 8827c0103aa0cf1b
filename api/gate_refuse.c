/* SPDX-License-Identifier: Apache-2.0 */
/* What a requester is told whose request did not run. Nothing is allocated for it. */
#include <stdio.h>
#include <string.h>

#include "api/gate_priv.h"
#include "api/gate_request.h"
#include "api/reply.h"
#include "queue/apiq_view.h"

#define SUBJECT_SHOWN 256u

/* As where nobody listens. */
static void
tell_nobody_is_there(const struct api_host *host, const struct gate_asker *to)
{
    char hdr[SUBJECT_SHOWN + 64];
    bool shown = strlen(to->subject) <= SUBJECT_SHOWN;
    int n = snprintf(hdr, sizeof(hdr), "NATS/1.0 503\r\n%s%s%s\r\n", shown ? "Nats-Subject: " : "",
                     shown ? to->subject : "", shown ? "\r\n" : "");
    struct api_bytes body = {hdr, (size_t)n, "", 0};
    host->publish(host->ctx, to->account, to->loop, to->reply, NULL, &body);
}

void
gate_tell(struct gate *g, const struct gate_asker *to, enum ledger_end e, int64_t drain)
{
    const struct api_host *host = g->home->host;
    int code = ledger_end_code(e);
    const char *why = ledger_end_text(e);
    char hdr[256];
    char text[160];
    if (code == 0) {
        return;
    }
    pthread_mutex_lock(&g->home->lock);
    enum gate_refuse how = g->conf.refuse;
    pthread_mutex_unlock(&g->home->lock);
    if (how == GATE_REFUSE_NO_RESPONDERS && to->no_responders) {
        tell_nobody_is_there(host, to);
        return;
    }
    int64_t retry = reply_retry_ns(drain > 0 ? drain : apiq_drain_ns(g->q, APIQ_NORMAL));
    int64_t ms = (retry + CLOCK_MS / 2) / CLOCK_MS;
    int s = (int)(ms / 1000);
    int rest = (int)(ms % 1000);
    int n = snprintf(hdr, sizeof(hdr),
                     "NATS/1.0\r\nNats-Service-Error: %s: the request was not executed\r\n"
                     "Nats-Service-Error-Code: %d\r\nNats-Retry-After: %d.%03d\r\n\r\n",
                     why, code, s, rest);
    /* A client without headers sees this alone. */
    int len =
        snprintf(text, sizeof(text), "%d %s: the request was not executed, retry after %d.%03d s",
                 code, why, s, rest);
    struct api_bytes body = {hdr, (size_t)n, text, (size_t)len};
    host->publish(host->ctx, to->account, to->loop, to->reply, NULL, &body);
}
