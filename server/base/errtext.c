/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/errtext.h"

#include <stdio.h>
#include <string.h>

const char *
errtext(int number, char out[ERRTEXT_LEN])
{
    char buf[ERRTEXT_LEN];
    snprintf(out, ERRTEXT_LEN, "%s", strerror_r(number, buf, sizeof buf));
    if (out[0] >= 'A' && out[0] <= 'Z') {
        out[0] = (char)(out[0] - 'A' + 'a');
    }
    return out;
}
