/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/opts.h"

#include <stddef.h>
#include <string.h>

#include "tests/bench/loadgen/optab.h"

#define FIELD(f) offsetof(struct opts, f)

static const struct opt table[] = {
    {"server", OPT_TEXT, FIELD(server), 0, 0, "127.0.0.1:4222", "HOST:PORT, loopback only"},
    {"user", OPT_TEXT, FIELD(user), 0, 0, NULL, "user name"},
    {"pass", OPT_TEXT, FIELD(pass), 0, 0, NULL, "password"},
    {"pid", OPT_LONG, FIELD(pid), 0, 4194304, "0",
     "the server's pid: its CPU and memory are read, and it is what --pause-at stops"},
    {"seconds", OPT_REAL, FIELD(seconds), 0.05, 600, "0", "how long to measure; required"},
    {"warmup", OPT_REAL, FIELD(warmup), 0, 60, "0.5", "load before the measured time"},
    {"rate", OPT_RATE, FIELD(rate), 0.1, 1e8, "max",
     "units a second, or max: as fast as it goes (not in overload); required where load is made"},
    {"count", OPT_LONG, FIELD(count), 1, 10000000, "100000",
     "how many connections (idle), subscriptions (wild), inboxes (churn), starts (start), "
     "messages (jspub)"},
    {"size", OPT_LONG, FIELD(size), 0, 8388608, "128", "payload bytes"},
    {"pubs", OPT_LONG, FIELD(pubs), 1, 1000, "1", "publishers"},
    {"subs", OPT_LONG, FIELD(subs), 1, 10000, "1", "subscribers, each on its own connection"},
    {"conns", OPT_LONG, FIELD(conns), 1, 10000, "8", "connections (overload), requesters (reqrep)"},
    {"subjects", OPT_LONG, FIELD(subjects), 1, 1000000, "1000", "different subjects (many, jspub)"},
    {"window", OPT_LONG, FIELD(window), 1, 10000000, "65536",
     "messages on their way before publishers wait for the subscribers (jspub: for acks)"},
    {"inflight", OPT_LONG, FIELD(inflight), 1, 1000, "1", "open requests of each requester"},
    {"churn-rate", OPT_RATE, FIELD(churn_rate), 1, 1e7, "max", "SUB and UNSUB pairs a second"},
    {"slots", OPT_LONG, FIELD(slots), 1, 1024, "16", "requests served at a time (responder)"},
    {"sleep-ms", OPT_REAL, FIELD(sleep_ms), 0, 10000, "55", "time of service (responder)"},
    {"subject", OPT_TEXT, FIELD(subject), 0, 0, "bench", "subject, or its first tokens"},
    {"payload", OPT_TEXT, FIELD(payload), 0, 0, "", "payload of requests (overload, closed)"},
    {"then", OPT_TEXT, FIELD(then), 0, 0, NULL,
     "subject that is asked after each reply, without payload (closed)"},
    {"patience", OPT_REAL, FIELD(patience), 0.01, 60, "1",
     "seconds an attempt waits; a reply after it is late (overload)"},
    {"late-wait", OPT_REAL, FIELD(late_wait), 0, 60, "5",
     "seconds after the last send in which late replies are still counted (overload)"},
    {"timeout-header", OPT_TEXT, FIELD(timeout_header), 0, 0, NULL,
     "send Nats-Request-Timeout with this value (overload)"},
    {"retry", OPT_TEXT, FIELD(retry), 0, 0, "none",
     "none, timeout (at once when patience ends), hint (obey Nats-Retry-After), error (at once)"},
    {"retries", OPT_LONG, FIELD(retries), 0, 1000, "2", "further attempts at most (overload)"},
    {"seed", OPT_LONG, FIELD(seed), 0, 2147483647, "42", "of the Poisson arrivals and subjects"},
    {"pause-at", OPT_REAL, FIELD(pause_at), 0, 600, "0",
     "second in which the server gets SIGSTOP (overload)"},
    {"pause-for", OPT_REAL, FIELD(pause_for), 0, 60, "0", "seconds until SIGCONT; 0: no pause"},
    {"held", OPT_LONG, FIELD(held), 0, 10000000, "0",
     "queue limit plus workers: gives told_ms, from eviction to refusal (overload)"},
    {NULL, OPT_TEXT, 0, 0, 0, NULL, NULL},
};

enum status
opts_parse(struct opts *o, int argc, char **argv, const char **why)
{
    const struct opt *row = NULL;
    int used = 0;

    memset(o, 0, sizeof(*o));
    optab_defaults(o, table);
    for (int i = 1; i < argc; i += used) {
        if (strcmp(argv[i], "--") == 0) {
            o->rest = argv + i + 1;
            return ST_OK;
        }
        *why = argv[i];
        if (optab_take(o, table, argc - i, argv + i, &row, &used) != ST_OK) {
            return ST_INVAL;
        }
        o->seconds_given |= row->field == FIELD(seconds);
        o->rate_given |= row->field == FIELD(rate);
    }
    return ST_OK;
}

void
opts_help(FILE *out)
{
    optab_help(out, table);
}
