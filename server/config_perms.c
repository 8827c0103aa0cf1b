/* SPDX-License-Identifier: Apache-2.0 */
#include "server/config_perms.h"

#include <string.h>
#include <strings.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/base/subject.h"
#include "server/conf/number.h"
#include "server/config.h"
#include "server/config_loader.h"

#define RESPONSES_MAX     1
#define RESPONSES_EXPIRES (120 * CLOCK_S)

/* The next word of *p, blanks as Go's Fields has them for ASCII. */
static const char *
word(const char **p, size_t *n)
{
    static const char blanks[] = " \t\n\v\f\r";
    const char *begin = *p + strspn(*p, blanks);
    *n = strcspn(begin, blanks);
    *p = begin + *n;
    return begin;
}

static bool
check_subject(struct config_loader *ld, const struct conf_value *v, const char *s, bool queues)
{
    if (subject_is_valid(s, strlen(s))) {
        return true;
    }
    const char *p = s;
    size_t n_subject;
    size_t n_queue;
    size_t n_more;
    const char *subject = word(&p, &n_subject);
    const char *queue = word(&p, &n_queue);
    word(&p, &n_more);
    if (!queues || n_queue == 0 || n_more > 0) {
        config_loader_error(ld, v, "subject \"%s\" is not a valid subject", s);
    } else if (!subject_is_valid(subject, n_subject)) {
        config_loader_error(ld, v, "subject \"%.*s\" is not a valid subject", (int)n_subject,
                            subject);
    } else if (!subject_is_valid(queue, n_queue)) {
        config_loader_error(ld, v, "queue \"%.*s\" is not a valid queue", (int)n_queue, queue);
    } else {
        return true;
    }
    return false;
}

static void
read_subjects(struct config_loader *ld, const struct conf_value *v, bool queues,
              struct config_subjects *out)
{
    if (v->type == CONF_STRING) {
        if (check_subject(ld, v, v->str, queues)) {
            config_loader_append(ld, &out->v, &out->n, v->str);
            out->set = true;
        }
        return;
    }
    if (v->type != CONF_ARRAY) {
        config_loader_error(
            ld, v, "Expected subject permissions to be a subject, or array of subjects, got %s",
            conf_type_name(v->type));
        return;
    }
    /* An empty list is as none at all, as in nats-server. */
    for (size_t i = 0; i < conf_array_len(v->array); i++) {
        const struct conf_value *s = conf_array_at(v->array, i);
        if (s->type != CONF_STRING) {
            config_loader_error(ld, s, "Subject in permissions array cannot be cast to string");
            return;
        }
        if (!check_subject(ld, v, s->str, queues)) {
            return;
        }
        config_loader_append(ld, &out->v, &out->n, s->str);
        out->set = true;
    }
}

static void
read_side(struct config_loader *ld, const struct conf_value *v, bool queues,
          struct config_subjects *allow, struct config_subjects *deny)
{
    if (v->type != CONF_MAP) {
        read_subjects(ld, v, queues, allow);
        return;
    }
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        const struct conf_value *side = conf_map_at(v->map, i);
        const char *key = conf_map_key(v->map, i);
        if (strcasecmp(key, "allow") == 0) {
            read_subjects(ld, side, queues, allow);
        } else if (strcasecmp(key, "deny") == 0) {
            read_subjects(ld, side, queues, deny);
        } else if (!side->used_variable) {
            config_loader_error(ld, side,
                                "Unknown field name \"%s\" parsing subject permissions, only "
                                "'allow' or 'deny' are permitted",
                                key);
        }
    }
}

static bool
is_one_of(const char *key, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcasecmp(key, *names) == 0) {
            return true;
        }
    }
    return false;
}

static void
read_response_key(struct config_loader *ld, const struct conf_value *v, const char *key,
                  struct config_perms *p)
{
    static const char *const max[] = {"max", "max_msgs", "max_messages", "max_responses", NULL};
    static const char *const expires[] = {"expires", "expiration", "ttl", NULL};
    char why[NUMBER_WHY_LEN];
    int64_t d = 0;
    if (is_one_of(key, max)) {
        if (config_loader_is(ld, v, CONF_INT) && v->i != 0) {
            p->responses_max = v->i;
        }
    } else if (!is_one_of(key, expires)) {
        if (!v->used_variable) {
            config_loader_error(ld, v, "Unknown field \"%s\" parsing permissions", key);
        }
    } else if (v->type != CONF_STRING) {
        config_loader_error(ld, v, "error parsing expires, not a duration string");
    } else if (number_parse_duration(v->str, &d, why) != ST_OK) {
        config_loader_error(ld, v, "error parsing expires: %s", why);
    } else if (d != 0) {
        p->responses_expires = d;
    }
}

static void
read_responses(struct config_loader *ld, const struct conf_value *v, struct config_perms *p)
{
    p->responses = v->type == CONF_BOOL ? v->b : true;
    p->responses_max = RESPONSES_MAX;
    p->responses_expires = RESPONSES_EXPIRES;
    if (v->type == CONF_MAP) {
        for (size_t i = 0; i < conf_map_len(v->map); i++) {
            read_response_key(ld, conf_map_at(v->map, i), conf_map_key(v->map, i), p);
        }
    } else if (v->type != CONF_BOOL) {
        config_loader_error(ld, v,
                            "error parsing response permissions, expected a boolean or a map");
    }
}

static void
read_key(struct config_loader *ld, const struct conf_value *v, const char *key,
         struct config_perms *p)
{
    static const char *const pub[] = {"pub", "publish", "import", NULL};
    static const char *const sub[] = {"sub", "subscribe", "export", NULL};
    static const char *const responses[] = {"publish_allow_responses", "allow_responses", NULL};
    if (is_one_of(key, pub)) {
        read_side(ld, v, false, &p->pub_allow, &p->pub_deny);
    } else if (is_one_of(key, sub)) {
        read_side(ld, v, true, &p->sub_allow, &p->sub_deny);
    } else if (is_one_of(key, responses)) {
        read_responses(ld, v, p);
    } else if (!v->used_variable) {
        config_loader_error(ld, v, "Unknown field \"%s\" parsing permissions", key);
    }
}

void
config_perms_read(struct config_loader *ld, const struct conf_value *v, struct config_perms **out)
{
    char text[CONF_TEXT_LEN];
    if (v->type != CONF_MAP) {
        config_loader_error(ld, v, "Expected permissions to be a map/struct, got %s",
                            conf_value_text(v, text));
        return;
    }
    struct config_perms *p = mem_alloc(sizeof(*p));
    if (p == NULL) {
        ld->nomem = true;
        return;
    }
    for (size_t i = 0; i < conf_map_len(v->map); i++) {
        read_key(ld, conf_map_at(v->map, i), conf_map_key(v->map, i), p);
    }
    if (p->responses) {
        /* Who may only answer may publish nothing else. */
        p->pub_allow.set = true;
    }
    config_perms_free(*out);
    *out = p;
}
