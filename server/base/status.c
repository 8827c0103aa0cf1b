/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/status.h"

const char *
status_text(enum status st)
{
#define STATUS_TEXT(name, text) [name] = (text),
    static const char *const texts[] = {STATUS_LIST(STATUS_TEXT)};
#undef STATUS_TEXT
    if ((unsigned)st >= ST_COUNT_) {
        return "unknown status";
    }
    return texts[st];
}
