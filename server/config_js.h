/* SPDX-License-Identifier: Apache-2.0 */
/* The block jetstream { … } of the configuration, of the server and of an account. Parts of a
 * snapshot. */
#ifndef SERVER_CONFIG_JS_H
#define SERVER_CONFIG_JS_H

#include <stdbool.h>
#include <stdint.h>

struct conf_value;
struct config_loader;

/* Defaults and ranges are in the option table. Times are nanoseconds, sizes bytes. */
struct config_js {
    bool enabled;
    char *domain;                 /* owned; NULL: none */
    int64_t max_memory, max_file; /* < 0: three quarters of what the machine has */
    int64_t sync_interval;        /* 0: always */
    bool strict;
    int64_t max_buffered_msgs, max_buffered_size;
    int64_t max_ack_pending, max_request_batch, duplicate_window; /* 0: none */
    int64_t max_consumers; /* of a stream that asks for none */
    int64_t batch_per_stream, batch_total, batch_msgs, batch_timeout; /* 0: the default */
    int64_t max_ha_assets;                                            /* shown, without effect */
};

/* What one account may use; -1: no limit. */
struct config_js_account {
    bool enabled;
    int64_t max_memory, max_file, max_streams, max_consumers, max_ack_pending;
    int64_t memory_max_stream_bytes, store_max_stream_bytes;
    bool max_bytes_required;
};

/* jetstream: … of an account. Errors are added to the loader. */
void config_js_read_account(struct config_loader *ld, const struct conf_value *v,
                            struct config_js_account *a);
bool config_js_account_equal(const struct config_js_account *a, const struct config_js_account *b);

#endif
