/* SPDX-License-Identifier: Apache-2.0 */
/* Reads authorization { … }, accounts { … } and what belongs to them: the `parse` column of the
 * option table. A name is used once, over all accounts. Errors are added to the loader. */
#ifndef SERVER_CONFIG_USERS_H
#define SERVER_CONFIG_USERS_H

struct conf_value;
struct config_loader;
struct option;

#define CONFIG_USERS(name)                                                                         \
    void config_users_##name(struct config_loader *ld, const struct option *o,                     \
                             const struct conf_value *v, const char *key)
CONFIG_USERS(authorization);
CONFIG_USERS(auth_timeout);
CONFIG_USERS(auth_users);
CONFIG_USERS(default_permissions);
CONFIG_USERS(accounts);
CONFIG_USERS(system_account);
CONFIG_USERS(no_system_account);

#endif
