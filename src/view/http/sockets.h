/* Where the server listens. */
#ifndef CRD_VIEW_SOCKETS_H
#define CRD_VIEW_SOCKETS_H

#include "credence/view.h"

typedef struct crd_sockets {
    int fds[2];
    int count;
    int port;          /* 0 with a Unix socket */
    char address[128]; /* "127.0.0.1:8471", as it stands in an address; behind a tunnel to a Unix socket "localhost" */
} crd_sockets;

/* By the options: a port of the loopback (and of its IPv6, where there is one), an address, or a Unix socket. */
crd_status crd_sockets_open(const crd_view_options *options, crd_sockets *out);
/* Checks of settings: an address of IPv4 or IPv6, the name of a socket. */
crd_status crd_check_address(const char *name, const char *text);
crd_status crd_check_socket(const char *name, const char *text);
/* Only before a server has taken them. */
void crd_sockets_close(crd_sockets *sockets);

#endif
