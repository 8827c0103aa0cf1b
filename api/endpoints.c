/* SPDX-License-Identifier: Apache-2.0 */
#include "api/endpoints.h"

extern const struct api_endpoint ep_statsz;
extern const struct api_endpoint ep_idz;
extern const struct api_endpoint ep_varz;
extern const struct api_endpoint ep_connz;
extern const struct api_endpoint ep_subsz;
extern const struct api_endpoint ep_routez;
extern const struct api_endpoint ep_gatewayz;
extern const struct api_endpoint ep_leafz;
extern const struct api_endpoint ep_accountz;
extern const struct api_endpoint ep_jsz;
extern const struct api_endpoint ep_healthz;
extern const struct api_endpoint ep_profilez;
extern const struct api_endpoint ep_expvarz;
extern const struct api_endpoint ep_ipqueuesz;
extern const struct api_endpoint ep_raftz;
extern const struct api_endpoint ep_reload;
extern const struct api_endpoint ep_kick;
extern const struct api_endpoint ep_ldm;
extern const struct api_endpoint ep_acc_connz;
extern const struct api_endpoint ep_acc_subsz;
extern const struct api_endpoint ep_acc_leafz;
extern const struct api_endpoint ep_acc_jsz;
extern const struct api_endpoint ep_acc_info;
extern const struct api_endpoint ep_acc_statz;
extern const struct api_endpoint ep_acc_conns;
extern const struct api_endpoint ep_ping_statz;
extern const struct api_endpoint ep_nsubs;
extern const struct api_endpoint ep_debug_subs;
extern const struct api_endpoint ep_user_info;
extern const struct api_endpoint ep_my_connz;
extern const struct api_endpoint ep_my_statz;
extern const struct api_endpoint ep_request_list;
extern const struct api_endpoint ep_request_cancel;
extern const struct api_endpoint ep_queue_info;
extern const struct api_endpoint ep_queue_update;
extern const struct api_endpoint ep_gate_create;
extern const struct api_endpoint ep_gate_update;
extern const struct api_endpoint ep_gate_delete;
extern const struct api_endpoint ep_gate_info;
extern const struct api_endpoint ep_gate_names;
extern const struct api_endpoint ep_gate_list;
extern const struct api_endpoint ep_js_info;
extern const struct api_endpoint ep_js_stream_create;
extern const struct api_endpoint ep_js_stream_update;
extern const struct api_endpoint ep_js_stream_delete;
extern const struct api_endpoint ep_js_stream_purge;
extern const struct api_endpoint ep_js_stream_info;
extern const struct api_endpoint ep_js_stream_names;
extern const struct api_endpoint ep_js_stream_list;
extern const struct api_endpoint ep_js_msg_get;
extern const struct api_endpoint ep_js_msg_delete;
extern const struct api_endpoint ep_js_stream_snapshot;
extern const struct api_endpoint ep_js_stream_restore;
extern const struct api_endpoint ep_js_consumer_create;
extern const struct api_endpoint ep_js_durable_create;
extern const struct api_endpoint ep_js_consumer_info;
extern const struct api_endpoint ep_js_consumer_names;
extern const struct api_endpoint ep_js_consumer_list;
extern const struct api_endpoint ep_js_consumer_delete;
extern const struct api_endpoint ep_js_consumer_pause;
extern const struct api_endpoint ep_js_consumer_unpin;
extern const struct api_endpoint ep_js_consumer_reset;
extern const struct api_endpoint ep_js_clustered;
extern const struct api_endpoint ep_js_clustered_consumer;
extern const struct api_endpoint ep_js_account_purge;
extern const struct api_endpoint ep_group_create;
extern const struct api_endpoint ep_group_update;
extern const struct api_endpoint ep_group_delete;
extern const struct api_endpoint ep_group_info;
extern const struct api_endpoint ep_group_names;
extern const struct api_endpoint ep_group_list;
extern const struct api_endpoint ep_weight_list;
extern const struct api_endpoint ep_weight_update;
extern const struct api_endpoint ep_wlm_stats;
#ifdef TESTING
extern const struct api_endpoint ep_test_refuse;
extern const struct api_endpoint ep_test_sleep;
#endif

static const struct api_endpoint *const all[] = {
    &ep_statsz,
    &ep_idz,
    &ep_varz,
    &ep_connz,
    &ep_subsz,
    &ep_routez,
    &ep_gatewayz,
    &ep_leafz,
    &ep_accountz,
    &ep_jsz,
    &ep_healthz,
    &ep_profilez,
    &ep_expvarz,
    &ep_ipqueuesz,
    &ep_raftz,
    &ep_reload,
    &ep_kick,
    &ep_ldm,
    &ep_acc_connz,
    &ep_acc_subsz,
    &ep_acc_leafz,
    &ep_acc_jsz,
    &ep_acc_info,
    &ep_acc_statz,
    &ep_acc_conns,
    &ep_ping_statz,
    &ep_nsubs,
    &ep_debug_subs,
    &ep_user_info,
    &ep_my_connz,
    &ep_my_statz,
    &ep_request_list,
    &ep_request_cancel,
    &ep_queue_info,
    &ep_queue_update,
    &ep_gate_create,
    &ep_gate_update,
    &ep_gate_delete,
    &ep_gate_info,
    &ep_gate_names,
    &ep_gate_list,
    &ep_js_info,
    &ep_js_stream_create,
    &ep_js_stream_update,
    &ep_js_stream_delete,
    &ep_js_stream_purge,
    &ep_js_stream_info,
    &ep_js_stream_names,
    &ep_js_stream_list,
    &ep_js_msg_get,
    &ep_js_msg_delete,
    &ep_js_stream_snapshot,
    &ep_js_stream_restore,
    &ep_js_consumer_create,
    &ep_js_durable_create,
    &ep_js_consumer_info,
    &ep_js_consumer_names,
    &ep_js_consumer_list,
    &ep_js_consumer_delete,
    &ep_js_consumer_pause,
    &ep_js_consumer_unpin,
    &ep_js_consumer_reset,
    &ep_js_clustered,
    &ep_js_clustered_consumer,
    &ep_js_account_purge,
    &ep_group_create,
    &ep_group_update,
    &ep_group_delete,
    &ep_group_info,
    &ep_group_names,
    &ep_group_list,
    &ep_weight_list,
    &ep_weight_update,
    &ep_wlm_stats,
#ifdef TESTING
    &ep_test_refuse,
    &ep_test_sleep,
#endif
};

const struct api_endpoint *const *
endpoints_all(size_t *n)
{
    *n = sizeof(all) / sizeof(all[0]);
    return all;
}
