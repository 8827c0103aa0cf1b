/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration file of arbitrary bytes: it is read or refused with a message, a value that was
 * read has a place, and nothing is left behind. */
#include "server/conf/parse.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "server/config.h"
#include "server/config_check.h"
#include "server/config_loader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool cond)
{
    if (!cond) {
        abort();
    }
}

static void
check_places(const struct conf_map *m)
{
    for (size_t i = 0; i < conf_map_len(m); i++) {
        const struct conf_value *v = conf_map_at(m, i);
        require(v == conf_map_get(m, conf_map_key(m, i)));
        require(v->line >= 1 && v->file != NULL);
    }
}

/* Every line of a message ends, and there is one for a failure. */
static void
check_message(const struct config_loader *ld, enum status st)
{
    require(st == ST_OK || st == ST_SYNTAX);
    require((st == ST_OK) == (ld->n_errors == 0));
    require(ld->errors.len == 0 || ld->errors.data[ld->errors.len - 1] == '\n');
    require((ld->errors.len == 0) == (ld->n_errors == 0));
}

static void
load(struct config *c, const char *text, size_t n)
{
    struct config_loader ld;
    struct conf_map *m = NULL;
    const char *err = NULL;
    char *why = NULL;
    config_loader_init(&ld, c);
    enum status st = conf_parse_text(&ld.arena, text, n, "fuzz.conf", &m, &err);
    if (st != ST_OK) {
        require(st == ST_SYNTAX && err != NULL && err[0] != '\0');
    } else {
        check_places(m);
        require(config_check_defaults(c) == ST_OK);
        st = config_loader_apply(&ld, m, "fuzz.conf");
        check_message(&ld, st);
        if (st == ST_OK && config_check_finish(c, &ld, &why) != ST_OK) {
            require(why != NULL);
        }
    }
    mem_free(why);
    config_loader_fini(&ld);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    long before = mem_live();
    struct config *c = mem_alloc(sizeof(*c));
    /* Of the right size, so that a sanitizer sees a read behind the end. */
    char *copy = malloc(size > 0 ? size : 1);
    require(c != NULL && copy != NULL);
    memcpy(copy, data, size);
    c->refs = 1;
    load(c, copy, size);
    config_unref(c);
    free(copy);
    require(mem_live() == before);
    return 0;
}
