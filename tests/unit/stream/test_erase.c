/* SPDX-License-Identifier: Apache-2.0 */
/* What is deleted is overwritten where the request says so, and only there: to overwrite is to
 * write as much as there was. */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/js_priv.h"
#include "stream/store_priv.h"
#include "stream/stream_priv.h"
#include "tests/support/js_kit.h"
#include "tests/support/store_kit.h"

enum { MESSAGES = 10, SIZE = 80000 };

static void
delete_message(struct stream *s, uint64_t seq, bool no_erase)
{
    struct js_fail f = {0};
    assert_int_equal(stream_msg_delete(s, seq, no_erase, &f), JS_OK);
}

/* The database as a killed server leaves it to a thief. */
static bool
file_has(const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/jetstream/sluice.db", js_opts(kit_js())->store_dir);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    static char all[1 << 20];
    size_t n = fread(all, 1, sizeof all, in);
    assert_int_equal(fclose(in), 0);
    return memmem(all, n, text, strlen(text)) != NULL;
}

static void
test_message_that_is_erased_is_nowhere_in_the_file(void **state)
{
    (void)state;
    struct stream *s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"]}");
    kit_publish("s.1", "this is secret");
    kit_publish("s.1", "this is not");
    stream_unref(s);
    kit_restart();
    assert_true(file_has("this is secret"));
    s = stream_find(js_account_next(kit_js(), NULL), "S");
    delete_message(s, 1, false);
    stream_unref(s);
    kit_restart();
    assert_false(file_has("this is secret"));
    assert_true(file_has("this is not"));
}

/* All is told, and the database has it. */
static void
wait_drained(void)
{
    kit_settle();
    store_kit_wait_drained(kit_js()->file);
}

/* Pages written to delete ten large messages. */
static int
pages_to_delete(struct stream *s, bool no_erase)
{
    char *data = malloc(SIZE + 1);
    assert_non_null(data);
    memset(data, 'x', SIZE);
    data[SIZE] = '\0';
    for (int i = 0; i < MESSAGES; i++) {
        kit_publish("s.1", data);
    }
    free(data);
    struct mlog_state st;
    stream_lock(s);
    mlog_state(s->log, &st);
    stream_unlock(s);
    wait_drained();
    int before = kit_js()->file->wal_pages;
    for (uint64_t i = 0; i < MESSAGES; i++) {
        delete_message(s, st.last_seq - i, no_erase);
    }
    wait_drained();
    return kit_js()->file->wal_pages - before;
}

static void
test_what_need_not_be_erased_is_not_written_again(void **state)
{
    (void)state;
    struct stream *s = kit_stream("{\"name\":\"S\",\"subjects\":[\"s.*\"]}");
    assert_in_range(pages_to_delete(s, true), 1, 30);
    assert_in_range(pages_to_delete(s, false), MESSAGES * SIZE / 8192, 200);
    stream_unref(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_set_up, kit_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_message_that_is_erased_is_nowhere_in_the_file),
        TEST(test_what_need_not_be_erased_is_not_written_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
