/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a block of permissions of a configuration file:
 *   publish, subscribe: a subject, a list, or { allow, deny } of them; a subject to subscribe to
 *   may be followed by a queue; allow_responses: a boolean, or { max, expires }. */
#ifndef SERVER_CONFIG_PERMS_H
#define SERVER_CONFIG_PERMS_H

struct conf_value;
struct config_loader;
struct config_perms;

/* Replaces *out. Without a valid block there is an error in the loader, and *out is as it was. */
void config_perms_read(struct config_loader *ld, const struct conf_value *v,
                       struct config_perms **out);

#endif
