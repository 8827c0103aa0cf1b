/* SPDX-License-Identifier: Apache-2.0 */
/* The states of the lexer that see structure: keys, maps, arrays, comments, includes. */
#include <strings.h>

#include "server/conf/lex_state.h"

static bool
is_separator(uint32_t r)
{
    return r == '=' || r == ':';
}

/* True with the comment's mark eaten if r begins one; `back` is where to go on after it. */
static bool
comment(struct conf_lex *lx, uint32_t r, enum lex_state back)
{
    if (r == '/') {
        if (lex_next(lx) != '/') {
            lex_backup(lx);
            return false;
        }
    } else if (r != '#') {
        return false;
    }
    lex_push(lx, back);
    return true;
}

static enum lex_state
end_of_file(struct conf_lex *lx)
{
    if (lx->pos > lx->start) {
        return lex_error(lx, "Unexpected EOF.", 0);
    }
    lex_emit(lx, ITEM_EOF);
    return LEX_DONE;
}

static enum lex_state
skip_to(struct conf_lex *lx, enum lex_state next)
{
    lex_ignore(lx);
    return next;
}

enum lex_state
lex_top(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_space(r)) {
        return skip_to(lx, LEX_TOP);
    }
    if (r == '{') { /* a whole file in braces, as JSON has it */
        lex_push(lx, LEX_TOP);
        return skip_to(lx, LEX_BLOCK_START);
    }
    if (comment(lx, r, LEX_TOP)) {
        return LEX_COMMENT;
    }
    if (r == '/' || r == RUNE_EOF) {
        return end_of_file(lx);
    }
    lex_backup(lx);
    lex_push(lx, LEX_TOP_VALUE_END);
    return LEX_KEY_START;
}

enum lex_state
lex_top_value_end(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (comment(lx, r, LEX_TOP)) {
        return LEX_COMMENT;
    }
    if (r == '/' || lex_is_blank(r)) {
        return LEX_TOP_VALUE_END;
    }
    if (lex_is_newline(r) || r == RUNE_EOF || r == ';' || r == ',' || r == '}') {
        return skip_to(lx, LEX_TOP);
    }
    return lex_error(lx,
                     "Expected a top-level value to end with a new line, comment or EOF, but got "
                     "'%R' instead.",
                     r);
}

enum lex_state
lex_block_start(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_space(r)) {
        return skip_to(lx, LEX_BLOCK_START);
    }
    if (r == '{') {
        lex_push(lx, LEX_BLOCK_END);
        return skip_to(lx, LEX_BLOCK_START);
    }
    if (r == '}') {
        lex_ignore(lx);
        return lex_pop(lx);
    }
    if (comment(lx, r, LEX_BLOCK_START)) {
        return LEX_COMMENT;
    }
    if (r == '/' || r == RUNE_EOF) {
        return end_of_file(lx);
    }
    lex_backup(lx);
    lex_push(lx, LEX_BLOCK_VALUE_END);
    return LEX_KEY_START;
}

enum lex_state
lex_block_value_end(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (comment(lx, r, LEX_BLOCK_VALUE_END)) {
        return LEX_COMMENT;
    }
    if (r == '/' || lex_is_blank(r)) {
        return LEX_BLOCK_VALUE_END;
    }
    if (lex_is_newline(r) || r == ';' || r == ',') {
        return skip_to(lx, LEX_BLOCK_START);
    }
    if (r == '}') {
        lex_backup(lx);
        return LEX_BLOCK_END;
    }
    return lex_error(lx,
                     "Expected a block-level value to end with a new line, comment or EOF, but "
                     "got '%R' instead.",
                     r);
}

enum lex_state
lex_block_end(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (comment(lx, r, LEX_BLOCK_START)) {
        return LEX_COMMENT;
    }
    if (r == '/' || lex_is_newline(r) || lex_is_blank(r)) {
        return LEX_BLOCK_END;
    }
    if (r == ';' || r == ',') {
        return skip_to(lx, LEX_BLOCK_START);
    }
    if (r == '}') {
        lex_ignore(lx);
        return lex_pop(lx);
    }
    return lex_error(lx, "Expected a block-level to end with a '}', but got '%R' instead.", r);
}

enum lex_state
lex_key_start(struct conf_lex *lx)
{
    uint32_t r = lex_peek(lx);
    if (is_separator(r)) {
        return lex_error(lx, "Unexpected key separator '%R'", r);
    }
    if (lex_is_space(r)) {
        lex_next(lx);
        return skip_to(lx, LEX_KEY_START);
    }
    if (r == '"' || r == '\'') {
        lx->quote = (char)r;
        lex_next(lx);
        return skip_to(lx, LEX_KEY_QUOTED);
    }
    lex_ignore(lx);
    lex_next(lx);
    return LEX_KEY;
}

enum lex_state
lex_key_quoted(struct conf_lex *lx)
{
    uint32_t r = lex_peek(lx);
    if (r == (uint32_t)lx->quote) {
        lex_emit(lx, ITEM_KEY);
        lex_next(lx);
        return skip_to(lx, LEX_KEY_END);
    }
    if (r == RUNE_EOF) {
        return end_of_file(lx);
    }
    lex_next(lx);
    return LEX_KEY_QUOTED;
}

/* After a bare key that ends at a blank: the word `include` is no key. */
static enum lex_state
key_or_include(struct conf_lex *lx, enum lex_state key_end, enum lex_state after_include)
{
    static const char word[] = "include";
    if (lx->pos - lx->start == sizeof(word) - 1 &&
        strncasecmp(lx->in + lx->start, word, sizeof(word) - 1) == 0) {
        lex_ignore(lx);
        if (after_include != LEX_DONE) {
            lex_push(lx, after_include);
        }
        return LEX_INCLUDE_START;
    }
    lex_emit(lx, ITEM_KEY);
    return key_end;
}

enum lex_state
lex_key(struct conf_lex *lx)
{
    uint32_t r = lex_peek(lx);
    if (lex_is_space(r)) {
        return key_or_include(lx, LEX_KEY_END, LEX_DONE);
    }
    if (is_separator(r) || r == RUNE_EOF) {
        lex_emit(lx, ITEM_KEY);
        return LEX_KEY_END;
    }
    lex_next(lx);
    return LEX_KEY;
}

enum lex_state
lex_key_end(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_space(r)) {
        return skip_to(lx, LEX_KEY_END);
    }
    if (is_separator(r)) {
        return skip_to(lx, LEX_VALUE);
    }
    if (r == RUNE_EOF) {
        lex_emit(lx, ITEM_EOF);
        return LEX_DONE;
    }
    lex_backup(lx);
    return LEX_VALUE;
}

enum lex_state
lex_map_key_start(struct conf_lex *lx)
{
    uint32_t r = lex_peek(lx);
    if (is_separator(r)) {
        return lex_error(lx, "Unexpected key separator '%R'.", r);
    }
    if (r == ']') {
        return lex_error(lx, "Unexpected array end '%R' processing map.", r);
    }
    if (r == RUNE_EOF) {
        return lex_error(lx, "Unexpected EOF processing map.", 0);
    }
    if (lex_is_space(r)) {
        lex_next(lx);
        return skip_to(lx, LEX_MAP_KEY_START);
    }
    if (r == '}') {
        lex_next(lx);
        return skip_to(lx, LEX_MAP_END);
    }
    if (r == '#' || r == '/') {
        lex_next(lx);
        if (comment(lx, r, LEX_MAP_KEY_START)) {
            return LEX_COMMENT;
        }
    }
    if (r == '"' || r == '\'') {
        lx->quote = (char)r;
        lex_next(lx);
        return skip_to(lx, LEX_MAP_KEY_QUOTED);
    }
    lex_ignore(lx);
    lex_next(lx);
    return LEX_MAP_KEY;
}

enum lex_state
lex_map_key_quoted(struct conf_lex *lx)
{
    uint32_t r = lex_peek(lx);
    if (r == RUNE_EOF) {
        return lex_error(lx,
                         lx->quote == '"' ? "Unexpected EOF processing double quoted map key."
                                          : "Unexpected EOF processing quoted map key.",
                         0);
    }
    if (r == (uint32_t)lx->quote) {
        lex_emit(lx, ITEM_KEY);
        lex_next(lx);
        return skip_to(lx, LEX_MAP_KEY_END);
    }
    lex_next(lx);
    return LEX_MAP_KEY_QUOTED;
}

enum lex_state
lex_map_key(struct conf_lex *lx)
{
    uint32_t r = lex_peek(lx);
    if (r == RUNE_EOF) {
        return lex_error(lx, "Unexpected EOF processing map key.", 0);
    }
    if (lex_is_space(r)) {
        return key_or_include(lx, LEX_MAP_KEY_END, LEX_MAP_VALUE_END);
    }
    if (is_separator(r)) {
        lex_emit(lx, ITEM_KEY);
        return LEX_MAP_KEY_END;
    }
    lex_next(lx);
    return LEX_MAP_KEY;
}

enum lex_state
lex_map_key_end(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_space(r)) {
        return skip_to(lx, LEX_MAP_KEY_END);
    }
    if (is_separator(r)) {
        return skip_to(lx, LEX_MAP_VALUE);
    }
    lex_backup(lx);
    return LEX_MAP_VALUE;
}

enum lex_state
lex_map_value(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_space(r)) {
        return skip_to(lx, LEX_MAP_VALUE);
    }
    if (r == ',') {
        return lex_error(lx, "Unexpected map value terminator \",\".", 0);
    }
    if (r == '}') {
        return skip_to(lx, LEX_MAP_END);
    }
    lex_backup(lx);
    lex_push(lx, LEX_MAP_VALUE_END);
    return LEX_VALUE;
}

enum lex_state
lex_map_value_end(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_blank(r)) {
        return skip_to(lx, LEX_MAP_VALUE_END);
    }
    if (comment(lx, r, LEX_MAP_VALUE_END)) {
        return LEX_COMMENT;
    }
    if (r == '/' || r == ';' || r == ',' || lex_is_newline(r)) {
        return skip_to(lx, LEX_MAP_KEY_START);
    }
    if (r == '}') {
        return skip_to(lx, LEX_MAP_END);
    }
    return lex_error(lx,
                     "Expected a map value terminator \",\" or a map terminator \"}\", but got "
                     "'%R' instead.",
                     r);
}

enum lex_state
lex_map_end(struct conf_lex *lx)
{
    lex_ignore(lx);
    lex_emit(lx, ITEM_MAP_END);
    return lex_pop(lx);
}

enum lex_state
lex_array_value(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_space(r)) {
        return skip_to(lx, LEX_ARRAY_VALUE);
    }
    if (comment(lx, r, LEX_ARRAY_VALUE)) {
        return LEX_COMMENT;
    }
    if (r == '/' || r == ',') {
        return lex_error(lx, "Unexpected array value terminator ','.", 0);
    }
    if (r == ']') {
        return LEX_ARRAY_END;
    }
    lex_backup(lx);
    lex_push(lx, LEX_ARRAY_VALUE_END);
    return LEX_VALUE;
}

enum lex_state
lex_array_value_end(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_blank(r)) {
        return skip_to(lx, LEX_ARRAY_VALUE_END);
    }
    if (comment(lx, r, LEX_ARRAY_VALUE_END)) {
        return LEX_COMMENT;
    }
    if (r == '/' || r == ',' || lex_is_newline(r)) {
        return skip_to(lx, LEX_ARRAY_VALUE);
    }
    if (r == ']') {
        return LEX_ARRAY_END;
    }
    return lex_error(lx,
                     "Expected an array value terminator \",\" or an array terminator \"]\", but "
                     "got '%R' instead.",
                     r);
}

enum lex_state
lex_array_end(struct conf_lex *lx)
{
    lex_ignore(lx);
    lex_emit(lx, ITEM_ARRAY_END);
    return lex_pop(lx);
}

enum lex_state
lex_comment(struct conf_lex *lx)
{
    uint32_t r = lex_peek(lx);
    if (lex_is_newline(r) || r == RUNE_EOF) {
        lex_ignore(lx);
        return lex_pop(lx);
    }
    lex_next(lx);
    return LEX_COMMENT;
}

/* `include` was read: the path follows. */
enum lex_state
lex_include_start(struct conf_lex *lx)
{
    if (lex_is_blank(lex_next(lx))) {
        return skip_to(lx, LEX_INCLUDE_START);
    }
    lex_backup(lx);
    return LEX_INCLUDE;
}

enum lex_state
lex_include(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (r == '"' || r == '\'') {
        lx->quote = (char)r;
        return skip_to(lx, LEX_INCLUDE_QUOTED);
    }
    const char *found = r == '['    ? "Expected include value but found start of an array"
                        : r == '{'  ? "Expected include value but found start of a map"
                        : r == '('  ? "Expected include value but found start of a block"
                        : r == '\\' ? "Expected include value but found escape sequence"
                        : lex_is_digit(r) || r == '-'
                            ? "Expected include value but found start of a number"
                        : lex_is_newline(r) ? "Expected include value but found new line"
                                            : NULL;
    if (found != NULL) {
        return lex_error(lx, found, 0);
    }
    lex_backup(lx);
    return LEX_INCLUDE_BARE;
}

enum lex_state
lex_include_quoted(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (r == (uint32_t)lx->quote) {
        lex_backup(lx);
        lex_emit(lx, ITEM_INCLUDE);
        lex_next(lx);
        lex_ignore(lx);
        return lex_pop(lx);
    }
    if (r == RUNE_EOF) {
        return lex_error(lx,
                         lx->quote == '"' ? "Unexpected EOF in double quoted include"
                                          : "Unexpected EOF in quoted include",
                         0);
    }
    return LEX_INCLUDE_QUOTED;
}

enum lex_state
lex_include_bare(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_newline(r) || r == RUNE_EOF || r == ';' || r == '}' || lex_is_blank(r)) {
        lex_backup(lx);
        lex_emit(lx, ITEM_INCLUDE);
        return lex_pop(lx);
    }
    if (r == '\'') {
        lex_backup(lx);
        lex_emit(lx, ITEM_INCLUDE);
        lex_next(lx);
        lex_ignore(lx);
        return lex_pop(lx);
    }
    return LEX_INCLUDE_BARE;
}
