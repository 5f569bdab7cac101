#include "view/http/guard.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *const crd_guard_headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
     "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {NULL, NULL},
};

/* The host without its port: tunnels change that. 0: malformed. */
static size_t name_length(const char *host)
{
    const char *end = host[0] == '[' ? strchr(host, ']') : NULL;
    if (host[0] == '[' && end == NULL) return 0;
    const size_t length = end != NULL ? (size_t)(end - host) + 1 : strcspn(host, ":");
    const char *port = host + length;
    if (*port == '\0') return length;
    const size_t digits = strspn(port + 1, "0123456789");
    return *port == ':' && digits > 0 && digits <= 5 && port[1 + digits] == '\0' ? length : 0;
}

static bool same(const char *host, size_t length, const char *name)
{
    return strlen(name) == length && strncasecmp(host, name, length) == 0;
}

static bool host_allowed(const crd_guard *guard, const char *host)
{
    static const char *const loopback[] = {"localhost", "127.0.0.1", "[::1]"};
    const size_t length = name_length(host);
    if (length == 0) return false;
    for (size_t i = 0; i < sizeof loopback / sizeof loopback[0]; i++) {
        if (same(host, length, loopback[i])) return true;
    }
    for (int64_t i = 0; i < guard->host_count; i++) {
        if (same(host, length, guard->hosts[i])) return true;
    }
    return false;
}

static bool origin_allowed(const crd_request *request)
{
    static const char scheme[] = "http://";
    if (request->origin[0] == '\0') return true;
    return strncmp(request->origin, scheme, sizeof scheme - 1) == 0 &&
           strcasecmp(request->origin + sizeof scheme - 1, request->host) == 0;
}

static bool site_allowed(const char *site)
{
    return site[0] == '\0' || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
}

/* In the same time whatever it says: else it could be guessed digit by digit. */
static bool same_key(const char *given, const char key[CRD_KEY_BYTES])
{
    unsigned different = 0;
    if (strlen(given) != CRD_KEY_BYTES - 1) return false;
    for (int i = 0; i < CRD_KEY_BYTES - 1; i++) different |= (unsigned)(given[i] ^ key[i]);
    return different == 0;
}

static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    const size_t length = sizeof json - 1;
    return strncasecmp(type, json, length) == 0 && (type[length] == '\0' || type[length] == ';' || type[length] == ' ');
}

const crd_refusal *crd_guard_check(const crd_guard *guard, const crd_request *request)
{
    static const crd_refusal foreign_host = {403, "host",
                                             "This name isn't one that credence view was told to answer to; open the "
                                             "address that it printed, or start it with --host NAME."};
    static const crd_refusal foreign_page = {403, "origin", "Another site's page may not ask credence view."};
    static const crd_refusal no_key = {401, "key",
                                       "The key is missing or wrong; open the address that credence view printed."};
    static const crd_refusal not_json = {415, "type", "The body must be application/json."};
    if (!host_allowed(guard, request->host)) return &foreign_host;
    if (!origin_allowed(request)) return &foreign_page;
    if (request->part_count == 0 || strcmp(request->parts[0], "api") != 0) return NULL;
    if (!site_allowed(request->site)) return &foreign_page; /* a link from elsewhere to the page itself is fine */
    if (!same_key(request->key, guard->key)) return &no_key;
    if (request->method != CRD_GET && request->body_bytes > 0 && !is_json(request->type)) return &not_json;
    return NULL;
}
