/* SPDX-License-Identifier: Apache-2.0 */
/* What waits in the queues of gates (what their workload groups have parked: groups_list of
 * api/group_admin.h), for operators; and which gate names a workload group. Any thread. */
#ifndef API_GATE_LIST_H
#define API_GATE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "api/gate_conf.h"
#include "queue/apiq_view.h"

struct gates;

struct gate_pick {
    struct apiq_match match; /* flow: an account; its levels are not looked at */
    const char *gate;        /* NULL: of all gates */
};
struct gate_waiting_info {
    struct apiq_item_info item;
    char gate[GATE_NAME_MAX + 1];
};

/* Those that are meant, gate by gate, without the first `offset`; *max: how many fit, then how many
 * were copied; *total: how many are meant in all. ST_NOMEM. */
enum status gates_list(struct gates *gs, const struct gate_pick *pick, size_t offset,
                       struct gate_waiting_info *out, size_t *max, size_t *total) MUST_CHECK;
/* Ends them (END_OPERATOR). Returns how many. */
size_t gates_cancel_match(struct gates *gs, const struct gate_pick *pick);

/* The first gate that names that workload group: true, and its name. */
bool gates_naming(struct gates *gs, const char *group, char name[GATE_NAME_MAX + 1]);

#endif
