/* SPDX-License-Identifier: Apache-2.0 */
/* client_advertise: the address that clients are told, "host" or "host:port". Pure, any thread. */
#ifndef SERVER_ADVERTISE_H
#define SERVER_ADVERTISE_H

#include "server/base/status.h"

enum { ADVERTISE_HOST = 256, ADVERTISE_WHY = 384 };

struct advertise {
    char host[ADVERTISE_HOST];
    int port;
    char why[ADVERTISE_WHY]; /* what is wrong with it, in the words of nats-server */
};

/* default_port holds where none is given, or 0 or -1. ST_INVAL: out->why says why. */
enum status advertise_parse(const char *text, int default_port, struct advertise *out) MUST_CHECK;

#endif
