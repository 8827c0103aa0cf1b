/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/views.h"

#include <string.h>

#include "server/base/clock.h"
#include "server/monitor/accountz.h"
#include "server/monitor/clusterz.h"
#include "server/monitor/connz.h"
#include "server/monitor/healthz.h"
#include "server/monitor/jput.h"
#include "server/monitor/jsz.h"
#include "server/monitor/nsubs.h"
#include "server/monitor/procz.h"
#include "server/monitor/statsz.h"
#include "server/monitor/subsz.h"
#include "server/monitor/varz.h"
#include "server/server.h"

static const struct view views[] = {
    {"VARZ", "VarzEventOptions", varz_build},
    {"CONNZ", "ConnzEventOptions.ConnzOptions", connz_build},
    {"SUBSZ", "SubszEventOptions.SubszOptions", subsz_build},
    {"ROUTEZ", "RoutezEventOptions.RoutezOptions", clusterz_build_routez},
    {"GATEWAYZ", "GatewayzEventOptions.GatewayzOptions", clusterz_build_gatewayz},
    {"LEAFZ", "LeafzEventOptions.LeafzOptions", clusterz_build_leafz},
    {"RAFTZ", "RaftzEventOptions.RaftzOptions", clusterz_build_raftz},
    {"ACCOUNTZ", "AccountzEventOptions.AccountzOptions", accountz_build},
    {"ACCSTATZ", "AccountStatzEventOptions.AccountStatzOptions", accountz_build_statz},
    {"ACCINFO", "AccInfoEventOptions", accountz_build_info},
    {"CONNS", "accNumConnsReq", accountz_build_conns},
    {"NSUBS", "accNumSubsReq", nsubs_build},
    {"JSZ", "JszEventOptions.JSzOptions", jsz_build},
    {"ACCJSZ", "JszEventOptions.JSzOptions", jsz_build_account},
    {"STATSZ", "StatszEventOptions", statsz_build},
    {"HEALTHZ", "HealthzEventOptions.HealthzOptions", healthz_build},
    {"IPQUEUESZ", "IpqueueszEventOptions.IpqueueszOptions", procz_build_ipqueuesz},
    {"EXPVARZ", "ExpvarzEventOptions", procz_build_expvarz},
    {"PROFILEZ", "ProfilezEventOptions.ProfilezOptions", procz_build_profilez},
    {"IDZ", "", procz_build_idz},
};

const struct view *
views_find(const char *what)
{
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        if (strcmp(views[i].what, what) == 0) {
            return &views[i];
        }
    }
    return NULL;
}

json_t *
views_begin(struct jput *p, struct server *s)
{
    json_t *o = jput_new(p);
    jput_str(p, o, "server_id", server_id(s));
    jput_time(p, o, "now", clock_wall_ns());
    return o;
}
