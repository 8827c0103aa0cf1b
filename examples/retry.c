/* SPDX-License-Identifier: Apache-2.0 */
/* retry URL SUBJECT [PAYLOAD [COUNT]]: asks, and does with a refusal what docs/retry.md says: waits
 * as long as the server asks it to, with jitter, and gives up when the whole has taken too long.
 * Written with nats.c. Build: cc retry.c -lnats */
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS  20000 /* for the whole of one request, all tries together */
#define TRY_MS       2000  /* for one try */
#define BACKOFF_MS   100   /* the first wait where nobody says how long */
#define LONGEST_MS   30000 /* no wait is longer, whoever asks for it */
#define STRETCH_MORE 50    /* per cent that a wait may be longer than asked for */

/* What came of one try. */
enum outcome {
    ANSWERED,
    REFUSED, /* the server says that nothing was done */
    UNKNOWN, /* no answer: it may have been done */
    FAILED,  /* asking again would not help */
};

struct result {
    enum outcome outcome;
    int code;
    double after_ms; /* < 0: the server did not say */
    char text[256];
};

static const char *
header(natsMsg *msg, const char *name)
{
    const char *value = NULL;
    return natsMsgHeader_Get(msg, name, &value) == NATS_OK ? value : NULL;
}

/* "error":{"code":429, …} of an answer of $JS.API, $SYS.REQ or $WLM.API; 0: it has none. A program
 * with a JSON library takes that. */
static int
json_error(natsMsg *msg)
{
    char text[512];
    snprintf(text, sizeof text, "%.*s", natsMsg_GetDataLength(msg), natsMsg_GetData(msg));
    const char *error = strstr(text, "\"error\":{");
    const char *code = error == NULL ? NULL : strstr(error, "\"code\":");
    return code == NULL ? 0 : atoi(code + strlen("\"code\":"));
}

static void
judge(natsMsg *msg, struct result *r)
{
    const char *code = header(msg, "Nats-Service-Error-Code");
    const char *error = header(msg, "Nats-Service-Error");
    const char *after = header(msg, "Nats-Retry-After");
    r->code = code != NULL ? atoi(code) : json_error(msg);
    /* NB: only who sends this header promises that nothing was done. */
    r->after_ms = after == NULL ? -1 : strtod(after, NULL) * 1000;
    r->outcome = r->code == 0 ? ANSWERED : after != NULL ? REFUSED : FAILED;
    if (error != NULL) {
        snprintf(r->text, sizeof r->text, "%s", error);
    } else {
        snprintf(r->text, sizeof r->text, "%.*s", natsMsg_GetDataLength(msg), natsMsg_GetData(msg));
    }
}

/* Asks once and waits for so long, which the server is told: it does not work for who has left. */
static natsStatus
ask_once(natsConnection *nc, const char *subject, const char *payload, int64_t wait_ms,
         struct result *r)
{
    natsMsg *request = NULL;
    natsMsg *answer = NULL;
    char timeout[32];
    *r = (struct result){.outcome = UNKNOWN, .after_ms = -1};
    snprintf(timeout, sizeof timeout, "%lldms", (long long)wait_ms);
    natsStatus s = natsMsg_Create(&request, subject, NULL, payload, (int)strlen(payload));
    if (s == NATS_OK) {
        s = natsMsgHeader_Set(request, "Nats-Request-Timeout", timeout);
    }
    if (s == NATS_OK) {
        s = natsConnection_RequestMsg(&answer, nc, request, wait_ms);
    }
    if (s == NATS_OK) {
        judge(answer, r);
    } else {
        snprintf(r->text, sizeof r->text, "%s", natsStatus_GetText(s));
        r->outcome = s == NATS_NO_RESPONDERS ? REFUSED : s == NATS_TIMEOUT ? UNKNOWN : FAILED;
        r->code = s == NATS_NO_RESPONDERS ? 503 : 0;
    }
    natsMsg_Destroy(answer);
    natsMsg_Destroy(request);
    return s;
}

/* Never shorter than asked for: so that many who were refused together do not come back together,
 * up to half as long again. Where nobody says how long: twice as long each time. */
static int64_t
wait_for(const struct result *r, int tries, unsigned *seed)
{
    double ms = r->after_ms;
    if (ms < 0) {
        ms = BACKOFF_MS;
        for (int i = 1; i < tries && ms < LONGEST_MS; i++) {
            ms *= 2;
        }
    }
    ms *= 1 + (double)(rand_r(seed) % (STRETCH_MORE + 1)) / 100;
    return (int64_t)(ms < LONGEST_MS ? ms : LONGEST_MS) + 1;
}

/* 0: answered. idempotent: it may be done twice. */
static int
ask(natsConnection *nc, const char *subject, const char *payload, int idempotent)
{
    unsigned seed = (unsigned)nats_NowInNanoSeconds();
    int64_t end = nats_Now() + PATIENCE_MS;
    for (int tries = 1;; tries++) {
        struct result r;
        int64_t left = end > nats_Now() ? end - nats_Now() : 1;
        (void)ask_once(nc, subject, payload, left < TRY_MS ? left : TRY_MS, &r);
        if (r.outcome == ANSWERED) {
            printf("answered at try %d: %s\n", tries, r.text);
            return 0;
        }
        if (r.outcome == FAILED || (r.outcome == UNKNOWN && !idempotent)) {
            printf("failed at try %d: %d %s\n", tries, r.code, r.text);
            return 1;
        }
        int64_t wait = wait_for(&r, tries, &seed);
        if (nats_Now() + wait >= end) {
            printf("given up after %d tries: %d %s\n", tries, r.code, r.text);
            return 1;
        }
        printf("try %d: %d %s; again in %lld ms\n", tries, r.code, r.text, (long long)wait);
        nats_Sleep(wait);
    }
}

int
main(int argc, char **argv)
{
    natsConnection *nc = NULL;
    int failed = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: retry URL SUBJECT [PAYLOAD [COUNT]]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    natsStatus s = natsConnection_ConnectTo(&nc, argv[1]);
    for (int i = 0; i < (argc > 4 ? atoi(argv[4]) : 1) && s == NATS_OK; i++) {
        failed += ask(nc, argv[2], argc > 3 ? argv[3] : "", 1);
    }
    if (s != NATS_OK) {
        fprintf(stderr, "retry: %s: %s\n", argv[1], natsStatus_GetText(s));
    }
    natsConnection_Destroy(nc);
    nats_Close();
    return s == NATS_OK && failed == 0 ? 0 : 1;
}
