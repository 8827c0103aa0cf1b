/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_BASE_VERSION_H
#define SERVER_BASE_VERSION_H

/* The NATS level that we match: clients gate features on it. */
#define SERVER_VERSION "2.15.2"
/* JetStream's API level of that. */
#define JS_API_LEVEL 5

#endif
