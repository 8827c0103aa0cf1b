/* SPDX-License-Identifier: Apache-2.0 */
/* refusals SERVER LABEL: do nats.c's clients recover by themselves where every third management
 * request is refused? Each case has a process and a server of its own and prints PASS or FAIL.
 * SERVER is a build with the endpoint $SYS.REQ.TEST.REFUSE; with any other nothing is refused,
 * which shows whether the cases themselves are right. A case returns NULL, or what went wrong. */
#include <err.h>
#include <nats/nats.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/compat/natsc/proc.h"

#define STREAM        "LOG"
#define BUCKET        "BUCKET"
#define HALF          40 /* messages published before and after something happens */
#define PATIENCE_MS   5000
#define STEP_MS       200
#define CASE_S        150
#define NOT_EXECUTED  "the request was not executed"
#define MANAGEMENT    "{\"every\":3,\"subject\":\"$JS.API.>\"}"
#define BURST         "{\"every\":1,\"times\":3,\"subject\":\"$JS.API.CONSUMER.CREATE.>\"}"
#define PUBLISHED_MAX 1024
#define EXPECT(cond)                                                                               \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            return "line " LINE_TEXT(__LINE__) ": not " #cond;                                     \
        }                                                                                          \
    } while (0)
#define LINE_TEXT(n)  LINE_TEXT_(n)
#define LINE_TEXT_(n) #n
#define OK(call)      EXPECT((call) == NATS_OK)
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const char *why_ = (call);                                                                 \
        if (why_ != NULL) {                                                                        \
            return why_;                                                                           \
        }                                                                                          \
    } while (0)

struct reader;

/* What one case works with; the runner makes it and cleans it up. */
struct fix {
    struct proc server;
    const struct reader *reader;
    bool refuses; /* the server has the endpoint that refuses on demand */
    time_t until;
    natsConnection *sys; /* owned, as all below */
    natsConnection *app; /* publishes; nothing happens to it */
    natsConnection *nc;  /* of what is tried */
    natsOptions *opts;
    jsCtx *pub;
    jsCtx *js;
    natsSubscription *sub;
    kvStore *kv;
    kvWatcher *watch;

    pthread_mutex_t lock;
    pthread_cond_t more;
    bool came[PUBLISHED_MAX]; /* lock */
    int published, n_came;    /* lock */
    int out_of_order;         /* lock: 1 + the first number that came at a wrong place */
    int kicks;                /* lock: times that the client lost its connection */
};

/* One way of the client to read a stream. */
struct reader {
    const char *name;
    const char *stream, *prefix; /* of the subjects, which end in a number */
    bool ordered; /* all in order, each once; the consumer is the client's own affair */
    natsStatus (*start)(struct fix *f);
    const char *(*step)(struct fix *f); /* takes what comes within STEP_MS */
};

/* ---- what comes ---- */

static void
take(struct fix *f, const char *data, int len)
{
    char text[16];
    snprintf(text, sizeof text, "%.*s", len, data);
    int n = (int)strtol(text, NULL, 10);
    pthread_mutex_lock(&f->lock);
    bool due = f->reader->ordered ? n == f->n_came : n >= 0 && n < f->published;
    if (!due && f->out_of_order == 0) {
        f->out_of_order = n + 1;
    }
    if (due && !f->came[n]) {
        f->came[n] = true;
        f->n_came++;
    }
    pthread_cond_broadcast(&f->more);
    pthread_mutex_unlock(&f->lock);
}

static void
take_message(struct fix *f, natsMsg *m)
{
    take(f, natsMsg_GetData(m), natsMsg_GetDataLength(m));
    natsMsg_Destroy(m);
}

static void
on_message(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)nc;
    (void)sub;
    take_message(arg, m);
}

static void
on_kicked(natsConnection *nc, void *arg)
{
    struct fix *f = arg;
    (void)nc;
    pthread_mutex_lock(&f->lock);
    f->kicks++;
    pthread_cond_broadcast(&f->more);
    pthread_mutex_unlock(&f->lock);
}

static void
on_error(natsConnection *nc, natsSubscription *sub, natsStatus why, void *arg)
{
    (void)nc; /* else it is printed; whether the client recovers is what the case sees */
    (void)sub;
    (void)why;
    (void)arg;
}

static void
wait_more(struct fix *f)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += STEP_MS * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&f->more, &f->lock, &t);
}

/* Until all that was published has come. */
static const char *
collect(struct fix *f)
{
    for (;;) {
        pthread_mutex_lock(&f->lock);
        bool all = f->n_came == f->published;
        int bad = f->out_of_order;
        pthread_mutex_unlock(&f->lock);
        EXPECT(bad == 0);
        if (all) {
            return NULL;
        }
        EXPECT(time(NULL) < f->until);
        TRY(f->reader->step(f));
    }
}

/* ---- the readers ---- */

static void
init_ordered(jsSubOptions *so)
{
    jsSubOptions_Init(so);
    so->Ordered = true;
    so->Config.Heartbeat = 500 * INT64_C(1000000);
}

static natsStatus
start_ordered(struct fix *f)
{
    jsSubOptions so;
    init_ordered(&so);
    return js_Subscribe(&f->sub, f->js, "log.>", on_message, f, NULL, &so, NULL);
}

static const char *
step_wait(struct fix *f)
{
    pthread_mutex_lock(&f->lock);
    if (f->n_came < f->published) {
        wait_more(f);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

static natsStatus
start_ordered_next(struct fix *f)
{
    jsSubOptions so;
    init_ordered(&so);
    return js_SubscribeSync(&f->sub, f->js, "log.>", NULL, &so, NULL);
}

static const char *
step_next(struct fix *f)
{
    natsMsg *m = NULL;
    natsStatus s = natsSubscription_NextMsg(&m, f->sub, STEP_MS);
    EXPECT(s == NATS_OK || s == NATS_TIMEOUT);
    if (s == NATS_OK) {
        take_message(f, m);
    }
    return NULL;
}

/* With the stream named: three requests in a row would always meet a refusal. */
static natsStatus
start_pull(struct fix *f)
{
    jsSubOptions so;
    jsSubOptions_Init(&so);
    so.Stream = STREAM;
    so.Config.AckWait = INT64_C(1000000000);
    return js_PullSubscribe(&f->sub, f->js, "log.>", "worker", NULL, &so, NULL);
}

static const char *
step_fetch(struct fix *f)
{
    natsMsgList list = {0};
    natsStatus s = natsSubscription_Fetch(&list, f->sub, 10, STEP_MS, NULL);
    for (int i = 0; i < list.Count; i++) {
        take(f, natsMsg_GetData(list.Msgs[i]), natsMsg_GetDataLength(list.Msgs[i]));
        natsMsg_AckSync(list.Msgs[i], NULL, NULL);
    }
    natsMsgList_Destroy(&list);
    /* While its connection is away an application expects these. */
    EXPECT(s == NATS_OK || s == NATS_TIMEOUT || s == NATS_CONNECTION_DISCONNECTED ||
           s == NATS_NO_RESPONDERS);
    return NULL;
}

static natsStatus
start_watch(struct fix *f)
{
    natsStatus s = f->kv != NULL ? NATS_OK : js_KeyValue(&f->kv, f->js, BUCKET);
    return s == NATS_OK ? kvStore_WatchAll(&f->watch, f->kv, NULL) : s;
}

static const char *
step_watch(struct fix *f)
{
    kvEntry *e = NULL;
    natsStatus s = kvWatcher_Next(&e, f->watch, STEP_MS);
    EXPECT(s == NATS_OK || s == NATS_TIMEOUT);
    if (s == NATS_OK && e != NULL) {
        const char *v = kvEntry_ValueString(e);
        take(f, v, (int)strlen(v));
        kvEntry_Destroy(e);
    }
    return NULL;
}

static const struct reader readers[] = {
    {"pull_fetch", STREAM, "log.", false, start_pull, step_fetch},
    {"ordered_subscribe", STREAM, "log.", true, start_ordered, step_wait},
    {"ordered_next", STREAM, "log.", true, start_ordered_next, step_next},
    {"kv_watch", "KV_" BUCKET, "$KV." BUCKET ".key.", true, start_watch, step_watch},
};

/* ---- requests ---- */

/* Others ask in between, at random: else what is tried again might meet its refusal for ever. */
static void
others_ask(struct fix *f)
{
    for (long i = random() % 3; i > 0; i--) {
        natsMsg *m = NULL;
        natsConnection_RequestString(&m, f->app, "$JS.API.INFO", "", PATIENCE_MS);
        natsMsg_Destroy(m);
    }
}

/* Asks until the answer is no refusal, as an application would. *answer is the caller's. */
static const char *
ask(struct fix *f, natsConnection *nc, const char *subject, const char *body, natsMsg **answer)
{
    for (;;) {
        OK(natsConnection_RequestString(answer, nc, subject, body, PATIENCE_MS));
        if (strstr(natsMsg_GetData(*answer), NOT_EXECUTED) == NULL) {
            return NULL;
        }
        natsMsg_Destroy(*answer);
        *answer = NULL;
        EXPECT(time(NULL) < f->until);
        others_ask(f);
    }
}

/* Asks; the answer must be without an error. */
static const char *
demand(struct fix *f, natsConnection *nc, const char *subject, const char *body)
{
    natsMsg *m = NULL;
    TRY(ask(f, nc, subject, body, &m));
    bool bad = strstr(natsMsg_GetData(m), "\"error\"") != NULL;
    natsMsg_Destroy(m);
    EXPECT(!bad);
    return NULL;
}

static const char *
set_refusals(struct fix *f, const char *setting)
{
    return f->refuses ? demand(f, f->sys, "$SYS.REQ.TEST.REFUSE", setting) : NULL;
}

/* How many were refused since the last setting. */
static const char *
get_refused(struct fix *f, int *n)
{
    natsMsg *m = NULL;
    TRY(ask(f, f->sys, "$SYS.REQ.TEST.REFUSE", "", &m));
    const char *at = strstr(natsMsg_GetData(m), "\"refused\":");
    *n = at == NULL ? -1 : (int)strtol(at + strlen("\"refused\":"), NULL, 10);
    natsMsg_Destroy(m);
    return NULL;
}

/* ---- what happens ---- */

static const char *
kick(struct fix *f)
{
    char subject[160];
    char body[64];
    char id[128];
    uint64_t cid = 0;
    OK(natsConnection_GetClientID(f->nc, &cid));
    OK(natsConnection_GetConnectedServerId(f->nc, id, sizeof id));
    snprintf(subject, sizeof subject, "$SYS.REQ.SERVER.%s.KICK", id);
    snprintf(body, sizeof body, "{\"cid\":%llu}", (unsigned long long)cid);
    pthread_mutex_lock(&f->lock);
    int before = f->kicks;
    pthread_mutex_unlock(&f->lock);
    TRY(demand(f, f->sys, subject, body));
    pthread_mutex_lock(&f->lock);
    while (f->kicks == before && time(NULL) < f->until) {
        wait_more(f);
    }
    bool gone = f->kicks > before;
    pthread_mutex_unlock(&f->lock);
    EXPECT(gone);
    return NULL;
}

/* Deletes each consumer of the stream that a list of names tells of. Its text is changed. */
static const char *
delete_listed(struct fix *f, char *list)
{
    char *end = strchr(list, ']');
    EXPECT(end != NULL);
    *end = '\0';
    char *rest = NULL;
    for (char *name = strtok_r(list, "\",[] ", &rest); name != NULL;
         name = strtok_r(NULL, "\",[] ", &rest)) {
        char subject[160];
        natsMsg *m = NULL;
        snprintf(subject, sizeof subject, "$JS.API.CONSUMER.DELETE.%s.%s", f->reader->stream, name);
        TRY(ask(f, f->app, subject, "", &m));
        natsMsg_Destroy(m); /* not found: its own client was faster */
    }
    return NULL;
}

static const char *
delete_consumers(struct fix *f)
{
    char subject[160];
    natsMsg *m = NULL;
    snprintf(subject, sizeof subject, "$JS.API.CONSUMER.NAMES.%s", f->reader->stream);
    TRY(ask(f, f->app, subject, "", &m));
    const char *at = strstr(natsMsg_GetData(m), "\"consumers\":");
    char *list = at == NULL ? NULL : strdup(at + strlen("\"consumers\":"));
    natsMsg_Destroy(m);
    EXPECT(list != NULL);
    const char *why = delete_listed(f, list);
    free(list);
    return why;
}

static const char *
delete_and_kick(struct fix *f)
{
    TRY(delete_consumers(f));
    return kick(f);
}

/* What is purged before it was read would not be missed. */
static const char *
purge(struct fix *f)
{
    char subject[160];
    TRY(collect(f));
    snprintf(subject, sizeof subject, "$JS.API.STREAM.PURGE.%s", f->reader->stream);
    return demand(f, f->app, subject, "");
}

/* The first three attempts to make the consumer anew are all refused. */
static const char *
delete_kick_and_refuse(struct fix *f)
{
    TRY(delete_consumers(f));
    TRY(set_refusals(f, BURST));
    return kick(f);
}

static const char *
publish(struct fix *f, int n)
{
    for (int i = 0; i < n; i++) {
        char subject[64];
        char text[16];
        EXPECT(f->published < PUBLISHED_MAX);
        snprintf(subject, sizeof subject, "%s%d", f->reader->prefix, f->published);
        snprintf(text, sizeof text, "%d", f->published);
        pthread_mutex_lock(&f->lock);
        f->published++;
        pthread_mutex_unlock(&f->lock);
        OK(js_Publish(NULL, f->pub, subject, text, (int)strlen(text), NULL, NULL));
    }
    return NULL;
}

static const char *
endure(struct fix *f, const char *(*cause)(struct fix *f))
{
    TRY(publish(f, HALF));
    TRY(cause(f));
    TRY(publish(f, HALF));
    return collect(f);
}

/* ---- a case ---- */

static const char *
start_reader(struct fix *f)
{
    while (f->reader->start(f) != NATS_OK) {
        const char *last = nats_GetLastError(NULL);
        /* NB: of a refused look-up of the stream of a subject, nats.c tells only the second. */
        EXPECT(last != NULL && (strstr(last, NOT_EXECUTED) != NULL ||
                                strstr(last, "no stream matches subject") != NULL));
        EXPECT(time(NULL) < f->until);
        others_ask(f);
    }
    return NULL;
}

static const char *
connect_all(struct fix *f)
{
    char url[128];
    snprintf(url, sizeof url, "nats://admin:s@127.0.0.1:%d", f->server.port);
    OK(natsConnection_ConnectTo(&f->sys, url));
    snprintf(url, sizeof url, "nats://app:a@127.0.0.1:%d", f->server.port);
    OK(natsConnection_ConnectTo(&f->app, url));
    OK(natsConnection_JetStream(&f->pub, f->app, NULL));
    OK(natsOptions_Create(&f->opts));
    OK(natsOptions_SetURL(f->opts, url));
    OK(natsOptions_SetReconnectWait(f->opts, 20));
    OK(natsOptions_SetReconnectJitter(f->opts, 0, 0));
    OK(natsOptions_SetMaxReconnect(f->opts, -1));
    OK(natsOptions_SetDisconnectedCB(f->opts, on_kicked, f));
    OK(natsOptions_SetErrorHandler(f->opts, on_error, f));
    OK(natsConnection_Connect(&f->nc, f->opts));
    OK(natsConnection_JetStream(&f->js, f->nc, NULL));
    natsMsg *m = NULL;
    f->refuses = natsConnection_RequestString(&m, f->sys, "$SYS.REQ.TEST.REFUSE", "",
                                              PATIENCE_MS) == NATS_OK;
    natsMsg_Destroy(m);
    return NULL;
}

static const char *
try_case(struct fix *f)
{
    char subject[160];
    char body[256];
    const struct reader *r = f->reader;
    int refused = 0;
    TRY(connect_all(f));
    snprintf(subject, sizeof subject, "$JS.API.STREAM.CREATE.%s", r->stream);
    snprintf(body, sizeof body,
             "{\"name\":\"%s\",\"subjects\":[\"%s>\"],\"storage\":\"memory\","
             "\"max_msgs_per_subject\":64}",
             r->stream, r->prefix);
    TRY(demand(f, f->app, subject, body));
    TRY(set_refusals(f, MANAGEMENT));
    TRY(start_reader(f));
    TRY(endure(f, kick));
    TRY(endure(f, purge));
    if (r->ordered) {
        TRY(endure(f, delete_consumers));
        TRY(endure(f, delete_and_kick));
    }
    if (f->refuses) {
        TRY(get_refused(f, &refused));
        EXPECT(refused > 0);
    }
    if (r->ordered) {
        TRY(endure(f, delete_kick_and_refuse));
    }
    if (r->ordered && f->refuses) {
        TRY(get_refused(f, &refused));
        EXPECT(refused == 3);
    }
    return NULL;
}

static void
fix_fini(struct fix *f)
{
    kvWatcher_Destroy(f->watch);
    kvStore_Destroy(f->kv);
    natsSubscription_Destroy(f->sub);
    jsCtx_Destroy(f->js);
    jsCtx_Destroy(f->pub);
    natsConnection_Destroy(f->nc);
    natsConnection_Destroy(f->app);
    natsConnection_Destroy(f->sys);
    natsOptions_Destroy(f->opts);
    nats_Close();
    proc_fini(&f->server);
}

static int
run_case(const struct reader *r, const char *binary, const char *label)
{
    char conf[512];
    struct fix f = {.reader = r,
                    .server.dir = "/tmp/natsc-XXXXXX",
                    .until = time(NULL) + CASE_S,
                    .lock = PTHREAD_MUTEX_INITIALIZER,
                    .more = PTHREAD_COND_INITIALIZER};
    if (mkdtemp(f.server.dir) == NULL) {
        err(2, "%s", f.server.dir);
    }
    snprintf(conf, sizeof conf,
             "accounts {\n"
             "  APP { jetstream: enabled, users: [ { user: app, password: a } ] }\n"
             "  SYS { users: [ { user: admin, password: s } ] }\n"
             "}\n"
             "system_account: SYS\n"
             "jetstream { store_dir: \"%s\" }\n",
             f.server.dir);
    proc_start(&f.server, binary, conf);
    const char *why = try_case(&f);
    const char *last = why == NULL ? NULL : nats_GetLastError(NULL);
    char text[512];
    snprintf(text, sizeof text, "%s %s/%s%s%s%s%s\n", why == NULL ? "PASS" : "FAIL", label, r->name,
             why == NULL ? "" : " ", why == NULL ? "" : why, last == NULL ? "" : "; ",
             last == NULL ? "" : last);
    fix_fini(&f);
    fputs(text, stdout);
    fflush(stdout);
    return why != NULL;
}

int
main(int argc, char **argv)
{
    if (argc < 3) {
        errx(2, "usage: refusals SERVER LABEL [CASE]");
    }
    int children = 0;
    int failed = 0;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (argc > 3 && strcmp(argv[3], readers[i].name) != 0) {
            continue;
        }
        pid_t pid = fork();
        if (pid == 0) {
            return run_case(&readers[i], argv[1], argv[2]);
        }
        if (pid < 0) {
            err(2, "fork");
        }
        children++;
    }
    for (; children > 0; children--) {
        int status = 0;
        wait(&status);
        if (WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) > 1)) {
            printf("FAIL %s/a_case ended with status %#x\n", argv[2], (unsigned)status);
        }
        failed |= status != 0;
    }
    return failed != 0;
}
