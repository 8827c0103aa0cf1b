/* SPDX-License-Identifier: Apache-2.0 */
/* A recursive-descent check of JSON syntax that stops at the first byte that cannot be, and says
 * what was expected there. Depth is bounded as in jansson. */
#include "api/gojson.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 2048

/* Lives on the stack of is_malformed. */
struct scan {
    const char *p;
    const char *end;
    int depth;
    const char *context; /* what was being looked for at p when it failed */
};

static bool scan_value(struct scan *s, const char *context);

static bool
fail(struct scan *s, const char *context)
{
    s->context = context;
    return false;
}

static void
skip_space(struct scan *s)
{
    while (s->p < s->end && strchr(" \t\r\n", *s->p) != NULL && *s->p != '\0') {
        s->p++;
    }
}

static bool
is_digit(const struct scan *s)
{
    return s->p < s->end && *s->p >= '0' && *s->p <= '9';
}

static bool
is_at(const struct scan *s, const char *set)
{
    return s->p < s->end && *s->p != '\0' && strchr(set, *s->p) != NULL;
}

static bool
scan_escape(struct scan *s)
{
    s->p++;
    if (!is_at(s, "bfnrt\\/\"u")) {
        return fail(s, "in string escape code");
    }
    if (*s->p++ != 'u') {
        return true;
    }
    for (int i = 0; i < 4; i++) {
        if (!is_at(s, "0123456789abcdefABCDEF")) {
            return fail(s, "in \\u hexadecimal character escape");
        }
        s->p++;
    }
    return true;
}

static bool
scan_string(struct scan *s)
{
    s->p++;
    while (s->p < s->end && *s->p != '"') {
        if (*s->p == '\\') {
            if (!scan_escape(s)) {
                return false;
            }
        } else if ((unsigned char)*s->p < 0x20) {
            return fail(s, "in string literal");
        } else {
            s->p++;
        }
    }
    if (s->p == s->end) {
        return fail(s, "");
    }
    s->p++;
    return true;
}

static bool
scan_digits(struct scan *s, const char *context)
{
    if (!is_digit(s)) {
        return fail(s, context);
    }
    while (is_digit(s)) {
        s->p++;
    }
    return true;
}

static bool
scan_number(struct scan *s)
{
    if (*s->p == '-') {
        s->p++;
        if (!is_digit(s)) {
            return fail(s, "in numeric literal");
        }
    }
    if (*s->p == '0') {
        s->p++;
    } else if (!scan_digits(s, "in numeric literal")) {
        return false;
    }
    if (is_at(s, ".")) {
        s->p++;
        if (!scan_digits(s, "after decimal point in numeric literal")) {
            return false;
        }
    }
    if (is_at(s, "eE")) {
        s->p++;
        if (is_at(s, "+-")) {
            s->p++;
        }
        return scan_digits(s, "in exponent of numeric literal");
    }
    return true;
}

static bool
scan_word(struct scan *s)
{
    static const char *const words[][5] = {
        {"true", "in literal true (expecting 'r')", "in literal true (expecting 'u')",
         "in literal true (expecting 'e')"},
        {"false", "in literal false (expecting 'a')", "in literal false (expecting 'l')",
         "in literal false (expecting 's')", "in literal false (expecting 'e')"},
        {"null", "in literal null (expecting 'u')", "in literal null (expecting 'l')",
         "in literal null (expecting 'l')"},
    };
    for (size_t w = 0; w < 3; w++) {
        const char *word = words[w][0];
        if (*s->p != word[0]) {
            continue;
        }
        for (size_t i = 1; word[i] != '\0'; i++) {
            s->p++;
            if (s->p == s->end || *s->p != word[i]) {
                return fail(s, words[w][i]);
            }
        }
        s->p++;
        return true;
    }
    return fail(s, "looking for beginning of value");
}

static bool
scan_member(struct scan *s, const char *context)
{
    if (!is_at(s, "\"")) {
        return fail(s, context);
    }
    if (!scan_string(s)) {
        return false;
    }
    skip_space(s);
    if (!is_at(s, ":")) {
        return fail(s, "after object key");
    }
    s->p++;
    return scan_value(s, "looking for beginning of value");
}

static bool
scan_list(struct scan *s, char close)
{
    bool object = close == '}';
    const char *after = object ? "after object key:value pair" : "after array element";
    s->p++;
    skip_space(s);
    if (s->p < s->end && *s->p == close) {
        s->p++;
        return true;
    }
    for (;;) {
        skip_space(s);
        if (!(object ? scan_member(s, "looking for beginning of object key string")
                     : scan_value(s, "looking for beginning of value"))) {
            return false;
        }
        skip_space(s);
        if (s->p < s->end && *s->p == close) {
            s->p++;
            return true;
        }
        if (!is_at(s, ",")) {
            return fail(s, after);
        }
        s->p++;
    }
}

static bool
scan_value(struct scan *s, const char *context)
{
    bool ok;
    skip_space(s);
    if (s->p == s->end || ++s->depth > DEPTH_MAX) {
        return fail(s, context);
    }
    if (*s->p == '{' || *s->p == '[') {
        ok = scan_list(s, *s->p == '{' ? '}' : ']');
    } else if (*s->p == '"') {
        ok = scan_string(s);
    } else if (*s->p == '-' || is_digit(s)) {
        ok = scan_number(s);
    } else {
        ok = scan_word(s);
    }
    s->depth--;
    return ok;
}

/* A byte as Go quotes it. */
static void
quote(unsigned char c, char *out, size_t size)
{
    static const struct {
        char c;
        const char *text;
    } named[] = {{'\'', "'\\''"}, {'"', "'\"'"},   {'\\', "'\\\\'"}, {'\n', "'\\n'"},
                 {'\r', "'\\r'"}, {'\t', "'\\t'"}, {'\a', "'\\a'"},  {'\b', "'\\b'"},
                 {'\f', "'\\f'"}, {'\v', "'\\v'"}};
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if ((unsigned char)named[i].c == c) {
            (void)snprintf(out, size, "%s", named[i].text);
            return;
        }
    }
    if (c >= 0xa1 && c != 0xad) {
        /* The byte as a character of its own, which takes two bytes. */
        (void)snprintf(out, size, "'%c%c'", 0xc0 | (c >> 6), 0x80 | (c & 0x3f));
    } else if (c >= 0x80) {
        (void)snprintf(out, size, "'\\u%04x'", c);
    } else if (c < 0x20 || c == 0x7f) {
        (void)snprintf(out, size, "'\\x%02x'", c);
    } else {
        (void)snprintf(out, size, "'%c'", c);
    }
}

/* False: there is nothing wrong with the syntax. */
static bool
is_malformed(const char *data, size_t len, char *out, size_t size)
{
    struct scan s = {.p = data, .end = data + len};
    if (scan_value(&s, "looking for beginning of value")) {
        skip_space(&s);
        if (s.p == s.end) {
            return false;
        }
        s.context = "after top-level value";
    }
    /* Go feeds a blank behind the end, which is wrong only inside a literal. */
    bool inside = strncmp(s.context, "in ", 3) == 0 || strncmp(s.context, "after decimal", 13) == 0;
    if (s.p == s.end && !inside) {
        (void)snprintf(out, size, "unexpected end of JSON input");
        return true;
    }
    char c[16];
    quote(s.p == s.end ? ' ' : (unsigned char)*s.p, c, sizeof(c));
    (void)snprintf(out, size, "invalid character %s %s", c, s.context);
    return true;
}

bool
gojson_decoder_error(const char *data, size_t len, char *out, size_t size)
{
    char c[16];
    struct scan s = {.p = data, .end = data + len};
    if (scan_value(&s, "looking for beginning of value")) {
        skip_space(&s);
        s.context = "looking for beginning of value";
        if (s.p == s.end) {
            return false;
        }
    }
    if (s.p == s.end) {
        (void)snprintf(out, size, "unexpected EOF");
        return true;
    }
    quote((unsigned char)*s.p, c, sizeof(c));
    (void)snprintf(out, size, "invalid character %s %s at offset %td", c, s.context,
                   s.p - data + 1);
    return true;
}

enum status
gojson_load(const char *data, size_t len, size_t flags, json_t **out, char *err, size_t err_size)
{
    /* NB: jansson keeps the code in the last byte, which it leaves as it is without memory. */
    json_error_t at = {.line = 0};
    *out = json_loadb(data, len, flags | JSON_DECODE_ANY, &at);
    if (*out != NULL) {
        return ST_OK;
    }
    if (is_malformed(data, len, err, err_size)) {
        return ST_SYNTAX;
    }
    switch ((int)json_error_code(&at)) {
    case json_error_stack_overflow:
    case json_error_invalid_utf8:
    case json_error_null_character:
    case json_error_null_byte_in_key:
    case json_error_duplicate_key:
    case json_error_numeric_overflow:
        (void)snprintf(err, err_size, "%s", at.text);
        return ST_SYNTAX;
    default:
        /* jansson does not tell everywhere that it found no memory. */
        return ST_NOMEM;
    }
}

const char *
gojson_type(const json_t *j)
{
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "number";
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
    default:
        return "bool";
    }
}
