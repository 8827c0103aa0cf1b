/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/mode.h"

const struct mode *const modes[] = {
    &mode_pub,       &mode_pubsub, &mode_many, &mode_reqrep, &mode_closed,
    &mode_churn,     &mode_idle,   &mode_wild, &mode_start,  &mode_overload,
    &mode_responder, &mode_jspub,  NULL,
};
