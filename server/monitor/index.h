/* SPDX-License-Identifier: Apache-2.0 */
/* The HTML page that links to the views. */
#ifndef SERVER_MONITOR_INDEX_H
#define SERVER_MONITOR_INDEX_H

struct server;

/* base: the path prefix of the views, "" for none. NULL without memory; mem_free by the caller. */
char *index_html(struct server *s, const char *base);

#endif
