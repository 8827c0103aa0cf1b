/* SPDX-License-Identifier: Apache-2.0 */
#include "api/filter.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/gojson.h"

enum kind { KIND_STRING, KIND_BOOL, KIND_STRINGS };

static const struct {
    const char *name;
    enum kind kind;
    const char *go;
} members[] = {
    {"server_name", KIND_STRING, "string"}, {"cluster", KIND_STRING, "string"},
    {"host", KIND_STRING, "string"},        {"exact_match", KIND_BOOL, "bool"},
    {"tags", KIND_STRINGS, "[]string"},     {"domain", KIND_STRING, "string"},
};

static bool
is_kind(const json_t *j, enum kind kind, const json_t **wrong)
{
    size_t i;
    json_t *v;
    *wrong = j;
    /* null leaves a field as it is, as in Go. */
    if (json_is_null(j)) {
        return true;
    }
    if (kind != KIND_STRINGS) {
        return kind == KIND_BOOL ? json_is_boolean(j) : json_is_string(j);
    }
    if (!json_is_array(j)) {
        return false;
    }
    json_array_foreach((json_t *)(uintptr_t)j, i, v)
    {
        if (!json_is_string(v) && !json_is_null(v)) {
            *wrong = v;
            return false;
        }
    }
    return true;
}

enum status
filter_check(const json_t *options, const char *go, char *err, size_t err_size)
{
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const json_t *j = json_object_get(options, members[i].name);
        const json_t *wrong;
        if (j != NULL && !is_kind(j, members[i].kind, &wrong)) {
            bool nested = strcmp(go, "EventFilterOptions") != 0;
            (void)snprintf(err, err_size,
                           "json: cannot unmarshal %s into Go struct field %s.%s%s of type %s",
                           gojson_type(wrong), go, nested ? "EventFilterOptions." : "",
                           members[i].name, wrong == j ? members[i].go : "string");
            return ST_SYNTAX;
        }
    }
    return ST_OK;
}

static const char *
text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s == NULL ? "" : s;
}

static bool
has_tag(const json_t *server, const char *tag)
{
    size_t i;
    json_t *v;
    json_array_foreach(json_object_get(server, "tags"), i, v)
    {
        /* Tags are kept in lower case, and asked for in any. */
        if (json_is_string(v) && strcasecmp(json_string_value(v), tag) == 0) {
            return true;
        }
    }
    return false;
}

bool
filter_matches(const json_t *options, const json_t *server)
{
    static const char *const names[][2] = {
        {"server_name", "name"}, {"host", "host"}, {"cluster", "cluster"}};
    bool exact = json_is_true(json_object_get(options, "exact_match"));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *want = text(options, names[i][0]);
        const char *have = text(server, names[i][1]);
        if (*want != '\0' && (exact ? strcmp(have, want) != 0 : strstr(have, want) == NULL)) {
            return false;
        }
    }
    size_t i;
    json_t *tag;
    json_array_foreach(json_object_get(options, "tags"), i, tag)
    {
        const char *want = json_is_string(tag) ? json_string_value(tag) : "";
        if (!has_tag(server, want)) {
            return false;
        }
    }
    const char *domain = text(options, "domain");
    return *domain == '\0' || strcmp(text(server, "domain"), domain) == 0;
}
