/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/wlm_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmk.h"
#include "tests/support/rig.h"

json_t *
wlm_kit_ask(const char *subject, const char *data)
{
    struct api_message m = fakehost_request(1, 99, subject, "_INBOX.op", data);
    m.now = rig.now.t;
    api_receive(rig.api, fakehost_endpoint(rig.api, subject, true), &m);
    assert_true(dispatch_step(rig.api, APIQ_LANE_OPERATOR));
    books_check(rig.api);
    struct fake_msg *f;
    json_t *o = NULL;
    while (o == NULL && (f = fakehost_take(&rig.host)) != NULL) {
        if (strcmp(f->subject, "_INBOX.op") == 0) {
            o = json_loads(f->data, 0, NULL);
        }
        fakehost_free(f);
    }
    assert_non_null(o);
    return o;
}

void
wlm_kit_expect_error(const char *subject, const char *data, int code, const char *in_text)
{
    json_t *o = wlm_kit_ask(subject, data);
    const json_t *e = json_object_get(o, "error");
    if (e == NULL) {
        fail_msg("%s %s was accepted", subject, data);
    }
    assert_int_equal(json_object_size(e), 3);
    assert_int_equal(json_integer_value(json_object_get(e, "code")), code);
    assert_true(json_integer_value(json_object_get(e, "err_code")) > 10000);
    const char *text = json_string_value(json_object_get(e, "description"));
    if (strstr(text, in_text) == NULL) {
        fail_msg("\"%s\" does not name %s", text, in_text);
    }
    json_decref(o);
}

const json_t *
wlm_kit_at(const json_t *o, const char *path)
{
    char text[128];
    char *save = NULL;
    (void)snprintf(text, sizeof(text), "%s", path);
    for (char *k = strtok_r(text, ".", &save); k != NULL; k = strtok_r(NULL, ".", &save)) {
        o = json_is_array(o) ? json_array_get(o, (size_t)atoi(k)) : json_object_get(o, k);
    }
    if (o == NULL) {
        fail_msg("no %s in the answer", path);
    }
    return o;
}

json_int_t
wlm_kit_number(const json_t *o, const char *path)
{
    const json_t *v = wlm_kit_at(o, path);
    if (json_is_string(v)) {
        return (json_int_t)json_string_length(v);
    }
    assert_true(json_is_integer(v));
    return json_integer_value(v);
}

json_int_t
wlm_kit_take_number(json_t *o, const char *path)
{
    json_int_t v = wlm_kit_number(o, path);
    json_decref(o);
    return v;
}
