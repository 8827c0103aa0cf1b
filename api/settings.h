/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of the plane in force: read as JSON by $WLM.API.QUEUE.INFO, changed by
 * $WLM.API.QUEUE.UPDATE and by a reload, with requests waiting. Any thread. */
#ifndef API_SETTINGS_H
#define API_SETTINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"
#include "queue/apiq_conf.h"

struct settings;

/* A value. order: of each level; opts.discipline only fills it. */
struct settings_values {
    struct api_opts opts;
    enum apiq_order order[APIQ_LEVELS];
};

/* With opts in force as far as reading goes; settings_apply puts them into the queue. */
enum status settings_new(struct settings **out, const struct api_opts *opts) MUST_CHECK;
void settings_free(struct settings *s);

/* opts.limits. */
bool settings_limits(const struct settings *s);
void settings_get(struct settings *s, struct settings_values *out);
void settings_of_opts(const struct api_opts *opts, struct settings_values *out);

/* Puts all of it into force, or nothing. What no longer fits is appended to fallen, also on an
 * error, and is the caller's. ST_INVAL: a value is out of its range. ST_NOMEM, ST_AGAIN: no
 * workers to be had. ST_CLOSED. */
enum status settings_apply(struct api *a, const struct settings_values *v,
                           struct list_node *fallen) MUST_CHECK;

/* Changes v by the members of a JSON object. ST_INVAL: an unknown key or a bad value; err names
 * it, and v is as it was. */
enum status settings_parse(const json_t *json, struct settings_values *v, char *err,
                           size_t err_size) MUST_CHECK;

/* New reference, or NULL without memory. */
json_t *settings_json(const struct settings_values *v);

#endif
