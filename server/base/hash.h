/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded hash for tables whose keys clients choose: XXH3 with a secret seed drawn at start,
 * so that keys cannot be made to collide on purpose. Any thread. */
#ifndef SERVER_BASE_HASH_H
#define SERVER_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *data, size_t n);
/* A checksum: the same seed gives the same in every process, so it may be kept in a file. */
uint64_t hash_seeded(const void *data, size_t n, uint64_t seed);

#endif
