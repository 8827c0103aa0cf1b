/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "server/monitor/http.h"
#include "tests/support/cmk.h"

#include "tests/unit/server/monitor/fake_server.h"

struct answer {
    int code;
    char text[65536]; /* head and body */
    const char *body;
};

static struct answer got;

static int
dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)monitor_port(fake.monitor)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof sa), 0);
    struct timeval tv = {5, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    return fd;
}

static void
send_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t w = send(fd, data, n, MSG_NOSIGNAL);
        if (w <= 0) {
            return; /* the server has closed: what it said is read next */
        }
        data += w;
        n -= (size_t)w;
    }
}

/* Reads to the end of the connection. */
static void
receive(int fd)
{
    size_t n = 0;
    ssize_t r;
    while (n < sizeof got.text - 1 && (r = read(fd, got.text + n, sizeof got.text - 1 - n)) > 0) {
        n += (size_t)r;
    }
    got.text[n] = '\0';
    got.code = 0;
    sscanf(got.text, "HTTP/1.%*d %d", &got.code);
    const char *end = strstr(got.text, "\r\n\r\n");
    got.body = end != NULL ? end + 4 : "";
    close(fd);
}

static void
request(const char *method, const char *target)
{
    char text[1024];
    int n = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                     method, target);
    int fd = dial();
    send_all(fd, text, (size_t)n);
    receive(fd);
}

static void
assert_header(const char *line)
{
    assert_non_null(strstr(got.text, line));
}

static int
start(void **state)
{
    (void)state;
    fake.config.http_port = -1;
    fake.config.system_account = NULL;
    return monitor_new(&fake.monitor, fake_handle()) != ST_OK ||
           monitor_start(fake.monitor) != ST_OK;
}

static int
stop(void **state)
{
    (void)state;
    monitor_stop(fake.monitor);
    monitor_free(fake.monitor);
    fake.monitor = NULL;
    return 0;
}

static void
test_http_serves_every_view_as_json(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/varz",  "/connz?subs=1&auth=1", "/routez",  "/gatewayz", "/leafz",
        "/subsz", "/subscriptionsz",      "/healthz", "/accountz", "/accstatz?unused=1",
        "/jsz",   "/ipqueuesz?all=1",     "/apiz",    "/wlmz",     "/debug/vars"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        request("GET", paths[i]);
        assert_int_equal(got.code, 200);
        assert_header("Content-Type: application/json");
        assert_header("Access-Control-Allow-Origin: *\r\n");
        json_t *j = json_loads(got.body, 0, NULL);
        assert_non_null(j);
        json_decref(j);
    }
}

static void
test_http_answers_every_method_as_a_get(void **state)
{
    (void)state;
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"};
    static const struct {
        const char *path;
        int code;
    } asks[] = {{"/", 200},     {"/varz", 200}, {"/healthz", 200}, {"/stacksz", 200},
                {"/apiz", 200}, {"/wlmz", 200}, {"/metrics", 200}, {"/nope", 404}};
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        for (size_t k = 0; k < sizeof methods / sizeof methods[0]; k++) {
            request(methods[k], asks[i].path);
            assert_int_equal(got.code, asks[i].code);
            assert_true(*got.body != '\0');
        }
    }
}

static void
test_http_prints_json_as_nats_does(void **state)
{
    (void)state;
    request("GET", "/healthz");
    assert_string_equal(got.body, "{\"status\":\"ok\"}");
    request("GET", "/leafz");
    assert_non_null(strstr(got.body, "{\n  \"server_id\": \"NFAKE\",\n  \"now\": \""));
    assert_non_null(strstr(got.body, "\",\n  \"leafnodes\": 0,\n  \"leafs\": []\n}"));
    request("GET", "/varz");
    assert_non_null(strstr(got.body, "\"auth_timeout\": 2,\n"));
    assert_non_null(strstr(got.body, "\"cluster\": {},\n"));
}

static void
test_http_serves_pages_that_are_no_json(void **state)
{
    (void)state;
    request("GET", "/");
    assert_int_equal(got.code, 200);
    assert_header("Content-Type: text/html");
    assert_non_null(strstr(got.body, "fake&lt;1&gt;"));
    assert_non_null(strstr(got.body, "href=\"/connz\""));
    request("GET", "/metrics");
    assert_header("Content-Type: text/plain; version=0.0.4");
    assert_non_null(strstr(got.body, "\nsluice_connections 3\n"));
    assert_non_null(strstr(got.body, "\nsluice_api_depth 0\n"));
    request("GET", "/stacksz");
    assert_non_null(strstr(got.body, "http:"));
}

static void
test_http_refuses_bad_requests_in_nats_words(void **state)
{
    (void)state;
    request("GET", "/connz?sort=x");
    assert_int_equal(got.code, 400);
    assert_header("Content-Type: text/plain; charset=utf-8\r\n");
    assert_string_equal(got.body, "invalid sorting option: x");
    request("GET", "/subsz?limit=zz");
    assert_int_equal(got.code, 400);
    request("GET", "/accountz?acc=Z");
    assert_string_equal(got.body, "Account Z does not exist");
    request("GET", "/jsz?leader-only=1");
    assert_string_equal(got.body, "filtered response: not leader");
    assert_int_equal(got.code, 400);
    request("GET", "/raftz");
    assert_int_equal(got.code, 404);
    assert_string_equal(got.body, "No Raft nodes registered");
    request("GET", "/nope");
    assert_int_equal(got.code, 404);
    assert_string_equal(got.body, "404 page not found\n");
    request("GET", "/healthz?stream=S");
    assert_int_equal(got.code, 400);
    assert_string_equal(got.body, "{\"status\":\"error\",\"error\":\"\\\"account\\\" must not be "
                                  "empty when checking stream health\"}");
    fake.inspect = ST_TIMEOUT;
    request("GET", "/connz");
    fake.inspect = ST_OK;
    assert_int_equal(got.code, 503);
}

static void
test_http_head_has_the_length_and_no_body(void **state)
{
    (void)state;
    request("HEAD", "/healthz");
    assert_int_equal(got.code, 200);
    assert_header("Content-Length: 15\r\n");
    assert_string_equal(got.body, "");
}

static void
test_http_counts_requests_by_path(void **state)
{
    (void)state;
    request("GET", "/subsz");
    request("GET", "/subscriptionsz");
    request("GET", "/varz");
    json_t *j = json_loads(got.body, 0, NULL);
    json_t *stats = json_object_get(j, "http_req_stats");
    assert_int_equal(json_integer_value(json_object_get(stats, "/subsz")), 2);
    assert_int_equal(json_integer_value(json_object_get(stats, "/varz")), 1);
    assert_null(json_object_get(stats, "/connz"));
    json_decref(j);
}

static void
test_http_outlives_garbage_and_huge_requests(void **state)
{
    (void)state;
    static const char garbage[] = "\x16\x03\x01\x02\x00\xff\r\n\r\n";
    int fd = dial();
    send_all(fd, garbage, sizeof garbage - 1);
    shutdown(fd, SHUT_WR);
    receive(fd);
    assert_true(got.code == 0 || got.code >= 400);

    size_t n = 300 * 1024;
    char *huge = mem_alloc(n + 64);
    memcpy(huge, "GET /varz?", 10);
    memset(huge + 10, 'a', n);
    memcpy(huge + 10 + n, " HTTP/1.1\r\n\r\n", 13);
    fd = dial();
    send_all(fd, huge, n + 23);
    receive(fd);
    assert_true(got.code == 0 || got.code >= 400);
    mem_free(huge);

    static const char body[] = "POST /varz HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n";
    fd = dial();
    send_all(fd, body, sizeof body - 1);
    shutdown(fd, SHUT_WR);
    receive(fd);
    assert_true(got.code == 0 || got.code >= 400);

    request("GET", "/varz");
    assert_int_equal(got.code, 200);
}

static void
test_http_slow_clients_hold_up_nobody(void **state)
{
    (void)state;
    int slow[20];
    for (size_t i = 0; i < 20; i++) {
        slow[i] = dial();
        send_all(slow[i], "GET /varz HT", 12);
    }
    request("GET", "/healthz");
    assert_int_equal(got.code, 200);
    for (size_t i = 0; i < 20; i++) {
        close(slow[i]);
    }
}

static void
test_http_base_path_stands_in_front_of_all(void **state)
{
    (void)state;
    stop(NULL);
    fake.config.http_base_path = (char *)"nats//mon/";
    assert_int_equal(start(NULL), 0);
    request("GET", "/nats/mon/varz");
    assert_int_equal(got.code, 200);
    request("GET", "/nats/mon");
    assert_non_null(strstr(got.body, "href=\"/nats/mon/connz\""));
    static const char *const outside[] = {"/varz", "/", "/nats/monvarz", "/nats/mon/"};
    for (size_t i = 0; i < 4; i++) {
        request("GET", outside[i]);
        assert_int_equal(got.code, 404);
    }
    fake.config.http_base_path = (char *)"";
}

static void
test_http_taken_port_is_a_failed_start(void **state)
{
    (void)state;
    struct monitor *m;
    fake.config.http_port = monitor_port(fake.monitor);
    assert_int_equal(monitor_new(&m, fake_handle()), ST_OK);
    assert_int_equal(monitor_start(m), ST_IO);
    assert_int_equal(monitor_port(m), 0);
    monitor_free(m);
    fake.config.http_port = 1;
    fake.config.https_port = 1;
    assert_int_equal(monitor_new(&m, fake_handle()), ST_OK);
    assert_int_equal(monitor_start(m), ST_INVAL);
    monitor_free(m);
    fake.config.https_port = 0;
}

int
main(void)
{
#define HTTP_TEST(t) cmocka_unit_test_setup_teardown(t, start, stop)
    const struct CMUnitTest tests[] = {
        HTTP_TEST(test_http_serves_every_view_as_json),
        HTTP_TEST(test_http_answers_every_method_as_a_get),
        HTTP_TEST(test_http_prints_json_as_nats_does),
        HTTP_TEST(test_http_serves_pages_that_are_no_json),
        HTTP_TEST(test_http_refuses_bad_requests_in_nats_words),
        HTTP_TEST(test_http_head_has_the_length_and_no_body),
        HTTP_TEST(test_http_counts_requests_by_path),
        HTTP_TEST(test_http_outlives_garbage_and_huge_requests),
        HTTP_TEST(test_http_slow_clients_hold_up_nobody),
        HTTP_TEST(test_http_base_path_stands_in_front_of_all),
        HTTP_TEST(test_http_taken_port_is_a_failed_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
