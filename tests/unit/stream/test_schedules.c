/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/schedules.h"

#include "tests/support/cmk.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "stream/cron.h"
#include "stream/rfc3339.h"
#include "stream/tzone.h"

static int64_t
at(const char *text)
{
    int64_t ns;
    assert_int_equal(rfc3339_parse(text, strlen(text), &ns), ST_OK);
    return ns;
}

static void
due(const char *pattern, const char *zone, const char *from, const char *want)
{
    struct schedule_spec s = {.pattern = pattern,
                              .pattern_len = strlen(pattern),
                              .zone = zone,
                              .zone_len = zone != NULL ? strlen(zone) : 0,
                              .ts = at(from),
                              .now = at(from)};
    int64_t next;
    bool repeats;
    char text[40];
    assert_int_equal(schedule_next(&s, &next, &repeats), ST_OK);
    assert_string_equal(rfc3339_format(next, text), want);
    assert_int_equal(repeats, strncmp(pattern, "@at ", 4) != 0);
}

static enum status
status_of(const char *pattern, const char *zone)
{
    struct schedule_spec s = {.pattern = pattern,
                              .pattern_len = strlen(pattern),
                              .zone = zone,
                              .zone_len = zone != NULL ? strlen(zone) : 0,
                              .ts = at("2026-01-01T00:00:00Z"),
                              .now = at("2026-01-01T00:00:00Z")};
    int64_t next;
    bool repeats;
    return schedule_next(&s, &next, &repeats);
}

static void
test_schedule_patterns_are_due_when_they_say(void **state)
{
    (void)state;
    const char *from = "2026-11-29T22:17:48.5Z";
    due("@at 2030-01-02T03:04:05Z", NULL, from, "2030-01-02T03:04:05Z");
    due("@at 2030-01-02T03:04:05+01:00", NULL, from, "2030-01-02T02:04:05Z");
    due("@every 90s", NULL, from, "2026-11-29T22:19:19Z");
    due("@hourly", NULL, from, "2026-11-29T23:00:00Z");
    due("@daily", NULL, from, "2026-11-30T00:00:00Z");
    due("@weekly", NULL, from, "2026-12-06T00:00:00Z");
    due("@monthly", NULL, from, "2026-12-01T00:00:00Z");
    due("@yearly", NULL, from, "2027-01-01T00:00:00Z");
    due("*/15 * * * * *", NULL, from, "2026-11-29T22:18:00Z");
    due("0 30 8-10 * * mon-fri", NULL, from, "2026-11-30T08:30:00Z");
    due("0 0 12 1,15 * *", NULL, from, "2026-12-01T12:00:00Z");
    due("0 0 0 29 2 ?", NULL, from, "2028-02-29T00:00:00Z");
    due("0 0 0 13 * fri", NULL, from, "2026-12-04T00:00:00Z");
}

static void
test_schedule_of_long_ago_is_due_once_from_now(void **state)
{
    struct schedule_spec s = {.pattern = "@every 10s",
                              .pattern_len = 10,
                              .ts = at("2026-01-01T00:00:00Z"),
                              .now = at("2026-01-02T00:00:00Z")};
    int64_t next;
    bool repeats;
    (void)state;
    assert_int_equal(schedule_next(&s, &next, &repeats), ST_OK);
    assert_int_equal(next, at("2026-01-02T00:00:10Z"));
}

static void
test_schedule_patterns_that_are_none_are_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "@bad",
                                      "@at tomorrow",
                                      "@every 10ms",
                                      "@every x",
                                      "* * * * *",
                                      "* * * * * * *",
                                      "60 * * * * *",
                                      "* * 24 * * *",
                                      "* * * 0 * *",
                                      "* * * * 13 *",
                                      "* * * * * 7",
                                      "5-1 * * * * *",
                                      "*/0 * * * * *",
                                      "1-2-3 * * * * *",
                                      "0 0 0 31 2 *"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(status_of(bad[i], NULL), ST_SYNTAX);
    }
    assert_int_equal(status_of("@daily", "Europe/Nowhere"), ST_NOTFOUND);
    assert_int_equal(status_of("@daily", ""), ST_NOTFOUND);
    assert_int_equal(status_of("@daily", "../../etc/passwd"), ST_NOTFOUND);
    assert_int_equal(status_of("@every 5s", "UTC"), ST_SYNTAX);
}

static void
test_schedule_follows_the_clocks_of_its_zone(void **state)
{
    struct tzone *z;
    (void)state;
    if (tzone_load(&z, "Europe/Zurich", strlen("Europe/Zurich")) != ST_OK) {
        skip(); /* the machine has no database of zones */
    }
    assert_int_equal(tzone_offset(z, at("2026-07-01T00:00:00Z") / CLOCK_S), 7200);
    assert_int_equal(tzone_offset(z, at("2026-12-01T00:00:00Z") / CLOCK_S), 3600);
    assert_int_equal(tzone_offset(z, at("2050-07-01T00:00:00Z") / CLOCK_S), 7200);
    assert_int_equal(tzone_offset(z, at("2050-12-01T00:00:00Z") / CLOCK_S), 3600);
    tzone_free(z);
    due("0 30 7 * * *", "Europe/Zurich", "2026-07-01T12:00:00Z", "2026-07-02T05:30:00Z");
    due("0 30 7 * * *", "Europe/Zurich", "2026-12-01T12:00:00Z", "2026-12-02T06:30:00Z");
}

static void
test_schedule_knows_the_zone_of_the_server(void **state)
{
    struct tzone *z;
    (void)state;
    if (tzone_load(&z, "Europe/Zurich", strlen("Europe/Zurich")) != ST_OK) {
        skip(); /* the machine has no database of zones */
    }
    tzone_free(z);
    assert_int_equal(setenv("TZ", "Europe/Zurich", 1), 0);
    due("0 30 7 * * *", "Local", "2026-07-01T12:00:00Z", "2026-07-02T05:30:00Z");
    assert_int_equal(setenv("TZ", "no zone", 1), 0);
    due("0 30 7 * * *", "Local", "2026-07-01T12:00:00Z", "2026-07-02T07:30:00Z");
    assert_int_equal(unsetenv("TZ"), 0);
    assert_int_equal(tzone_load(&z, "Local", strlen("Local")), ST_OK);
    tzone_free(z);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule_patterns_are_due_when_they_say),
        cmocka_unit_test(test_schedule_of_long_ago_is_due_once_from_now),
        cmocka_unit_test(test_schedule_patterns_that_are_none_are_refused),
        cmocka_unit_test(test_schedule_follows_the_clocks_of_its_zone),
        cmocka_unit_test(test_schedule_knows_the_zone_of_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
