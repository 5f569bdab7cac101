#include "view/http/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"

enum { BACKLOG = 64, PORTS_TRIED = 100, DEFAULT_PORT = 8471 };

typedef union any_address {
    struct sockaddr common;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un unix_path;
} any_address;

/* -1, with errno. */
static int listen_on(const any_address *address, socklen_t length)
{
    const int on = 1, fd = socket(address->common.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    const bool v6 = address->common.sa_family == AF_INET6, local = address->common.sa_family == AF_UNIX;
    if ((local || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0) &&
        (!v6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0) &&
        bind(fd, &address->common, length) == 0 && listen(fd, BACKLOG) == 0) {
        return fd;
    }
    const int cause = errno;
    (void)close(fd);
    errno = cause;
    return -1;
}

static bool parse_address(const char *text, int port, any_address *out, socklen_t *length)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons((uint16_t)port);
        *length = sizeof out->v4;
        return true;
    }
    if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        *length = sizeof out->v6;
        return true;
    }
    return false;
}

static bool is_loopback(const any_address *address)
{
    if (address->common.sa_family == AF_INET) return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static crd_status open_path(const char *path, crd_sockets *out)
{
    any_address address = {0};
    struct stat about;
    CRD_PASS(crd_check_socket("socket", path));
    address.unix_path.sun_family = AF_UNIX;
    memcpy(address.unix_path.sun_path, path, strlen(path) + 1);
    /* One that nobody listens at any more is removed; anything else stays. */
    if (lstat(path, &about) == 0 && S_ISSOCK(about.st_mode)) {
        const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const bool alive = probe >= 0 && connect(probe, &address.common, sizeof address.unix_path) == 0;
        if (probe >= 0) (void)close(probe);
        if (alive) return crd_fail(CRD_ERR_BUSY, "another program listens at %s", path);
        if (unlink(path) != 0) return crd_fail_errno("can't remove the old socket %s", path);
    }
    const mode_t before = umask(0177); /* nobody else may open it, from its first moment on */
    out->fds[0] = listen_on(&address, sizeof address.unix_path);
    const int cause = errno;
    (void)umask(before);
    errno = cause;
    if (out->fds[0] < 0) return crd_fail_errno("can't listen at %s", path);
    out->count = 1;
    snprintf(out->address, sizeof out->address, "localhost");
    return CRD_OK;
}

/* The first address decides about the port; that of IPv6 is one more way to the same. */
static bool open_port(const char *text, int port, crd_sockets *out)
{
    any_address address;
    socklen_t length;
    if (!parse_address(text, port, &address, &length)) return false;
    out->fds[0] = listen_on(&address, length);
    if (out->fds[0] < 0) return false;
    out->count = 1;
    out->port = port;
    snprintf(out->address, sizeof out->address, address.common.sa_family == AF_INET6 ? "[%s]:%d" : "%s:%d", text, port);
    if (strcmp(text, "127.0.0.1") == 0 && parse_address("::1", port, &address, &length)) {
        out->fds[1] = listen_on(&address, length);
        out->count += out->fds[1] >= 0;
    }
    return true;
}

crd_status crd_check_socket(const char *name, const char *text)
{
    const any_address address = {0};
    if (strlen(text) < sizeof address.unix_path.sun_path) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s: '%s' is too long for the name of a socket; %zu letters are the most", name,
                    text, sizeof address.unix_path.sun_path - 1);
}

crd_status crd_check_address(const char *name, const char *text)
{
    any_address address;
    socklen_t length;
    if (parse_address(text, 1, &address, &length)) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s must be an address of this machine, such as 192.168.1.5, not '%s'", name,
                    text);
}

/* Whoever is reached from elsewhere must know by which name: see view/http/guard.h. */
static crd_status check_listen(const crd_view_options *options, const char *text)
{
    any_address address;
    socklen_t length;
    CRD_PASS(crd_check_address("listen", text));
    if (options->host.count > 0 || (parse_address(text, 1, &address, &length) && is_loopback(&address))) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT,
                    "listen: say by --host which name or address people will reach the page by; nothing is encrypted "
                    "on the way, and a tunnel (ssh -L) is the better one");
}

crd_status crd_sockets_open(const crd_view_options *options, crd_sockets *out)
{
    *out = (crd_sockets){.fds = {-1, -1}};
    if (options->socket != NULL) return open_path(options->socket, out);
    const char *text = options->listen != NULL ? options->listen : "127.0.0.1";
    if (options->listen != NULL) CRD_PASS(check_listen(options, text));
    const int first = (int)options->port, tries = options->port_given ? 1 : PORTS_TRIED;
    for (int i = 0; i < tries && first + i <= 65535; i++) {
        if (open_port(text, first + i, out)) return CRD_OK;
        if (errno != EADDRINUSE) break;
    }
    if (errno != EADDRINUSE) return crd_fail_errno("can't listen on %s port %d", text, first);
    return tries == 1 ? crd_fail(CRD_ERR_BUSY,
                                 "port %d is taken; choose another, or leave --port out to get a free one", first)
                      : crd_fail(CRD_ERR_BUSY, "no port from %d on is free; choose another with --port", first);
}

void crd_sockets_close(crd_sockets *sockets)
{
    for (int i = 0; i < sockets->count; i++) (void)close(sockets->fds[i]);
    sockets->count = 0;
}
