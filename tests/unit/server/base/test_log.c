/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/base/mem.h"

/* A folder of its own for each test. */
struct fix {
    char dir[64];
    char path[96];
    char text[65536];
};

static int
set_up(void **state)
{
    struct fix *f = calloc(1, sizeof *f);
    strcpy(f->dir, "/tmp/test_log-XXXXXX");
    if (mkdtemp(f->dir) == NULL) {
        return -1;
    }
    snprintf(f->path, sizeof f->path, "%s/log", f->dir);
    *state = f;
    return 0;
}

/* Counts the files; with `unlink` set, removes them. */
static int
count_files(const char *path, bool remove_them)
{
    int n = 0;
    DIR *dir = opendir(path);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        if (e->d_name[0] != '.') {
            n++;
            if (remove_them) {
                unlinkat(dirfd(dir), e->d_name, 0);
            }
        }
    }
    closedir(dir);
    return n;
}

static int
tear_down(void **state)
{
    struct fix *f = *state;
    log_close();
    count_files(f->dir, true);
    rmdir(f->dir);
    free(f);
    return 0;
}

static const char *
content(struct fix *f)
{
    FILE *file = fopen(f->path, "r");
    assert_non_null(file);
    size_t n = fread(f->text, 1, sizeof f->text - 1, file);
    f->text[n] = '\0';
    fclose(file);
    return f->text;
}

static void
assert_matches(const char *text, const char *pattern)
{
    regex_t rx;
    assert_int_equal(regcomp(&rx, pattern, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&rx, text, 0, NULL, 0) != 0) {
        fail_msg("\"%s\" does not match %s", text, pattern);
    }
    regfree(&rx);
}

static void
test_log_a_line_has_the_form_of_nats_server(void **state)
{
    struct fix *f = *state;
    assert_int_equal(log_open(&(struct log_opts){.file = f->path, .time = true}), ST_OK);
    log_info("Server is %s", "ready");
    assert_matches(content(f),
                   "^\\[[0-9]+\\] [0-9]{4}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} "
                   "\\[INF\\] Server is ready\n$");
}

static void
test_log_without_time_has_none(void **state)
{
    struct fix *f = *state;
    assert_int_equal(log_open(&(struct log_opts){.file = f->path}), ST_OK);
    log_warn("w");
    log_error("e");
    log_fatal("f");
    assert_matches(
        content(f),
        "^\\[[0-9]+\\] \\[WRN\\] w\n\\[[0-9]+\\] \\[ERR\\] e\n\\[[0-9]+\\] \\[FTL\\] f\n$");
}

static void
test_log_debug_and_trace_only_when_asked_for(void **state)
{
    struct fix *f = *state;
    assert_int_equal(log_open(&(struct log_opts){.file = f->path}), ST_OK);
    assert_false(log_enabled(LVL_DEBUG));
    assert_false(log_enabled(LVL_TRACE));
    assert_true(log_enabled(LVL_INFO));
    log_debug("no");
    log_trace("no");
    assert_string_equal(content(f), "");
    assert_int_equal(log_open(&(struct log_opts){.file = f->path, .debug = true, .trace = true}),
                     ST_OK);
    log_debug("yes");
    log_trace("yes");
    assert_matches(content(f), "\\[DBG\\] yes\n.*\\[TRC\\] yes\n$");
}

static void
test_log_cuts_long_lines_but_not_traces(void **state)
{
    struct fix *f = *state;
    char *big = malloc(10001);
    memset(big, 'x', 10000);
    big[10000] = '\0';
    assert_int_equal(log_open(&(struct log_opts){.file = f->path, .trace = true}), ST_OK);
    log_info("%s", big);
    size_t cut = strlen(content(f));
    assert_in_range(cut, 4000, 4096);
    assert_int_equal(f->text[cut - 1], '\n');
    log_trace("%s", big);
    assert_true(strlen(content(f)) > cut + 10000);
    assert_non_null(strstr(f->text + cut, big));
    free(big);
}

static void
test_log_reopen_makes_the_file_anew(void **state)
{
    struct fix *f = *state;
    assert_int_equal(log_open(&(struct log_opts){.file = f->path}), ST_OK);
    log_info("first");
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(log_reopen(), ST_OK);
    log_info("second");
    assert_matches(content(f), "^[^\n]*second\n$");
}

static void
test_log_that_cannot_be_opened_leaves_the_old_one(void **state)
{
    struct fix *f = *state;
    assert_int_equal(log_open(&(struct log_opts){.file = f->path}), ST_OK);
    assert_int_equal(log_open(&(struct log_opts){.file = "/nowhere/at/all"}), ST_IO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(log_open(&(struct log_opts){.remote_syslog = "http://x"}), ST_INVAL);
    log_info("still here");
    assert_matches(content(f), "still here\n$");
}

static void
test_log_rotates_at_its_limit_and_keeps_so_many_files(void **state)
{
    struct fix *f = *state;
    const struct log_opts opts = {.file = f->path, .size_limit = 1000, .max_files = 3};
    assert_int_equal(log_open(&opts), ST_OK);
    char other[128];
    snprintf(other, sizeof other, "%s.2026.txt", f->path);
    fclose(fopen(other, "w"));
    for (int i = 0; i < 1000; i++) {
        log_info("line %d", i);
    }
    assert_true(strlen(content(f)) <= 1100);
    assert_int_equal(count_files(f->dir, false), 3 + 1);
    assert_int_equal(access(other, F_OK), 0);
}

static void
test_log_sends_to_a_remote_syslog_in_place_of_the_file(void **state)
{
    struct fix *f = *state;
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof sin;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof sin), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
    char url[64];
    snprintf(url, sizeof url, "udp://127.0.0.1:%d", ntohs(sin.sin_port));
    assert_int_equal(log_open(&(struct log_opts){.remote_syslog = url}), ST_OK);
    log_error("disk is gone");
    ssize_t n = recv(fd, f->text, sizeof f->text - 1, 0);
    assert_true(n > 0);
    f->text[n] = '\0';
    assert_matches(f->text, "^<27>[0-9T:-]+Z [^ ]+ sluice\\[[0-9]+\\]: disk is gone\n$");
    close(fd);
}

static void
test_log_a_file_goes_before_any_syslog(void **state)
{
    struct fix *f = *state;
    const struct log_opts opts = {
        .file = f->path, .remote_syslog = "foo://nowhere", .syslog = true, .time = true};
    assert_int_equal(log_open(&opts), ST_OK);
    log_info("here");
    assert_non_null(strstr(content(f), "here"));
}

static void
test_log_addresses_that_are_none_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(log_open(&(struct log_opts){.remote_syslog = "foo://127.0.0.1:5"}), ST_INVAL);
    errno = ENOENT;
    assert_int_equal(log_open(&(struct log_opts){.remote_syslog = "udp://no such host:5"}), ST_IO);
    assert_int_equal(errno, 0);
    assert_int_equal(log_open(&(struct log_opts){.remote_syslog = "unix:///no/such"}), ST_IO);
    assert_int_equal(errno, ENOENT);
}

static void
test_log_comes_back_when_the_local_syslog_was_restarted(void **state)
{
    struct fix *f = *state;
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    snprintf(un.sun_path, sizeof un.sun_path, "%s", f->path);
    char url[128];
    snprintf(url, sizeof url, "unix://%s", f->path);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
    assert_int_equal(log_open(&(struct log_opts){.remote_syslog = url}), ST_OK);
    close(fd);
    unlink(f->path);
    fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
    log_info("lost");
    log_info("again");
    assert_true(recv(fd, f->text, sizeof f->text, 0) > 0);
    close(fd);
    unlink(f->path);
}

static void
test_log_sends_to_a_syslog_over_tcp(void **state)
{
    struct fix *f = *state;
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof sin;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&sin, sizeof sin), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&sin, &len), 0);
    char url[64];
    snprintf(url, sizeof url, "tcp://127.0.0.1:%d", ntohs(sin.sin_port));
    assert_int_equal(log_open(&(struct log_opts){.remote_syslog = url}), ST_OK);
    int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    log_info("up");
    ssize_t n = recv(fd, f->text, sizeof f->text - 1, 0);
    assert_true(n > 0);
    f->text[n] = '\0';
    assert_matches(f->text, "^<29>.*: up\n$");
    /* A peer that goes away costs lines, not the server. */
    close(fd);
    close(listener);
    for (int i = 0; i < 10; i++) {
        log_info("nobody reads");
    }
    assert_int_equal(log_open(&(struct log_opts){.remote_syslog = url}), ST_IO);
}

static void
sweep(const struct log_opts *opts)
{
    enum status st = ST_NOMEM;
    for (long n = 0; st != ST_OK; n++) {
        assert_true(n < 20);
        mem_fail_at(n);
        st = log_open(opts);
        mem_fail_at(-1);
        assert_true(st == ST_OK || st == ST_NOMEM);
    }
    log_close();
}

static void
test_log_open_survives_any_failed_allocation(void **state)
{
    const struct fix *f = *state;
    long live = mem_live();
    sweep(&(struct log_opts){.file = f->path});
    sweep(&(struct log_opts){.remote_syslog = "udp://127.0.0.1:9"});
    assert_int_equal(mem_live(), live);
}

static void *
write_many(void *name)
{
    for (int i = 0; i < 500; i++) {
        log_info("%s says a line of some length", (const char *)name);
    }
    return NULL;
}

static void
test_log_lines_of_many_threads_stay_whole(void **state)
{
    struct fix *f = *state;
    pthread_t threads[4];
    assert_int_equal(log_open(&(struct log_opts){.file = f->path}), ST_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, "thread"), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    FILE *file = fopen(f->path, "r");
    int lines = 0;
    while (fgets(f->text, sizeof f->text, file) != NULL) {
        assert_matches(f->text, "^\\[[0-9]+\\] \\[INF\\] thread says a line of some length\n$");
        lines++;
    }
    fclose(file);
    assert_int_equal(lines, 2000);
}

static void
test_log_limit_lets_one_through_and_counts_the_rest(void **state)
{
    (void)state;
    struct log_limit lim = {0};
    uint64_t held = 99;
    assert_true(log_limit_pass(&lim, &held));
    assert_int_equal(held, 0);
    for (int i = 0; i < 5; i++) {
        assert_false(log_limit_pass(&lim, &held));
    }
    atomic_store(&lim.next_ns, 0);
    assert_true(log_limit_pass(&lim, &held));
    assert_int_equal(held, 5);
}

#define LOG_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(test_log_a_line_has_the_form_of_nats_server),
        LOG_TEST(test_log_without_time_has_none),
        LOG_TEST(test_log_debug_and_trace_only_when_asked_for),
        LOG_TEST(test_log_cuts_long_lines_but_not_traces),
        LOG_TEST(test_log_reopen_makes_the_file_anew),
        LOG_TEST(test_log_that_cannot_be_opened_leaves_the_old_one),
        LOG_TEST(test_log_rotates_at_its_limit_and_keeps_so_many_files),
        LOG_TEST(test_log_sends_to_a_remote_syslog_in_place_of_the_file),
        LOG_TEST(test_log_sends_to_a_syslog_over_tcp),
        LOG_TEST(test_log_a_file_goes_before_any_syslog),
        LOG_TEST(test_log_addresses_that_are_none_are_told_apart),
        LOG_TEST(test_log_comes_back_when_the_local_syslog_was_restarted),
        LOG_TEST(test_log_open_survives_any_failed_allocation),
        LOG_TEST(test_log_lines_of_many_threads_stay_whole),
        LOG_TEST(test_log_limit_lets_one_through_and_counts_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
