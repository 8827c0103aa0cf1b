/* SPDX-License-Identifier: Apache-2.0 */
#include "api/typed.h"

#include <sodium.h>

#include "server/base/clock.h"

json_t *
typed_event(const char *type)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char id[TYPED_ID_LEN + 1];
    for (int i = 0; i < TYPED_ID_LEN; i++) {
        id[i] = digits[randombytes_uniform(sizeof(digits) - 1)];
    }
    id[TYPED_ID_LEN] = '\0';
    char time[CLOCK_RFC3339_LEN];
    return json_pack("{s:s, s:s, s:s}", "type", type, "id", id, "timestamp",
                     clock_rfc3339(clock_wall_ns(), time));
}
