#include "view/http/request.h"

#include <string.h>
#include <strings.h>

#include "base/number.h"

const char *const crd_request_wanted[] = {"Host",         "Origin",        "Sec-Fetch-Site",  "X-Credence-Key",
                                          "Content-Type", "If-None-Match", "Accept-Encoding", "Last-Event-ID"};
const int crd_request_wanted_count = sizeof crd_request_wanted / sizeof crd_request_wanted[0];

static crd_method method_of(const char *name)
{
    static const char *const names[] = {"GET", "POST", "PUT", "DELETE"};
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++) {
        if (strcmp(name, names[i]) == 0) return (crd_method)i;
    }
    return CRD_OTHER_METHOD;
}

/* Names that we give out have nothing else in them; so nothing has to be decoded, and "%2e" is no dot. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

static bool is_value(char c)
{
    return is_plain(c) || c == ',' || c == ':' || c == '+';
}

/* One word: not empty, no way up. */
static bool is_word(const char *text)
{
    return text[0] != '\0' && text[0] != '.';
}

static bool split_path(crd_request *r, char *path)
{
    if (*path++ != '/') return false;
    if (*path == '\0') return true; /* "/" alone */
    while (path != NULL) {
        char *slash = strchr(path, '/');
        if (slash != NULL) *slash = '\0';
        for (const char *c = path; *c != '\0'; c++) {
            if (!is_plain(*c)) return false;
        }
        if (!is_word(path) || r->part_count == CRD_REQUEST_PARTS) return false;
        r->parts[r->part_count++] = path;
        path = slash != NULL ? slash + 1 : NULL;
    }
    return true;
}

static bool split_query(crd_request *r, char *query)
{
    while (query != NULL && *query != '\0') {
        char *next = strchr(query, '&'), *equals;
        if (next != NULL) *next++ = '\0';
        equals = strchr(query, '=');
        if (equals == NULL || equals == query || r->query_count == CRD_REQUEST_QUERIES) return false;
        *equals++ = '\0';
        for (const char *c = query; *c != '\0'; c++) {
            if (!is_plain(*c)) return false;
        }
        for (const char *c = equals; *c != '\0'; c++) {
            if (!is_value(*c)) return false;
        }
        if (crd_request_query(r, query) != NULL) return false;
        r->queries[r->query_count++] = (crd_query){.name = query, .value = equals};
        query = next;
    }
    return true;
}

/* Does a list such as "gzip, deflate;q=0.5" have the word, and not with q=0? */
static bool list_has(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *item = list; item != NULL; item = strchr(item, ',')) {
        item += strspn(item, ", \t");
        if (strncasecmp(item, word, length) != 0) continue;
        const char *rest = item + length + strspn(item + length, " \t");
        if (*rest == '\0' || *rest == ',') return true;
        if (*rest != ';') continue;
        rest += 1 + strspn(rest + 1, " \t");
        return !(strncasecmp(rest, "q=0", 3) == 0 && strspn(rest + 3, ".0") == strcspn(rest + 3, ", \t"));
    }
    return false;
}

/* Sent twice, the two may be understood differently by two programs: refused. */
static int take(char *field, size_t room, const char *value)
{
    if (field[0] != '\0') return 400;
    if (strlen(value) >= room) return 431;
    for (const char *c = value; *c != '\0'; c++) {
        if (*c < ' ' || *c > '~') return 400;
    }
    memcpy(field, value, strlen(value) + 1);
    return 0;
}

static int take_header(crd_request *r, const crd_wire_header *header)
{
    const struct {
        const char *name;
        char *field;
        size_t room;
    } fields[] = {
        {"Host", r->host, sizeof r->host},
        {"Origin", r->origin, sizeof r->origin},
        {"Sec-Fetch-Site", r->site, sizeof r->site},
        {"X-Credence-Key", r->key, sizeof r->key},
        {"Content-Type", r->type, sizeof r->type},
        {"If-None-Match", r->match, sizeof r->match},
        {"Last-Event-ID", r->last_event, sizeof r->last_event},
    };
    if (strcasecmp(header->name, "Accept-Encoding") == 0) {
        r->deflate = r->deflate || list_has(header->value, "deflate");
        return 0;
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcasecmp(header->name, fields[i].name) == 0) return take(fields[i].field, fields[i].room, header->value);
    }
    return 0;
}

int crd_request_read(const crd_wire_request *wire, crd_request *out)
{
    memset(out, 0, sizeof *out);
    const size_t length = strlen(wire->target);
    if (length >= sizeof out->target) return 414;
    memcpy(out->target, wire->target, length + 1);
    for (int i = 0; i < wire->header_count; i++) {
        const int refused = take_header(out, &wire->headers[i]);
        if (refused != 0) return refused;
    }
    out->method = method_of(wire->method);
    out->body = wire->body;
    out->body_bytes = wire->body_bytes;
    char *query = strchr(out->target, '?');
    if (query != NULL) *query++ = '\0';
    return split_path(out, out->target) && split_query(out, query) ? 0 : 400;
}

static const char *moved(const char *word, const crd_request *from, const crd_request *to)
{
    return to->target + (word - from->target);
}

void crd_request_copy(const crd_request *request, crd_request *out)
{
    *out = *request;
    for (int i = 0; i < out->part_count; i++) out->parts[i] = moved(request->parts[i], request, out);
    for (int i = 0; i < out->query_count; i++) {
        out->queries[i].name = moved(request->queries[i].name, request, out);
        out->queries[i].value = moved(request->queries[i].value, request, out);
    }
}

const char *crd_request_query(const crd_request *request, const char *name)
{
    for (int i = 0; i < request->query_count; i++) {
        if (strcmp(request->queries[i].name, name) == 0) return request->queries[i].value;
    }
    return NULL;
}

bool crd_request_int(const char *text, int64_t low, int64_t high, int64_t *out)
{
    if (text == NULL || text[0] == '\0' || strspn(text, "-0123456789") != strlen(text)) return false;
    return crd_parse_int(text, strlen(text), out) && *out >= low && *out <= high;
}

bool crd_request_real(const char *text, double *out)
{
    return text != NULL && text[0] != '\0' && crd_parse_real(text, strlen(text), out);
}

/* A whole number up to `end`, which is a character or the text's end; *text moves behind it. */
static bool number_before(const char **text, char end, int64_t low, int64_t high, int64_t *out)
{
    const size_t length = strspn(*text, "0123456789");
    if (length == 0 || (*text)[length] != end || !crd_parse_int(*text, length, out)) return false;
    *text += length + (end != '\0');
    return *out >= low && *out <= high;
}

bool crd_request_place(const char *text, const int64_t shape[3], int64_t out[3])
{
    if (text == NULL) return false;
    for (int i = 0; i < 3; i++) {
        if (!number_before(&text, i < 2 ? ',' : '\0', 0, shape[i] - 1, &out[i])) return false;
    }
    return true;
}

bool crd_request_box(const char *text, const int64_t shape[3], crd_box *out)
{
    if (text == NULL) return false;
    for (int i = 0; i < 3; i++) {
        int64_t end;
        if (!number_before(&text, ':', 0, shape[i] - 1, &out->origin[i])) return false;
        if (!number_before(&text, i < 2 ? ',' : '\0', out->origin[i] + 1, shape[i], &end)) return false;
        out->size[i] = end - out->origin[i];
    }
    return true;
}
