/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/optab.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool
set_number(char *field, const struct opt *row, const char *text)
{
    char *end = NULL;
    double v = strtod(text, &end);

    /* NB: written so that a NaN fails. */
    if (*text == '\0' || *end != '\0' || !(v >= row->min && v <= row->max)) {
        return false;
    }
    if (row->type == OPT_LONG) {
        long n = (long)v;
        memcpy(field, &n, sizeof(n));
        return (double)n == v;
    }
    memcpy(field, &v, sizeof(v));
    return true;
}

static enum status
set(char *field, const struct opt *row, const char *text)
{
    if (row->type == OPT_TEXT) {
        memcpy(field, &text, sizeof(text));
        return ST_OK;
    }
    if (row->type == OPT_LIST) {
        struct opt_list list;
        memcpy(&list, field, sizeof(list));
        if (list.n == OPT_LIST_MAX) {
            return ST_FULL;
        }
        list.item[list.n++] = text;
        memcpy(field, &list, sizeof(list));
        return ST_OK;
    }
    if (row->type == OPT_RATE && strcmp(text, "max") == 0) {
        double zero = 0;
        memcpy(field, &zero, sizeof(zero));
        return ST_OK;
    }
    return set_number(field, row, text) ? ST_OK : ST_INVAL;
}

static bool
has_default(const struct opt *row)
{
    return row->def != NULL && strcmp(row->def, "0") != 0;
}

static bool
is_option(const struct opt *row)
{
    return row->name[0] != '\0';
}

void
optab_defaults(void *base, const struct opt *table)
{
    for (const struct opt *row = table; row->name != NULL; row++) {
        if (is_option(row) && has_default(row)) {
            (void)set((char *)base + row->field, row, row->def);
        }
    }
}

static const struct opt *
find(const struct opt *table, const char *arg)
{
    if (strncmp(arg, "--", 2) != 0 || arg[2] == '\0') {
        return NULL;
    }
    for (const struct opt *row = table; row->name != NULL; row++) {
        if (strcmp(arg + 2, row->name) == 0) {
            return row;
        }
    }
    return NULL;
}

enum status
optab_take(void *base, const struct opt *table, int argc, char **argv, const struct opt **row,
           int *used)
{
    const struct opt *found = find(table, argv[0]);
    char *field = (char *)base;

    *row = found;
    if (found == NULL) {
        return ST_INVAL;
    }
    field += found->field;
    if (found->type == OPT_FLAG) {
        bool yes = true;
        memcpy(field, &yes, sizeof(yes));
        *used = 1;
        return ST_OK;
    }
    *used = 2;
    return argc < 2 ? ST_INVAL : set(field, found, argv[1]);
}

void
optab_help(FILE *out, const struct opt *table)
{
    for (const struct opt *row = table; row->name != NULL; row++) {
        if (!is_option(row)) {
            (void)fprintf(out, "\n%s\n", row->help);
            continue;
        }
        (void)fprintf(out, "  --%-15s %s", row->name, row->help);
        if (has_default(row) && row->def[0] != '\0') {
            (void)fprintf(out, " [%s]", row->def);
        }
        (void)fputc('\n', out);
    }
}
