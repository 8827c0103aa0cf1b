/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all endpoints. Constant. */
#ifndef API_ENDPOINTS_H
#define API_ENDPOINTS_H

#include <stddef.h>

#include "api/endpoint.h"

/* All of them, in the order of the documentation. */
const struct api_endpoint *const *endpoints_all(size_t *n);

#endif
