/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files and command lines for tests, in a folder of their own. One at a time: the
 * test's working directory is the folder, and standard error is caught while config_load runs. */
#ifndef TESTS_SUPPORT_CONFFILE_H
#define TESTS_SUPPORT_CONFFILE_H

#include "server/config.h"

#define CONFFILE_TEXT 8192

/* Makes the folder and goes there; as cmocka's setup and teardown. */
int conffile_setup(void **state);
int conffile_teardown(void **state);

void conffile_write(const char *name, const char *text);

/* config_load with these arguments behind the program's name; NULL ends them. told: what came out
 * on standard error, or NULL. */
enum status conffile_args(const char *const *args, struct config **out, enum config_action *action,
                          char told[CONFFILE_TEXT]);

/* `-c a.conf` with this text in a.conf. */
enum status conffile_load(const char *text, struct config **out, char told[CONFFILE_TEXT]);
/* The same, which must succeed. */
struct config *conffile_good(const char *text);
/* `-t -c a.conf` must fail, and what it tells be exactly this behind "sluice: ". */
void conffile_bad(const char *text, const char *told);

#endif
