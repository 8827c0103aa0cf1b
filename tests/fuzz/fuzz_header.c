/* SPDX-License-Identifier: Apache-2.0 */
/* The header block of a request over arbitrary bytes, and the times in it. */
#include "api/header.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool cond)
{
    if (!cond) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *hdr = (const char *)data;
    static const char *const names[] = {HEADER_TIMEOUT, "a", "Nats-Msg-Id", ""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = NULL;
        size_t len = 0;
        if (header_find(hdr, size, names[i], &value, &len)) {
            require(value >= hdr && value + len <= hdr + size);
            require(len == 0 || (value[0] != ' ' && value[len - 1] != ' '));
            require(memmem(value, len, "\r\n", 2) == NULL);
        }
    }
    int64_t ns = 0;
    enum status st = header_timeout(hdr, size, &ns);
    require(st == ST_OK || st == ST_NOTFOUND || st == ST_INVAL);
    require(st != ST_OK || ns <= HEADER_TIMEOUT_MAX);
    st = header_duration(hdr, size, &ns);
    require(st == ST_OK || st == ST_INVAL);
    return 0;
}
