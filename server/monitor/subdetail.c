/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/subdetail.h"

#include "server/inspect.h"
#include "server/monitor/jput.h"

void
subdetail_add(struct jput *p, json_t *arr, const struct sub_info *sub, bool with_account)
{
    json_t *o = jput_add_obj(p, arr);
    if (with_account) {
        jput_str_opt(p, o, "account", sub->account);
        jput_str_opt(p, o, "account_tag", sub->account);
    }
    jput_str(p, o, "subject", sub->subject);
    jput_str_opt(p, o, "qgroup", sub->queue);
    jput_str(p, o, "sid", sub->sid);
    jput_int(p, o, "msgs", sub->msgs);
    jput_int_opt(p, o, "max", sub->max);
    jput_int(p, o, "cid", (int64_t)sub->cid);
}
