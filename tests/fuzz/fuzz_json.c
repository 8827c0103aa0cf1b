/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of API requests over arbitrary bytes: it is read, or refused with words; settings are
 * taken whole or not at all. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/filter.h"
#include "api/gojson.h"
#include "api/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool cond)
{
    if (!cond) {
        abort();
    }
}

static void
check_settings(const json_t *o)
{
    struct settings_values v = {.opts = {.workers = 2, .adaptive_age = 0.5}};
    struct settings_values before = v;
    char err[256] = "";
    enum status st = settings_parse(o, &v, err, sizeof(err));
    require(st == ST_OK || st == ST_INVAL);
    require(st == ST_OK || (err[0] != '\0' && memcmp(&v, &before, sizeof(v)) == 0));
    require(v.opts.workers >= 1 && v.opts.adaptive_age > 0 && v.opts.request_deadline >= 0);
    json_t *shown = settings_json(&v);
    require(shown != NULL);
    json_decref(shown);
}

static void
check_filter(const json_t *o)
{
    char err[256] = "";
    json_t *server = json_pack("{s:s, s:s, s:[s]}", "name", "a", "host", "b", "tags", "c");
    enum status st = filter_check(o, "VarzEventOptions", err, sizeof(err));
    require(st == ST_OK || (st == ST_SYNTAX && err[0] != '\0'));
    (void)filter_matches(o, server);
    json_decref(server);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *o = NULL;
    char err[256] = "";
    enum status st =
        gojson_load((const char *)data, size, JSON_REJECT_DUPLICATES, &o, err, sizeof(err));
    require(st == ST_OK || st == ST_SYNTAX);
    require((st == ST_OK) == (o != NULL));
    if (st != ST_OK) {
        require(err[0] != '\0');
        return 0;
    }
    require(gojson_type(o) != NULL);
    if (json_is_object(o)) {
        check_settings(o);
        check_filter(o);
    }
    json_decref(o);
    return 0;
}
