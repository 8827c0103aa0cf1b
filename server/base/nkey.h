/* SPDX-License-Identifier: Apache-2.0 */
/* Public nkeys, the names of NATS entities: base32 of a prefix byte, 32 key bytes and a CRC-16
 * (nats-io/nkeys; CRC-16/XMODEM, polynomial 0x1021). Any thread. */
#ifndef SERVER_BASE_NKEY_H
#define SERVER_BASE_NKEY_H

enum { NKEY_TEXT = 57 }; /* 56 characters and a NUL */

enum nkey_kind {
    NKEY_SERVER = 13 << 3, /* "N…": Ed25519 */
    NKEY_CURVE = 23 << 3,  /* "X…": X25519 */
};

/* Makes a new key pair and writes its public half; the private half is forgotten. */
void nkey_new_public(enum nkey_kind kind, char out[NKEY_TEXT]);

#endif
