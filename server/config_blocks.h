/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a configuration file that are more than one value of one type: the `parse` column of
 * the option table. Each adds its errors to the loader. */
#ifndef SERVER_CONFIG_BLOCKS_H
#define SERVER_CONFIG_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct conf_value;
struct config_loader;
struct option;

#define CONFIG_BLOCK(name)                                                                         \
    void config_block_##name(struct config_loader *ld, const struct option *o,                     \
                             const struct conf_value *v, const char *key)
CONFIG_BLOCK(listen);
CONFIG_BLOCK(http);
CONFIG_BLOCK(lame_duck);
CONFIG_BLOCK(tags);
CONFIG_BLOCK(metadata);
CONFIG_BLOCK(feature_flags);
CONFIG_BLOCK(trace);
CONFIG_BLOCK(server_name);
CONFIG_BLOCK(max_connections);
CONFIG_BLOCK(sub_tokens);
CONFIG_BLOCK(jetstream);
CONFIG_BLOCK(jetstream_limit);
CONFIG_BLOCK(jetstream_store_dir);
CONFIG_BLOCK(jetstream_sync);
CONFIG_BLOCK(jetstream_size);
CONFIG_BLOCK(jetstream_idle);
CONFIG_BLOCK(jetstream_limits);
CONFIG_BLOCK(jetstream_batch);
CONFIG_BLOCK(api);
CONFIG_BLOCK(gates);
/* Once all keys are read: the accounts of the gates are there. */
void config_block_gates_end(struct config_loader *ld);

/* "host:port", "[v6]:port" or ":port" into its parts; *host may be empty, *port any number: what is
 * no port fails when it is listened on, as in nats-server.
 * ST_INVAL: not of that form; ST_SYNTAX: *port_text, a part of s, is no port. */
enum status config_block_split(const char *s, char *host, size_t host_size, int64_t *port,
                               const char **port_text) MUST_CHECK;

#endif
