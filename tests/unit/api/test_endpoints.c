/* SPDX-License-Identifier: Apache-2.0 */
/* The table of endpoints, and that api/README.md shows the same one. Run from the root. */
#include "api/endpoints.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue/apiq_conf.h"
#include "tests/support/cmk.h"

/* The row of the README for one endpoint. */
static void
row(const struct api_endpoint *ep, char *out, size_t size)
{
    const char *who = (ep->flags & API_EP_SYSTEM) != 0  ? "system"
                      : (ep->flags & API_EP_USERS) != 0 ? "others"
                                                        : "every";
    int n = snprintf(out, size, "| ");
    for (size_t i = 0; i < API_EP_SUBJECTS && ep->subjects[i] != NULL; i++) {
        n += snprintf(out + n, size - (size_t)n, "%s`%s`", i == 0 ? "" : " ", ep->subjects[i]);
    }
    (void)snprintf(out + n, size - (size_t)n, " | %s | %s%s | %s |\n", who,
                   apiq_level_name(ep->level),
                   (ep->flags & API_EP_LIFT) != 0 ? " (system account: operator)" : "", ep->doc);
}

static char *
read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    (void)fclose(f);
    return text;
}

static void
test_endpoints_the_readme_shows_exactly_the_table(void **state)
{
    (void)state;
    size_t n;
    size_t shown = 0;
    const struct api_endpoint *const *all = endpoints_all(&n);
    char *text = read_file("api/README.md");
    for (size_t i = 0; i < n; i++) {
        char line[1024];
        if ((all[i]->flags & API_EP_TEST_ONLY) != 0) {
            continue;
        }
        row(all[i], line, sizeof(line));
        shown++;
        if (strstr(text, line) == NULL) {
            fail_msg("api/README.md lacks: %s", line);
        }
    }
    size_t rows = 0;
    for (const char *p = text; (p = strstr(p, "\n| `$")) != NULL; p++) {
        rows++;
    }
    assert_int_equal(rows, shown);
    free(text);
}

/* Whether two endpoints are served in one account on the same subject. */
static bool
is_sharing(const struct api_endpoint *a, const struct api_endpoint *b)
{
    bool same = false;
    for (size_t x = 0; x < API_EP_SUBJECTS && a->subjects[x] != NULL; x++) {
        for (size_t y = 0; y < API_EP_SUBJECTS && b->subjects[y] != NULL; y++) {
            same = same || strcmp(a->subjects[x], b->subjects[y]) == 0;
        }
    }
    return same && ((a->flags ^ b->flags) & API_EP_USERS) == 0;
}

static void
test_endpoints_have_names_and_subjects_of_their_own(void **state)
{
    (void)state;
    size_t n;
    const struct api_endpoint *const *all = endpoints_all(&n);
    for (size_t i = 0; i < n; i++) {
        assert_non_null(all[i]->run);
        assert_non_null(all[i]->subjects[0]);
        assert_true(all[i]->doc[strlen(all[i]->doc) - 1] == '.');
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(all[i]->name, all[k]->name);
            assert_false(is_sharing(all[i], all[k]));
        }
    }
}

/* With an argument: prints the rows for the README. */
int
main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        size_t n;
        const struct api_endpoint *const *all = endpoints_all(&n);
        for (size_t i = 0; i < n; i++) {
            char line[1024];
            row(all[i], line, sizeof(line));
            (void)fputs((all[i]->flags & API_EP_TEST_ONLY) != 0 ? "" : line, stdout);
        }
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endpoints_the_readme_shows_exactly_the_table),
        cmocka_unit_test(test_endpoints_have_names_and_subjects_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
