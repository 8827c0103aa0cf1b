/* SPDX-License-Identifier: Apache-2.0 */
#include "server/conf/lex_state.h"

#include <string.h>

#include "server/base/assert.h"
#include "server/base/mem.h"

#define RUNE_BAD 0xFFFDu

/* The rune at p and its width; a byte that is not UTF-8 is RUNE_BAD of width 1. */
static uint32_t
decode(const unsigned char *p, size_t n, size_t *width)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    *width = 1;
    size_t len = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (len == 1) {
        return p[0];
    }
    if (len == 0 || p[0] > 0xF4 || len > n) {
        return RUNE_BAD;
    }
    uint32_t r = p[0] & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return RUNE_BAD;
        }
        r = r << 6 | (p[i] & 0x3Fu);
    }
    if (r < least[len] || r > 0x10FFFF || (r >= 0xD800 && r < 0xE000)) {
        return RUNE_BAD;
    }
    *width = len;
    return r;
}

uint32_t
lex_next(struct conf_lex *lx)
{
    if (lx->pos >= lx->n) {
        lx->width = 0;
        return RUNE_EOF;
    }
    if (lx->in[lx->pos] == '\n') {
        lx->line++;
        lx->line_at = lx->pos;
    }
    uint32_t r = decode((const unsigned char *)lx->in + lx->pos, lx->n - lx->pos, &lx->width);
    lx->pos += lx->width;
    return r;
}

void
lex_backup(struct conf_lex *lx)
{
    lx->pos -= lx->width;
    if (lx->pos < lx->n && lx->in[lx->pos] == '\n') {
        lx->line--;
    }
}

uint32_t
lex_peek(struct conf_lex *lx)
{
    uint32_t r = lex_next(lx);
    lex_backup(lx);
    return r;
}

void
lex_ignore(struct conf_lex *lx)
{
    lx->start = lx->pos;
    lx->item_line_at = lx->line_at;
}

void
lex_push(struct conf_lex *lx, enum lex_state state)
{
    buf_putc(&lx->stack, (char)state);
    lx->nomem = lx->nomem || lx->stack.failed;
}

enum lex_state
lex_pop(struct conf_lex *lx)
{
    if (lx->nomem) {
        return LEX_DONE;
    }
    ASSERT(lx->stack.len > 0);
    return (enum lex_state)lx->stack.data[--lx->stack.len];
}

/* Makes an item of what stands in lx->text. */
static void
give_out(struct conf_lex *lx, enum conf_item_type type, size_t line_at)
{
    char *val = lx->text.data;
    lx->nomem = lx->nomem || lx->text.failed;
    lx->item = (struct conf_item){
        .type = type,
        .val = val != NULL ? val : "",
        .len = lx->text.len,
        .line = lx->line,
        .pos = (int)((ptrdiff_t)lx->pos - (ptrdiff_t)line_at - (ptrdiff_t)lx->text.len),
    };
    lx->have_item = true;
}

void
lex_emit(struct conf_lex *lx, enum conf_item_type type)
{
    buf_reset(&lx->text);
    buf_append(&lx->text, lx->parts.data, lx->parts.len);
    buf_append(&lx->text, lx->in + lx->start, lx->pos - lx->start);
    lx->nomem = lx->nomem || lx->parts.failed;
    buf_reset(&lx->parts);
    lx->escaped = false;
    give_out(lx, type, lx->item_line_at);
    lex_ignore(lx);
}

static void
put_rune(struct buf *b, uint32_t r)
{
    if (r == '\n') {
        buf_puts(b, "\\n");
    } else if (r == RUNE_EOF) {
        buf_puts(b, "EOF");
    } else if (r < 0x80) {
        buf_putc(b, (char)r);
    } else if (r < 0x800) {
        buf_putc(b, (char)(0xC0 | r >> 6));
        buf_putc(b, (char)(0x80 | (r & 0x3F)));
    } else if (r < 0x10000) {
        buf_putc(b, (char)(0xE0 | r >> 12));
        buf_putc(b, (char)(0x80 | (r >> 6 & 0x3F)));
        buf_putc(b, (char)(0x80 | (r & 0x3F)));
    } else {
        buf_putc(b, (char)(0xF0 | r >> 18));
        buf_putc(b, (char)(0x80 | (r >> 12 & 0x3F)));
        buf_putc(b, (char)(0x80 | (r >> 6 & 0x3F)));
        buf_putc(b, (char)(0x80 | (r & 0x3F)));
    }
}

enum lex_state
lex_error(struct conf_lex *lx, const char *text, uint32_t rune)
{
    buf_reset(&lx->text);
    const char *hole = strstr(text, "%R");
    if (hole != NULL) {
        buf_append(&lx->text, text, (size_t)(hole - text));
        put_rune(&lx->text, rune);
        text = hole + 2;
    }
    buf_puts(&lx->text, text);
    give_out(lx, ITEM_ERROR, lx->line_at);
    return LEX_DONE;
}

bool
lex_is_blank(uint32_t r)
{
    return r == ' ' || r == '\t';
}

bool
lex_is_newline(uint32_t r)
{
    return r == '\n' || r == '\r';
}

bool
lex_is_space(uint32_t r)
{
    return (r >= '\t' && r <= '\r') || r == ' ' || r == 0x85 || r == 0xA0 || r == 0x1680 ||
           (r >= 0x2000 && r <= 0x200A) || r == 0x2028 || r == 0x2029 || r == 0x202F ||
           r == 0x205F || r == 0x3000;
}

bool
lex_is_digit(uint32_t r)
{
    return r >= '0' && r <= '9';
}

enum status
conf_lex_new(struct conf_lex **out, const char *input, size_t n)
{
    struct conf_lex *lx = mem_alloc(sizeof(*lx));
    if (lx == NULL) {
        return ST_NOMEM;
    }
    lx->in = input;
    lx->n = n;
    lx->line = 1;
    lx->state = LEX_TOP;
    *out = lx;
    return ST_OK;
}

void
conf_lex_free(struct conf_lex *lx)
{
    if (lx == NULL) {
        return;
    }
    buf_fini(&lx->parts);
    buf_fini(&lx->text);
    buf_fini(&lx->stack);
    mem_free(lx);
}

enum status
conf_lex_next(struct conf_lex *lx, struct conf_item *item)
{
#define LEX_FUNC(name, func) [name] = (func),
    static enum lex_state (*const step[])(struct conf_lex *) = {LEX_STATE_LIST(LEX_FUNC)};
#undef LEX_FUNC
    lx->have_item = false;
    while (!lx->have_item && lx->state != LEX_DONE && !lx->nomem) {
        lx->state = step[lx->state](lx);
    }
    if (lx->nomem) {
        return ST_NOMEM;
    }
    *item = lx->have_item ? lx->item : (struct conf_item){.type = ITEM_EOF, .val = ""};
    return ST_OK;
}
