/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals on demand (api/refuse_some.h); not in a release. Payload:
 *   {"every": N, "subject": "$JS.API.>", "times": N}   every N-th of these; times may be left out
 *   {"every": 0}                                       none
 *   empty                                              changes nothing
 * The answer has what is in force, and how many were seen and refused since it was set. */
#ifdef TESTING

#include <string.h>

#include "api/jobj.h"
#include "api/match.h"
#include "api/refuse_some.h"
#include "api/reply.h"
#include "api/request.h"

/* A member that is a whole number or is not there (0). False: something else. */
static bool
number(const json_t *o, const char *key, uint64_t *out)
{
    const json_t *v = json_object_get(o, key);
    json_int_t n = json_integer_value(v);
    *out = n > 0 ? (uint64_t)n : 0;
    return v == NULL || (json_is_integer(v) && n >= 0);
}

static bool
read_setting(const json_t *o, struct refuse_some *s)
{
    const char *subject = json_string_value(json_object_get(o, "subject"));
    memset(s, 0, sizeof(*s));
    if (!json_is_object(o) || !number(o, "every", &s->every) || !number(o, "times", &s->times)) {
        return false;
    }
    if (subject == NULL) {
        return s->every == 0;
    }
    size_t len = strlen(subject);
    if (len >= sizeof(s->subject) || !match_is_subject(subject)) {
        return false;
    }
    memcpy(s->subject, subject, len + 1);
    return true;
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    (void)a;
    struct refuse_some s;
    if (r->data_len > 0) {
        json_t *o = json_loadb(r->data, r->data_len, 0, NULL);
        bool ok = read_setting(o, &s);
        json_decref(o);
        if (!ok) {
            return reply_error(out, NULL, 400, ERR_BAD_REQUEST, "invalid JSON");
        }
        refuse_some_set(&s);
    }
    refuse_some_get(&s);
    json_t *o = json_object();
    jobj_int(&o, "every", s.every);
    jobj_int(&o, "times", s.times);
    jobj_str(&o, "subject", s.subject);
    jobj_int(&o, "seen", s.seen);
    jobj_int(&o, "refused", s.refused);
    return reply_json(out, o);
}

const struct api_endpoint ep_test_refuse = {
    .name = "test_refuse",
    .subjects = {"$SYS.REQ.TEST.REFUSE"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM | API_EP_NO_REPLY | API_EP_TEST_ONLY,
    .run = run,
    .doc = "Refusals on demand.",
};

#else
/* A file must hold something. */
extern const int ep_test_refuse_is_left_out;
#endif
