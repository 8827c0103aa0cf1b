/* SPDX-License-Identifier: Apache-2.0 */
/* natsc SERVER: what a program written with nats.c expects of its server, case by case, each
 * against a server of its own. Prints PASS or FAIL for each. A case returns NULL, or what went
 * wrong. */
#include <err.h>
#include <nats/nats.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/compat/natsc/proc.h"

#define PATIENCE_MS 5000
#define EXPECT(cond)                                                                               \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            return "line " LINE_TEXT(__LINE__) ": not " #cond;                                     \
        }                                                                                          \
    } while (0)
#define LINE_TEXT(n)  LINE_TEXT_(n)
#define LINE_TEXT_(n) #n
#define OK(call)      EXPECT((call) == NATS_OK)

/* What one case works with; the runner makes it and cleans it up. */
struct fix {
    const char *binary;
    struct proc server;
    natsConnection *nc[3];    /* owned */
    natsSubscription *sub[3]; /* owned */
    natsMsg *msg;             /* owned */
    natsOptions *opts;        /* owned */
};

struct testcase {
    const char *name;
    const char *conf;
    const char *(*run)(struct fix *f);
};

/* A count that callbacks raise and a case waits for. */
struct counter {
    pthread_mutex_t lock;
    pthread_cond_t more;
    int n; /* lock */
};

#define COUNTER_INIT                                                                               \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0                                     \
    }

static void
counter_add(struct counter *c)
{
    pthread_mutex_lock(&c->lock);
    c->n++;
    pthread_cond_broadcast(&c->more);
    pthread_mutex_unlock(&c->lock);
}

/* The count once it is at least `want`, or after the time is over. */
static int
counter_wait(struct counter *c, int want)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&c->lock);
    while (c->n < want && pthread_cond_timedwait(&c->more, &c->lock, &until) == 0) {
    }
    int n = c->n;
    pthread_mutex_unlock(&c->lock);
    return n;
}

static void
on_message_count(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *counter)
{
    (void)nc;
    (void)sub;
    natsMsg_Destroy(msg);
    counter_add(counter);
}

static void
on_request_echo(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *unused)
{
    (void)sub;
    (void)unused;
    natsConnection_Publish(nc, natsMsg_GetReply(msg), natsMsg_GetData(msg),
                           natsMsg_GetDataLength(msg));
    natsMsg_Destroy(msg);
}

static void
on_connection_count(natsConnection *nc, void *counter)
{
    (void)nc;
    counter_add(counter);
}

static natsStatus
dial(struct fix *f, int i, const char *credentials)
{
    char url[128];
    snprintf(url, sizeof url, "nats://%s127.0.0.1:%d", credentials, f->server.port);
    return natsConnection_ConnectTo(&f->nc[i], url);
}

/* ---- cases ---- */

static const char *
case_connects_and_learns_of_the_server(struct fix *f)
{
    char id[128];
    char url[128];
    OK(dial(f, 0, ""));
    OK(natsConnection_GetConnectedServerId(f->nc[0], id, sizeof id));
    EXPECT(strlen(id) == 56 && id[0] == 'N');
    OK(natsConnection_GetConnectedUrl(f->nc[0], url, sizeof url));
    EXPECT(natsConnection_GetMaxPayload(f->nc[0]) == 1048576);
    OK(natsConnection_FlushTimeout(f->nc[0], PATIENCE_MS));
    int64_t rtt = 0;
    OK(natsConnection_GetRTT(f->nc[0], &rtt));
    EXPECT(rtt > 0);
    return NULL;
}

static const char *
case_subscribers_get_all_in_order(struct fix *f)
{
    OK(dial(f, 0, ""));
    OK(dial(f, 1, ""));
    OK(natsConnection_SubscribeSync(&f->sub[0], f->nc[0], "orders.*.new"));
    OK(natsConnection_Flush(f->nc[0]));
    for (int i = 0; i < 1000; i++) {
        char subject[32];
        char text[16];
        snprintf(subject, sizeof subject, "orders.%d.new", i);
        snprintf(text, sizeof text, "%d", i);
        OK(natsConnection_PublishString(f->nc[1], subject, text));
    }
    OK(natsConnection_Flush(f->nc[1]));
    for (int i = 0; i < 1000; i++) {
        OK(natsSubscription_NextMsg(&f->msg, f->sub[0], PATIENCE_MS));
        EXPECT(atoi(natsMsg_GetData(f->msg)) == i);
        natsMsg_Destroy(f->msg);
        f->msg = NULL;
    }
    return NULL;
}

static const char *
case_wildcards_match_as_they_should(struct fix *f)
{
    OK(dial(f, 0, ""));
    OK(natsConnection_SubscribeSync(&f->sub[0], f->nc[0], "a.>"));
    OK(natsConnection_SubscribeSync(&f->sub[1], f->nc[0], "a.*"));
    OK(natsConnection_SubscribeSync(&f->sub[2], f->nc[0], ">"));
    const char *const subjects[] = {"a", "a.b", "a.b.c", "b.a"};
    for (int i = 0; i < 4; i++) {
        OK(natsConnection_PublishString(f->nc[0], subjects[i], "x"));
    }
    OK(natsConnection_Flush(f->nc[0]));
    const int want[] = {2, 1, 4};
    for (int i = 0; i < 3; i++) {
        int n = 0;
        OK(natsSubscription_GetPending(f->sub[i], &n, NULL));
        EXPECT(n == want[i]);
    }
    return NULL;
}

static const char *
case_a_queue_group_shares_the_work(struct fix *f)
{
    int total = 0;
    for (int i = 0; i < 3; i++) {
        OK(dial(f, i, ""));
        OK(natsConnection_QueueSubscribeSync(&f->sub[i], f->nc[i], "work", "crew"));
        OK(natsConnection_Flush(f->nc[i]));
    }
    for (int i = 0; i < 300; i++) {
        OK(natsConnection_PublishString(f->nc[0], "work", "job"));
    }
    for (int i = 0; i < 3; i++) {
        OK(natsConnection_Flush(f->nc[0]));
        OK(natsConnection_Flush(f->nc[i]));
        int n = 0;
        OK(natsSubscription_GetPending(f->sub[i], &n, NULL));
        EXPECT(n > 0);
        total += n;
    }
    EXPECT(total == 300);
    return NULL;
}

static const char *
case_requests_are_answered(struct fix *f)
{
    OK(dial(f, 0, ""));
    OK(dial(f, 1, ""));
    OK(natsConnection_Subscribe(&f->sub[0], f->nc[0], "echo", on_request_echo, NULL));
    OK(natsConnection_Flush(f->nc[0]));
    for (int i = 0; i < 200; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        OK(natsConnection_RequestString(&f->msg, f->nc[1], "echo", text, PATIENCE_MS));
        EXPECT(strcmp(natsMsg_GetData(f->msg), text) == 0);
        natsMsg_Destroy(f->msg);
        f->msg = NULL;
    }
    return NULL;
}

static const char *
case_a_request_without_responders_is_told_at_once(struct fix *f)
{
    OK(dial(f, 0, ""));
    EXPECT(natsConnection_RequestString(&f->msg, f->nc[0], "nobody", "?", PATIENCE_MS) ==
           NATS_NO_RESPONDERS);
    return NULL;
}

static const char *
case_headers_arrive_as_sent(struct fix *f)
{
    const char *value = NULL;
    OK(dial(f, 0, ""));
    OK(natsConnection_HasHeaderSupport(f->nc[0]));
    OK(natsConnection_SubscribeSync(&f->sub[0], f->nc[0], "h"));
    OK(natsMsg_Create(&f->msg, "h", NULL, "body", 4));
    OK(natsMsgHeader_Set(f->msg, "Trace-Id", "17 and more"));
    OK(natsMsgHeader_Add(f->msg, "Trace-Id", "second"));
    OK(natsConnection_PublishMsg(f->nc[0], f->msg));
    natsMsg_Destroy(f->msg);
    f->msg = NULL;
    OK(natsSubscription_NextMsg(&f->msg, f->sub[0], PATIENCE_MS));
    OK(natsMsgHeader_Get(f->msg, "Trace-Id", &value));
    EXPECT(strcmp(value, "17 and more") == 0);
    EXPECT(natsMsg_GetDataLength(f->msg) == 4 && memcmp(natsMsg_GetData(f->msg), "body", 4) == 0);
    return NULL;
}

static const char *
case_auto_unsubscribe_counts(struct fix *f)
{
    OK(dial(f, 0, ""));
    OK(dial(f, 1, ""));
    OK(natsConnection_SubscribeSync(&f->sub[0], f->nc[0], "few"));
    OK(natsSubscription_AutoUnsubscribe(f->sub[0], 3));
    OK(natsConnection_Flush(f->nc[0]));
    for (int i = 0; i < 10; i++) {
        OK(natsConnection_PublishString(f->nc[1], "few", "x"));
    }
    OK(natsConnection_Flush(f->nc[1]));
    for (int i = 0; i < 3; i++) {
        OK(natsSubscription_NextMsg(&f->msg, f->sub[0], PATIENCE_MS));
        natsMsg_Destroy(f->msg);
        f->msg = NULL;
    }
    EXPECT(natsSubscription_NextMsg(&f->msg, f->sub[0], 50) == NATS_MAX_DELIVERED_MSGS);
    return NULL;
}

static const char *
case_a_payload_may_be_as_large_as_told(struct fix *f)
{
    OK(dial(f, 0, ""));
    size_t max = (size_t)natsConnection_GetMaxPayload(f->nc[0]);
    OK(natsConnection_SubscribeSync(&f->sub[0], f->nc[0], "big"));
    char *data = calloc(1, max + 1);
    EXPECT(data != NULL);
    memset(data, 'z', max + 1);
    natsStatus fits = natsConnection_Publish(f->nc[0], "big", data, (int)max);
    natsStatus over = natsConnection_Publish(f->nc[0], "big", data, (int)max + 1);
    natsStatus got = natsSubscription_NextMsg(&f->msg, f->sub[0], PATIENCE_MS);
    int same = got == NATS_OK && (size_t)natsMsg_GetDataLength(f->msg) == max &&
               memcmp(natsMsg_GetData(f->msg), data, max) == 0;
    free(data);
    EXPECT(fits == NATS_OK && over == NATS_MAX_PAYLOAD && same);
    return NULL;
}

static const char *
case_no_echo_keeps_own_messages_away(struct fix *f)
{
    OK(natsOptions_Create(&f->opts));
    OK(natsOptions_SetURL(f->opts, f->server.url));
    OK(natsOptions_SetNoEcho(f->opts, true));
    OK(natsConnection_Connect(&f->nc[0], f->opts));
    OK(dial(f, 1, ""));
    OK(natsConnection_SubscribeSync(&f->sub[0], f->nc[0], "room"));
    OK(natsConnection_PublishString(f->nc[0], "room", "mine"));
    OK(natsConnection_Flush(f->nc[0]));
    OK(natsConnection_PublishString(f->nc[1], "room", "theirs"));
    OK(natsSubscription_NextMsg(&f->msg, f->sub[0], PATIENCE_MS));
    EXPECT(strcmp(natsMsg_GetData(f->msg), "theirs") == 0);
    return NULL;
}

static const char *
case_a_draining_connection_loses_nothing(struct fix *f)
{
    static struct counter got = COUNTER_INIT;
    static struct counter closed = COUNTER_INIT;
    OK(natsOptions_Create(&f->opts));
    OK(natsOptions_SetURL(f->opts, f->server.url));
    OK(natsOptions_SetClosedCB(f->opts, on_connection_count, &closed));
    OK(natsConnection_Connect(&f->nc[0], f->opts));
    OK(dial(f, 1, ""));
    OK(natsConnection_Subscribe(&f->sub[0], f->nc[0], "d", on_message_count, &got));
    OK(natsConnection_Flush(f->nc[0]));
    for (int i = 0; i < 5000; i++) {
        OK(natsConnection_PublishString(f->nc[1], "d", "x"));
    }
    OK(natsConnection_Flush(f->nc[1]));
    OK(natsConnection_DrainTimeout(f->nc[0], PATIENCE_MS));
    EXPECT(counter_wait(&closed, 1) == 1);
    EXPECT(counter_wait(&got, 5000) == 5000);
    return NULL;
}

static void *
publish_many(void *connection)
{
    for (int i = 0; i < 10000; i++) {
        if (natsConnection_PublishString(connection, "many", "0123456789") != NATS_OK) {
            break;
        }
    }
    natsConnection_Flush(connection);
    return NULL;
}

static const char *
case_many_threads_publish_and_none_is_lost(struct fix *f)
{
    static struct counter got = COUNTER_INIT;
    pthread_t threads[4];
    OK(dial(f, 0, ""));
    OK(dial(f, 1, ""));
    OK(natsConnection_Subscribe(&f->sub[0], f->nc[0], "many", on_message_count, &got));
    OK(natsConnection_Flush(f->nc[0]));
    for (int i = 0; i < 4; i++) {
        EXPECT(pthread_create(&threads[i], NULL, publish_many, f->nc[1]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    EXPECT(counter_wait(&got, 40000) == 40000);
    return NULL;
}

static const char *
case_passwords_are_checked(struct fix *f)
{
    EXPECT(dial(f, 0, "") == NATS_CONNECTION_AUTH_FAILED);
    EXPECT(dial(f, 0, "ann:wrong@") == NATS_CONNECTION_AUTH_FAILED);
    OK(dial(f, 0, "ann:secret@"));
    /* bob's is stored as a bcrypt hash. */
    EXPECT(dial(f, 1, "bob:wrong@") == NATS_CONNECTION_AUTH_FAILED);
    OK(dial(f, 1, "bob:hidden@"));
    return NULL;
}

static void
on_error_count(natsConnection *nc, natsSubscription *sub, natsStatus why, void *counter)
{
    (void)nc;
    (void)sub;
    if (why == NATS_NOT_PERMITTED) {
        counter_add(counter);
    }
}

static const char *
case_permissions_hold(struct fix *f)
{
    static struct counter refused = COUNTER_INIT;
    char url[128];
    snprintf(url, sizeof url, "nats://ann:secret@127.0.0.1:%d", f->server.port);
    OK(natsOptions_Create(&f->opts));
    OK(natsOptions_SetURL(f->opts, url));
    OK(natsOptions_SetErrorHandler(f->opts, on_error_count, &refused));
    OK(natsConnection_Connect(&f->nc[0], f->opts));
    OK(dial(f, 1, "bob:hidden@"));
    OK(natsConnection_SubscribeSync(&f->sub[1], f->nc[1], ">"));
    OK(natsConnection_Flush(f->nc[1]));
    OK(natsConnection_PublishString(f->nc[0], "secret.plan", "x"));
    EXPECT(counter_wait(&refused, 1) == 1);
    OK(natsConnection_SubscribeSync(&f->sub[0], f->nc[0], "secret.>"));
    EXPECT(counter_wait(&refused, 2) == 2);
    OK(natsConnection_PublishString(f->nc[0], "public.plan", "y"));
    OK(natsSubscription_NextMsg(&f->msg, f->sub[1], PATIENCE_MS));
    EXPECT(strcmp(natsMsg_GetSubject(f->msg), "public.plan") == 0);
    return NULL;
}

static const char *
case_a_token_is_checked(struct fix *f)
{
    EXPECT(dial(f, 0, "wrong@") == NATS_CONNECTION_AUTH_FAILED);
    OK(dial(f, 0, "t0ken@"));
    return NULL;
}

static const char *
case_accounts_do_not_hear_each_other(struct fix *f)
{
    OK(dial(f, 0, "ann:a@"));
    OK(dial(f, 1, "bob:b@"));
    OK(dial(f, 2, "bob:b@"));
    OK(natsConnection_SubscribeSync(&f->sub[0], f->nc[0], "news"));
    OK(natsConnection_SubscribeSync(&f->sub[1], f->nc[1], "news"));
    OK(natsConnection_Flush(f->nc[0]));
    OK(natsConnection_Flush(f->nc[1]));
    OK(natsConnection_PublishString(f->nc[2], "news", "of B"));
    OK(natsConnection_Flush(f->nc[2]));
    OK(natsSubscription_NextMsg(&f->msg, f->sub[1], PATIENCE_MS));
    OK(natsConnection_Flush(f->nc[0]));
    int n = -1;
    OK(natsSubscription_GetPending(f->sub[0], &n, NULL));
    EXPECT(n == 0);
    return NULL;
}

static const char *
case_clients_come_back_after_a_restart(struct fix *f)
{
    static struct counter gone = COUNTER_INIT;
    static struct counter back = COUNTER_INIT;
    OK(natsOptions_Create(&f->opts));
    OK(natsOptions_SetURL(f->opts, f->server.url));
    OK(natsOptions_SetReconnectWait(f->opts, 20));
    OK(natsOptions_SetMaxReconnect(f->opts, 500));
    OK(natsOptions_SetDisconnectedCB(f->opts, on_connection_count, &gone));
    OK(natsOptions_SetReconnectedCB(f->opts, on_connection_count, &back));
    OK(natsConnection_Connect(&f->nc[0], f->opts));
    OK(natsConnection_SubscribeSync(&f->sub[0], f->nc[0], "still"));
    OK(natsConnection_Flush(f->nc[0]));
    proc_stop(&f->server);
    EXPECT(counter_wait(&gone, 1) == 1);
    OK(natsConnection_PublishString(f->nc[0], "still", "kept while away"));
    proc_start(&f->server, f->binary, "");
    EXPECT(counter_wait(&back, 1) == 1);
    OK(natsSubscription_NextMsg(&f->msg, f->sub[0], PATIENCE_MS));
    EXPECT(strcmp(natsMsg_GetData(f->msg), "kept while away") == 0);
    OK(natsConnection_Flush(f->nc[0]));
    return NULL;
}

#define CONF_USERS                                                                                 \
    "authorization { users = [\n"                                                                  \
    "  { user: ann, password: secret, permissions: { publish: \"public.>\", subscribe: "           \
    "\"public.>\" } }\n"                                                                           \
    "  { user: bob, password: \"$2a$04$B4L.Vv1yQO5PByOAoSlR6.dGSJwqx1.KCHqVdKFOKn2JrE6cAzfUG\" "   \
    "}\n"                                                                                          \
    "] }\n"
#define CONF_ACCOUNTS                                                                              \
    "accounts {\n"                                                                                 \
    "  A { users: [ { user: ann, password: a } ] }\n"                                              \
    "  B { users: [ { user: bob, password: b } ] }\n"                                              \
    "}\n"

#define CASE(name, conf)                                                                           \
    {                                                                                              \
#name, conf, case_##name                                                                   \
    }
static const struct testcase cases[] = {
    CASE(connects_and_learns_of_the_server, ""),
    CASE(subscribers_get_all_in_order, ""),
    CASE(wildcards_match_as_they_should, ""),
    CASE(a_queue_group_shares_the_work, ""),
    CASE(requests_are_answered, ""),
    CASE(a_request_without_responders_is_told_at_once, ""),
    CASE(headers_arrive_as_sent, ""),
    CASE(auto_unsubscribe_counts, ""),
    CASE(a_payload_may_be_as_large_as_told, ""),
    CASE(no_echo_keeps_own_messages_away, ""),
    CASE(a_draining_connection_loses_nothing, ""),
    CASE(many_threads_publish_and_none_is_lost, ""),
    CASE(passwords_are_checked, CONF_USERS),
    CASE(permissions_hold, CONF_USERS),
    CASE(a_token_is_checked, "authorization { token: t0ken }\n"),
    CASE(accounts_do_not_hear_each_other, CONF_ACCOUNTS),
    CASE(clients_come_back_after_a_restart, ""),
};

static const char *
run_case(const struct testcase *c, const char *binary)
{
    struct fix f = {.binary = binary};
    proc_start(&f.server, binary, c->conf);
    const char *why = c->run(&f);
    natsMsg_Destroy(f.msg);
    for (int i = 0; i < 3; i++) {
        natsSubscription_Destroy(f.sub[i]);
    }
    for (int i = 0; i < 3; i++) {
        natsConnection_Destroy(f.nc[i]);
    }
    natsOptions_Destroy(f.opts);
    proc_fini(&f.server);
    return why;
}

int
main(int argc, char **argv)
{
    if (argc < 2) {
        errx(2, "usage: natsc SERVER [CASE]");
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    int failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc > 2 && strcmp(argv[2], cases[i].name) != 0) {
            continue;
        }
        const char *why = run_case(&cases[i], argv[1]);
        printf("%s natsc/%s%s%s\n", why == NULL ? "PASS" : "FAIL", cases[i].name,
               why == NULL ? "" : " ", why == NULL ? "" : why);
        failed += why != NULL;
    }
    nats_Close();
    return failed > 0;
}
