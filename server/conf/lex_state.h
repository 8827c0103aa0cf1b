/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the lexer, shared by lex.c (structure) and lex_scalar.c (single values) only.
 *
 * A state is a function that eats some input and names the next state; at most one item comes out
 * of a step. Where a construct may stand in several places, the state to go on with is pushed. */
#ifndef SERVER_CONF_LEX_STATE_H
#define SERVER_CONF_LEX_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/buf.h"
#include "server/conf/lex.h"

/* The end of input is the rune 0, and so is a NUL byte, as in nats-server. */
#define RUNE_EOF 0u

/* Each state and its function. */
#define LEX_STATE_LIST(X)                                                                          \
    X(LEX_TOP, lex_top)                                                                            \
    X(LEX_TOP_VALUE_END, lex_top_value_end)                                                        \
    X(LEX_BLOCK_START, lex_block_start)                                                            \
    X(LEX_BLOCK_VALUE_END, lex_block_value_end)                                                    \
    X(LEX_BLOCK_END, lex_block_end)                                                                \
    X(LEX_KEY_START, lex_key_start)                                                                \
    X(LEX_KEY_QUOTED, lex_key_quoted)                                                              \
    X(LEX_KEY, lex_key)                                                                            \
    X(LEX_KEY_END, lex_key_end)                                                                    \
    X(LEX_MAP_KEY_START, lex_map_key_start)                                                        \
    X(LEX_MAP_KEY_QUOTED, lex_map_key_quoted)                                                      \
    X(LEX_MAP_KEY, lex_map_key)                                                                    \
    X(LEX_MAP_KEY_END, lex_map_key_end)                                                            \
    X(LEX_MAP_VALUE, lex_map_value)                                                                \
    X(LEX_MAP_VALUE_END, lex_map_value_end)                                                        \
    X(LEX_MAP_END, lex_map_end)                                                                    \
    X(LEX_ARRAY_VALUE, lex_array_value)                                                            \
    X(LEX_ARRAY_VALUE_END, lex_array_value_end)                                                    \
    X(LEX_ARRAY_END, lex_array_end)                                                                \
    X(LEX_COMMENT, lex_comment)                                                                    \
    X(LEX_INCLUDE_START, lex_include_start)                                                        \
    X(LEX_INCLUDE, lex_include)                                                                    \
    X(LEX_INCLUDE_QUOTED, lex_include_quoted)                                                      \
    X(LEX_INCLUDE_BARE, lex_include_bare)                                                          \
    X(LEX_VALUE, lex_value)                                                                        \
    X(LEX_QUOTED, lex_quoted)                                                                      \
    X(LEX_DQUOTED, lex_dquoted)                                                                    \
    X(LEX_BARE, lex_bare)                                                                          \
    X(LEX_PAREN, lex_paren)                                                                        \
    X(LEX_NUMBER_START, lex_number_start)                                                          \
    X(LEX_NUMBER, lex_number)                                                                      \
    X(LEX_NUMBER_SUFFIX, lex_number_suffix)                                                        \
    X(LEX_NEG_START, lex_neg_start)                                                                \
    X(LEX_NEG_NUMBER, lex_neg_number)                                                              \
    X(LEX_FLOAT_START, lex_float_start)                                                            \
    X(LEX_FLOAT, lex_float)                                                                        \
    X(LEX_ADDRESS, lex_address)

#define LEX_ENUM(name, func) name,
enum lex_state { LEX_DONE, LEX_STATE_LIST(LEX_ENUM) };
#undef LEX_ENUM

struct conf_lex {
    const char *in; /* borrowed: the caller keeps it */
    size_t n;
    size_t start, pos; /* the item being read is in[start, pos) */
    size_t width;      /* bytes of the rune read last */
    size_t line_at;    /* where the current line's leading newline is */
    size_t item_line_at;
    int line;
    enum lex_state state;
    enum lex_state string_state; /* the string to go on with after an escape */
    char quote;                  /* the quote that ends a quoted key or include */
    bool escaped;                /* parts holds what came before in[start] */
    struct buf parts;            /* of a string with escapes */
    struct buf text;             /* the value of the item that was given out last */
    struct buf stack;            /* one byte per pushed enum lex_state */
    bool have_item;
    struct conf_item item;
    bool nomem;
};

uint32_t lex_next(struct conf_lex *lx);
void lex_backup(struct conf_lex *lx); /* undoes lex_next */
uint32_t lex_peek(struct conf_lex *lx);
void lex_ignore(struct conf_lex *lx); /* what was read is not part of an item */
void lex_emit(struct conf_lex *lx, enum conf_item_type type);
void lex_push(struct conf_lex *lx, enum lex_state state);
enum lex_state lex_pop(struct conf_lex *lx);

/* Gives out an error and ends. `%R` in the text stands for the rune. */
enum lex_state lex_error(struct conf_lex *lx, const char *text, uint32_t rune);

bool lex_is_blank(uint32_t r);
bool lex_is_newline(uint32_t r);
bool lex_is_space(uint32_t r); /* as Unicode has it */
bool lex_is_digit(uint32_t r);

#define LEX_PROTO(name, func) enum lex_state func(struct conf_lex *lx);
LEX_STATE_LIST(LEX_PROTO)
#undef LEX_PROTO

#endif
