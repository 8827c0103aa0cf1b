/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a text in the NATS configuration language into items, one per call. A state machine with
 * an explicit stack: no recursion, whatever the input. Comments are skipped. Owned by one thread.
 *
 * The language is loose: a key ends at blank, `=` or `:`; a value without quotes runs to blank,
 * newline or one of `, ; ] }`; values end with a newline, `,` or `;`. */
#ifndef SERVER_CONF_LEX_H
#define SERVER_CONF_LEX_H

#include <stddef.h>

#include "server/base/status.h"

enum conf_item_type {
    ITEM_ERROR, /* val is the message; nothing follows */
    ITEM_EOF,   /* nothing follows */
    ITEM_KEY,
    ITEM_STRING,
    ITEM_BOOL,
    ITEM_INTEGER, /* perhaps with a size suffix */
    ITEM_FLOAT,
    ITEM_DATETIME,
    ITEM_ARRAY_START,
    ITEM_ARRAY_END,
    ITEM_MAP_START,
    ITEM_MAP_END,
    ITEM_VARIABLE, /* val without the `$` */
    ITEM_INCLUDE   /* val is the path */
};

struct conf_item {
    enum conf_item_type type;
    const char *val; /* borrowed: valid until the next call */
    size_t len;
    int line; /* from 1 */
    int pos;  /* as nats-server counts: from 0 in the first line, from 1 in the others */
};

struct conf_lex;

/* The input must outlive the lexer. */
enum status conf_lex_new(struct conf_lex **out, const char *input, size_t n) MUST_CHECK;
void conf_lex_free(struct conf_lex *lx);

/* ST_NOMEM is the only failure: an error of the text is an ITEM_ERROR. */
enum status conf_lex_next(struct conf_lex *lx, struct conf_item *item) MUST_CHECK;

#endif
