/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"
#include "api/gates.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/server.h"
#include "server/start.h"

enum status
start_gates(struct server *s, const struct config *cfg)
{
    const struct gate_conf **confs = mem_alloc_array(cfg->n_gates, sizeof *confs);
    if (confs == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < cfg->n_gates; i++) {
        confs[i] = cfg->gates[i].conf;
    }
    enum status st = gates_apply(api_gates(server_api(s)), confs, cfg->n_gates);
    mem_free(confs);
    return st;
}
