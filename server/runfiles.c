/* SPDX-License-Identifier: Apache-2.0 */
#include "server/runfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/buf.h"

static enum status
write_file(const char *path, const char *data, size_t n, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0) {
        return ST_IO;
    }
    while (n > 0) {
        ssize_t done = write(fd, data, n);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            int saved = errno;
            close(fd);
            errno = saved;
            return ST_IO;
        }
        data += done;
        n -= (size_t)done;
    }
    return close(fd) == 0 ? ST_OK : ST_IO;
}

enum status
runfiles_write_pid(const char *path)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%ld", (long)getpid());
    return write_file(path, text, (size_t)n, 0640);
}

void
runfiles_remove_pid(const char *path)
{
    char want[24];
    char have[24];
    int n = snprintf(want, sizeof(want), "%ld", (long)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    ssize_t got = read(fd, have, sizeof(have));
    close(fd);
    if (got == n && memcmp(have, want, (size_t)n) == 0) {
        unlink(path);
    }
}

static void
put_url(struct buf *b, bool first, const char *scheme, const char *host, int port)
{
    bool v6 = strchr(host, ':') != NULL;
    buf_printf(b, "%s\"%s://%s%s%s:%d\"", first ? "" : ",", scheme, v6 ? "[" : "", host,
               v6 ? "]" : "", port);
}

/* Every address of this machine, in the order of its interfaces. */
static bool
put_all_addresses(struct buf *b, const char *scheme, int port)
{
    struct ifaddrs *list = NULL;
    bool first = true;
    if (getifaddrs(&list) != 0) {
        return false;
    }
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        char host[NI_MAXHOST];
        int family = i->ifa_addr != NULL ? i->ifa_addr->sa_family : AF_UNSPEC;
        socklen_t len = family == AF_INET    ? sizeof(struct sockaddr_in)
                        : family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                             : 0;
        if (len == 0 ||
            getnameinfo(i->ifa_addr, len, host, sizeof(host), NULL, 0, NI_NUMERICHOST) != 0) {
            continue;
        }
        host[strcspn(host, "%")] = '\0'; /* without the zone, as nats-server */
        put_url(b, first, scheme, host, port);
        first = false;
    }
    freeifaddrs(list);
    return !first;
}

static void
put_urls(struct buf *b, const char *name, const char *scheme, const char *host, int port)
{
    buf_printf(b, "%s\"%s\":[", b->len > 1 ? "," : "", name);
    bool all = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    if (!all || !put_all_addresses(b, scheme, port)) {
        put_url(b, true, scheme, host, port);
    }
    buf_putc(b, ']');
}

static void
put_path(struct buf *b, const char *dir, const char *argv0)
{
    const char *slash = strrchr(argv0, '/');
    buf_printf(b, "%s/%s_%ld.ports", dir, slash != NULL ? slash + 1 : argv0, (long)getpid());
}

/* Writes beside the path and renames, so that no reader sees half of it. */
static enum status
write_whole(const char *path, const struct buf *text)
{
    struct buf tmp;
    buf_init(&tmp);
    buf_printf(&tmp, "%s.tmp", path);
    enum status st = buf_status(&tmp);
    if (st == ST_OK) {
        st = write_file(tmp.data, text->data, text->len, 0666);
    }
    if (st == ST_OK && rename(tmp.data, path) != 0) {
        int saved = errno;
        unlink(tmp.data);
        errno = saved;
        st = ST_IO;
    }
    buf_fini(&tmp);
    return st;
}

enum status
runfiles_write_ports(const char *dir, const char *argv0, const struct runfiles_ports *ports)
{
    struct buf path;
    struct buf text;
    buf_init(&path);
    buf_init(&text);
    put_path(&path, dir, argv0);
    buf_putc(&text, '{');
    if (ports->host != NULL) {
        put_urls(&text, "nats", "nats", ports->host, ports->port);
    }
    if (ports->monitor_host != NULL) {
        put_urls(&text, "monitoring", "http", ports->monitor_host, ports->monitor_port);
    }
    buf_putc(&text, '}');
    enum status st = path.failed || text.failed ? ST_NOMEM : write_whole(path.data, &text);
    buf_fini(&path);
    buf_fini(&text);
    return st;
}

enum status
runfiles_remove_ports(const char *dir, const char *argv0)
{
    struct buf path;
    buf_init(&path);
    put_path(&path, dir, argv0);
    enum status st = buf_status(&path);
    if (st == ST_OK && unlink(path.data) != 0) {
        st = ST_IO;
    }
    buf_fini(&path);
    return st;
}
