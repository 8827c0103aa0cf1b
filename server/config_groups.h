/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the configuration that say who gets how much: the block workload_groups { … } and
 * the weights of accounts. As config_blocks.h. */
#ifndef SERVER_CONFIG_GROUPS_H
#define SERVER_CONFIG_GROUPS_H

#include <stdbool.h>

struct conf_value;
struct config;
struct config_loader;
struct option;

#define CONFIG_GROUPS(name)                                                                        \
    void config_groups_##name(struct config_loader *ld, const struct option *o,                    \
                              const struct conf_value *v, const char *key)
CONFIG_GROUPS(block);
CONFIG_GROUPS(weights);

void config_groups_free(struct config *c);
bool config_groups_equal(const struct config *a, const struct config *b);
bool config_groups_equal_weights(const struct config *a, const struct config *b);

#endif
