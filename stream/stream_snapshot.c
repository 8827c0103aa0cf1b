/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream_priv.h"

enum js_error
stream_snapshot(struct stream *s, const struct stream_snapshot_rq *rq, json_t **answer,
                struct js_fail *f)
{
    (void)s;
    (void)rq;
    (void)answer;
    return js_fail_text(f, JS_ERR_STREAM_SNAPSHOT, "not supported");
}

enum js_error
stream_restore(struct js_account *a, struct stream_config *cfg, const json_t *state,
               json_t **answer, struct js_fail *f)
{
    (void)a;
    (void)state;
    (void)answer;
    stream_config_free(cfg);
    return js_fail_text(f, JS_ERR_STREAM_RESTORE, "not supported");
}
