/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a command line: one table gives parsing, bounds and --help. */
#ifndef TESTS_BENCH_LOADGEN_OPTAB_H
#define TESTS_BENCH_LOADGEN_OPTAB_H

#include <stddef.h>
#include <stdio.h>

#include "server/base/status.h"

enum opt_type {
    OPT_TEXT, /* const char *, into argv */
    OPT_REAL, /* double */
    OPT_LONG, /* long */
    OPT_RATE, /* double; "max" is 0 */
    OPT_FLAG, /* bool, takes no value */
    OPT_LIST  /* struct opt_list: may be given several times */
};

#define OPT_LIST_MAX 32

struct opt_list {
    const char *item[OPT_LIST_MAX]; /* borrowed from argv */
    size_t n;
};

struct opt {
    const char *name; /* NULL ends a table; "" heads a section of --help, which `help` names */
    enum opt_type type;
    size_t field; /* offset in the struct that is filled */
    double min;
    double max;
    const char *def; /* NULL or "0": what a zeroed struct says */
    const char *help;
};

/* Sets the defaults. */
void optab_defaults(void *base, const struct opt *table);

/* Reads one option at argv[0]; *used is how many words it took. ST_INVAL: unknown, without its
 * value, or out of bounds; ST_FULL: a list that holds no more. */
enum status optab_take(void *base, const struct opt *table, int argc, char **argv,
                       const struct opt **row, int *used) MUST_CHECK;

void optab_help(FILE *out, const struct opt *table);

#endif
