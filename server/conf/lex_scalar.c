/* SPDX-License-Identifier: Apache-2.0 */
/* The states of the lexer that read one value: strings, numbers, dates, addresses. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "server/conf/lex_state.h"

enum lex_state
lex_value(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_blank(r)) {
        lex_ignore(lx);
        return LEX_VALUE;
    }
    switch (r) {
    case '[':
        lex_ignore(lx);
        lex_emit(lx, ITEM_ARRAY_START);
        return LEX_ARRAY_VALUE;
    case '{':
        lex_ignore(lx);
        lex_emit(lx, ITEM_MAP_START);
        return LEX_MAP_KEY_START;
    case '\'':
        lex_ignore(lx);
        return LEX_QUOTED;
    case '"':
        lex_ignore(lx);
        lx->string_state = LEX_DQUOTED;
        return LEX_DQUOTED;
    case '(':
        lex_ignore(lx);
        return LEX_PAREN;
    case '-':
        return LEX_NEG_START;
    case '.':
        return lex_error(lx, "Floats must start with a digit", 0);
    case '\n':
    case '\r':
        return lex_error(lx, "Expected value but found new line", 0);
    default:
        lex_backup(lx);
        lx->string_state = LEX_BARE;
        return lex_is_digit(r) ? LEX_NUMBER_START : LEX_BARE;
    }
}

/* Takes over what was read but for the last `but` bytes; the rest of the string follows. */
static void
keep_part(struct conf_lex *lx, size_t but)
{
    buf_append(&lx->parts, lx->in + lx->start, lx->pos - but - lx->start);
    lx->escaped = true;
    lx->start = lx->pos;
}

static bool
unhex(char c, unsigned *v)
{
    if (!isxdigit((unsigned char)c)) {
        return false;
    }
    *v = *v << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    return true;
}

/* Behind `\x`: two hexadecimal digits. */
static enum lex_state
escape_hex(struct conf_lex *lx)
{
    for (int i = 0; i < 2; i++) {
        if (lex_is_newline(lex_next(lx))) {
            return lex_error(lx, "Expected two hexadecimal digits after '\\x', but hit end of line",
                             0);
        }
    }
    unsigned v = 0;
    const char *digits = lx->in + lx->pos - 2;
    if (!unhex(digits[0], &v) || !unhex(digits[1], &v)) {
        struct buf b;
        buf_init(&b);
        buf_printf(&b, "Expected two hexadecimal digits after '\\x', but got '%.2s'", digits);
        enum lex_state next = lex_error(lx, b.data != NULL ? b.data : "", 0);
        lx->nomem = lx->nomem || b.failed;
        buf_fini(&b);
        return next;
    }
    buf_putc(&lx->parts, (char)v);
    lx->start = lx->pos;
    return lx->string_state;
}

/* A backslash was read. */
static enum lex_state
escape(struct conf_lex *lx)
{
    keep_part(lx, 1);
    uint32_t r = lex_next(lx);
    char c = '\0';
    switch (r) {
    case 'x':
        return escape_hex(lx);
    case 't':
        c = '\t';
        break;
    case 'n':
        c = '\n';
        break;
    case 'r':
        c = '\r';
        break;
    case '"':
    case '\\':
        c = (char)r;
        break;
    default:
        return lex_error(lx,
                         "Invalid escape character '%R'. Only the following escape characters are "
                         "allowed: \\xXX, \\t, \\n, \\r, \\\", \\\\.",
                         r);
    }
    buf_putc(&lx->parts, c);
    lx->start = lx->pos;
    return lx->string_state;
}

static enum lex_state
unfinished(struct conf_lex *lx)
{
    if (lx->pos > lx->start) {
        return lex_error(lx, "Unexpected EOF.", 0);
    }
    lex_emit(lx, ITEM_EOF);
    return LEX_DONE;
}

/* The closing mark was read: gives out what is before it. */
static enum lex_state
closed(struct conf_lex *lx)
{
    lex_backup(lx);
    lex_emit(lx, ITEM_STRING);
    lex_next(lx);
    lex_ignore(lx);
    return lex_pop(lx);
}

enum lex_state
lex_quoted(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (r == '\'') {
        return closed(lx);
    }
    return r == RUNE_EOF ? unfinished(lx) : LEX_QUOTED;
}

enum lex_state
lex_dquoted(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (r == '\\') {
        return escape(lx);
    }
    if (r == '"') {
        return closed(lx);
    }
    return r == RUNE_EOF ? unfinished(lx) : LEX_DQUOTED;
}

static bool
is_word(const struct conf_lex *lx, const char *word)
{
    size_t n = strlen(word);
    return lx->pos - lx->start == n && strncasecmp(lx->in + lx->start, word, n) == 0;
}

static bool
is_bool(const struct conf_lex *lx)
{
    return is_word(lx, "true") || is_word(lx, "false") || is_word(lx, "on") || is_word(lx, "off") ||
           is_word(lx, "yes") || is_word(lx, "no");
}

enum lex_state
lex_bare(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (r == '\\') {
        return escape(lx);
    }
    if (r == '\'') {
        return closed(lx);
    }
    if (!lex_is_newline(r) && !lex_is_blank(r) && r != RUNE_EOF && r != ';' && r != ',' &&
        r != ']' && r != '}') {
        return LEX_BARE;
    }
    lex_backup(lx);
    enum conf_item_type type = ITEM_STRING;
    if (!lx->escaped && is_bool(lx)) {
        type = ITEM_BOOL;
    } else if (!lx->escaped && lx->start < lx->n && lx->in[lx->start] == '$') {
        /* NB: also where nothing was read and the next byte is the dollar: never so here, since
         * a bare value that begins with one has read it. */
        lx->start++;
        type = ITEM_VARIABLE;
    }
    lex_emit(lx, type);
    return lex_pop(lx);
}

/* A `(` was read: all up to a `)` that is alone on its line. */
enum lex_state
lex_paren(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (r == RUNE_EOF) {
        return lex_error(lx, "Unexpected EOF processing block.", 0);
    }
    if (r != ')' || lx->in[lx->pos - 2] != '\n') {
        return LEX_PAREN;
    }
    r = lex_next(lx);
    lex_backup(lx);
    if (r != '\n' && r != RUNE_EOF) {
        return LEX_PAREN;
    }
    if (lx->pos < lx->n) {
        /* NB: at the very end of the file the mark stays in the value, as in nats-server. */
        lx->width = 1;
        lex_backup(lx);
    }
    lex_emit(lx, ITEM_STRING);
    lex_next(lx);
    lex_ignore(lx);
    return lex_pop(lx);
}

static bool
ends_number(uint32_t r)
{
    return lex_is_newline(r) || lex_is_blank(r) || r == RUNE_EOF || r == '}' || r == ';' ||
           r == ',';
}

static bool
is_size_suffix(uint32_t r)
{
    return r < 0x80 && r != 0 && strchr("kKmMgGtTpPeE", (int)r) != NULL;
}

static enum lex_state
number_done(struct conf_lex *lx, enum conf_item_type type)
{
    lex_backup(lx);
    lex_emit(lx, type);
    return lex_pop(lx);
}

static enum lex_state
first_digit(struct conf_lex *lx, enum lex_state next)
{
    uint32_t r = lex_next(lx);
    if (lex_is_digit(r)) {
        return next;
    }
    return lex_error(lx,
                     r == '.' ? "Floats must start with a digit, not '.'."
                              : "Expected a digit but got '%R'.",
                     r);
}

enum lex_state
lex_number_start(struct conf_lex *lx)
{
    return first_digit(lx, LEX_NUMBER);
}

/* Behind `YYYY-`. */
static enum lex_state
date(struct conf_lex *lx)
{
    static const char form[] = "00-00T00:00:00Z";
    for (const char *f = form; *f != '\0'; f++) {
        uint32_t r = lex_next(lx);
        if (*f == '0' && !lex_is_digit(r)) {
            return lex_error(lx, "Expected digit in ISO8601 datetime, but found '%R' instead.", r);
        }
        if (*f != '0' && r != (uint32_t)*f) {
            char text[] = "Expected '?' in ISO8601 datetime, but found '%R' instead.";
            *strchr(text, '?') = *f;
            return lex_error(lx, text, r);
        }
    }
    lex_emit(lx, ITEM_DATETIME);
    return lex_pop(lx);
}

enum lex_state
lex_number(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_digit(r)) {
        return LEX_NUMBER;
    }
    if (r == '-') {
        return lx->pos - lx->start == sizeof("YYYY-") - 1
                   ? date(lx)
                   : lex_error(lx, "All ISO8601 dates must be in full Zulu form.", 0);
    }
    if (r == '.') {
        return LEX_FLOAT_START;
    }
    if (is_size_suffix(r)) {
        return LEX_NUMBER_SUFFIX;
    }
    /* NB: `]` does not end a number: [1] is not a list of one number, [1 ] is. */
    return ends_number(r) ? number_done(lx, ITEM_INTEGER) : LEX_BARE;
}

enum lex_state
lex_number_suffix(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (r == 'b' || r == 'B' || r == 'i' || r == 'I') {
        return LEX_NUMBER_SUFFIX;
    }
    if (ends_number(r)) {
        return number_done(lx, ITEM_INTEGER);
    }
    lex_backup(lx);
    lx->string_state = LEX_BARE;
    return LEX_BARE;
}

enum lex_state
lex_neg_start(struct conf_lex *lx)
{
    return first_digit(lx, LEX_NEG_NUMBER);
}

enum lex_state
lex_neg_number(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_digit(r)) {
        return LEX_NEG_NUMBER;
    }
    if (r == '.') {
        return LEX_FLOAT_START;
    }
    return is_size_suffix(r) ? LEX_NUMBER_SUFFIX : number_done(lx, ITEM_INTEGER);
}

enum lex_state
lex_float_start(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (!lex_is_digit(r)) {
        return lex_error(lx, "Floats must have a digit after the '.', but got '%R' instead.", r);
    }
    return LEX_FLOAT;
}

enum lex_state
lex_float(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_digit(r)) {
        return LEX_FLOAT;
    }
    return r == '.' ? LEX_ADDRESS : number_done(lx, ITEM_FLOAT);
}

/* It has two dots: an IP address, perhaps with a port. */
enum lex_state
lex_address(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    if (lex_is_digit(r) || r == '.' || r == ':' || r == '-') {
        return LEX_ADDRESS;
    }
    return number_done(lx, ITEM_STRING);
}
