/* SPDX-License-Identifier: Apache-2.0 */
/* hello [URL]: a first client, written with nats.c. It answers requests on `hello.*` as a service
 * would, asks that service once and publishes a burst of messages to itself. Build: cc hello.c
 * -lnats */
#include <nats/nats.h>
#include <stdio.h>

#define BURST       100000
#define PATIENCE_MS 5000

static void
on_hello(natsConnection *nc, natsSubscription *sub, natsMsg *request, void *unused)
{
    (void)sub;
    (void)unused;
    char answer[128];
    snprintf(answer, sizeof answer, "Hello, %.*s!", natsMsg_GetDataLength(request),
             natsMsg_GetData(request));
    natsConnection_PublishString(nc, natsMsg_GetReply(request), answer);
    natsMsg_Destroy(request);
}

static natsStatus
ask(natsConnection *nc)
{
    natsMsg *answer = NULL;
    int64_t start = nats_NowInNanoSeconds();
    natsStatus s = natsConnection_RequestString(&answer, nc, "hello.you", "world", PATIENCE_MS);
    if (s == NATS_OK) {
        printf("request on hello.you: \"%s\" after %.2f ms\n", natsMsg_GetData(answer),
               (double)(nats_NowInNanoSeconds() - start) / 1e6);
    }
    natsMsg_Destroy(answer);
    return s;
}

/* What is published comes back, in order; the last one tells that all did. */
static natsStatus
burst(natsConnection *nc)
{
    natsSubscription *sub = NULL;
    int64_t start = nats_NowInNanoSeconds();
    natsStatus s = natsConnection_SubscribeSync(&sub, nc, "burst");
    if (s == NATS_OK) {
        s = natsSubscription_SetPendingLimits(sub, -1, -1);
    }
    for (int i = 0; i < BURST && s == NATS_OK; i++) {
        s = natsConnection_PublishString(nc, "burst", "sixteen bytes...");
    }
    for (int i = 0; i < BURST && s == NATS_OK; i++) {
        natsMsg *msg = NULL;
        s = natsSubscription_NextMsg(&msg, sub, PATIENCE_MS);
        natsMsg_Destroy(msg);
    }
    if (s == NATS_OK) {
        double seconds = (double)(nats_NowInNanoSeconds() - start) / 1e9;
        printf("%d messages there and back: %.0f a second\n", BURST, BURST / seconds);
    }
    natsSubscription_Destroy(sub);
    return s;
}

int
main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : NATS_DEFAULT_URL;
    natsConnection *nc = NULL;
    natsSubscription *service = NULL;
    natsStatus s = natsConnection_ConnectTo(&nc, url);
    if (s == NATS_OK) {
        printf("connected to %s\n", url);
        s = natsConnection_QueueSubscribe(&service, nc, "hello.*", "greeters", on_hello, NULL);
    }
    if (s == NATS_OK) {
        s = ask(nc);
    }
    if (s == NATS_OK) {
        s = burst(nc);
    }
    if (s != NATS_OK) {
        fprintf(stderr, "hello: %s: %s\n", url, natsStatus_GetText(s));
    }
    natsSubscription_Destroy(service);
    natsConnection_Destroy(nc);
    nats_Close();
    return s == NATS_OK ? 0 : 1;
}
