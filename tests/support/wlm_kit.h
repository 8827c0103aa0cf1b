/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of an operator to the plane of the rig (tests/support/rig.h), by the operator's lane.
 */
#ifndef TESTS_SUPPORT_WLM_KIT_H
#define TESTS_SUPPORT_WLM_KIT_H

#include <jansson.h>

/* The answer; what is answered to others meanwhile is lost. New reference. */
json_t *wlm_kit_ask(const char *subject, const char *data);
/* Fails the test unless the answer is an error of that code with that in its text. */
void wlm_kit_expect_error(const char *subject, const char *data, int code, const char *in_text);

/* The member at a path: "groups.0.limit". Borrowed: of o. Fails the test if there is none. */
const json_t *wlm_kit_at(const json_t *o, const char *path);
/* The whole number there, or the length of a text. Fails the test if it is neither. */
json_int_t wlm_kit_number(const json_t *o, const char *path);
/* The same, and o is freed. */
json_int_t wlm_kit_take_number(json_t *o, const char *path);

#endif
