/* SPDX-License-Identifier: Apache-2.0 */
/* What an errno means, in the lower case of Go's messages, which tools look for ("no such file or
 * directory"). Any thread. */
#ifndef SERVER_BASE_ERRTEXT_H
#define SERVER_BASE_ERRTEXT_H

enum { ERRTEXT_LEN = 128 };

/* Writes it into out and returns out. */
const char *errtext(int number, char out[ERRTEXT_LEN]);

#endif
