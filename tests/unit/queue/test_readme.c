/* SPDX-License-Identifier: Apache-2.0 */
/* The example in queue/README.md is compiled and run here, and is the same text there. It is run
 * from the root of the sources, as all tests are. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "queue/apiq.h"
#include "tests/support/cmk.h"

static enum status
example(void)
{
    /* clang-format off */
    /* begin */
    struct apiq *q = NULL;
    struct apiq_item *it, a = {.level = APIQ_INFO, .id = 1}, b = {.level = APIQ_NORMAL, .id = 2};
    struct list_node fallen = {&fallen, &fallen};
    enum status st = apiq_new(&q, &clock_real, 0);
    st = st == ST_OK ? apiq_push(q, &a, &fallen) : st;
    st = st == ST_OK ? apiq_push(q, &b, &fallen) : st;
    for (; st == ST_OK && apiq_pull(q, APIQ_LANE_ANY, &it) == ST_OK; apiq_done(q, it)) {
        printf("running %d\n", (int)it->id);
    }
    apiq_free(q);
    /* end */
    /* clang-format on */
    return st;
}

/* Runs it with its standard output in a file. */
static void
test_readme_example_runs(void **state)
{
    (void)state;
    char printed[64] = "";
    FILE *f = tmpfile();
    assert_non_null(f);
    (void)fflush(stdout);
    int out = dup(STDOUT_FILENO);
    assert_true(out >= 0 && dup2(fileno(f), STDOUT_FILENO) >= 0);
    enum status st = example();
    (void)fflush(stdout);
    assert_true(dup2(out, STDOUT_FILENO) >= 0);
    (void)close(out);
    rewind(f);
    size_t n = fread(printed, 1, sizeof(printed) - 1, f);
    (void)fclose(f);
    assert_int_equal(st, ST_OK);
    assert_true(n > 0);
    assert_string_equal(printed, "running 2\nrunning 1\n");
}

/* The lines of the file between the one that is `from` and the one that is `to`, without `indent`
 * in front of each. */
static void
read_between(const char *path, const char *from, const char *to, size_t indent, char *out)
{
    char line[256];
    bool inside = false;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    out[0] = '\0';
    while (fgets(line, sizeof(line), f) != NULL) {
        if (strcmp(line, to) == 0 && inside) {
            break;
        }
        if (inside) {
            assert_true(strlen(line) > indent && strlen(out) + strlen(line) < 4096);
            strcat(out, line + indent);
        }
        inside = inside || strcmp(line, from) == 0;
    }
    (void)fclose(f);
    assert_true(inside);
}

static void
test_readme_example_is_the_one_in_the_readme(void **state)
{
    (void)state;
    static char here[4096];
    static char there[4096];
    read_between("tests/unit/queue/test_readme.c", "    /* begin */\n", "    /* end */\n", 4, here);
    read_between("queue/README.md", "```c\n", "```\n", 0, there);
    assert_string_equal(here, there);
    assert_true(strlen(here) > 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readme_example_runs),
        cmocka_unit_test(test_readme_example_is_the_one_in_the_readme),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
