/* Requests as checked data, and who may ask: all without a socket. */
#include <string.h>

#include "harness.h"
#include "view/http/guard.h"
#include "view/http/request.h"

static int read_target(const char *target, crd_request *out)
{
    const crd_wire_request wire = {.method = "GET", .target = target};
    return crd_request_read(&wire, out);
}

static void test_paths(void)
{
    crd_request r;
    CHECK(read_target("/", &r) == 0 && r.part_count == 0);
    CHECK(read_target("/api/1/tile/0/3/z/1/17/2/0?lo=-1.5&hi=2e+3", &r) == 0);
    CHECK(r.part_count == 10 && strcmp(r.parts[2], "tile") == 0 && strcmp(r.parts[9], "0") == 0);
    CHECK(strcmp(crd_request_query(&r, "lo"), "-1.5") == 0 && strcmp(crd_request_query(&r, "hi"), "2e+3") == 0);
    CHECK(crd_request_query(&r, "no") == NULL);
    static const char *const bad[] = {
        "",         "x",           "//",      "/a//b", "/a/",       "/..",    "/a/../b",
        "/.git",    "/a/%2e%2e/b", "/a b",    "/a\\b", "/a;b",      "/a\tb",  "/?a",
        "/?=1",     "/?a=1&a=2",   "/?a=<b>", "/a:b",  "http://x/", "/web/.", "/a/b/c/d/e/f/g/h/i/j/k/l/m",
        "/?a=1%00", "/\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (read_target(bad[i], &r) != 400) CHECK_FAILED("'%s' is taken", bad[i]);
    }
    char longest[CRD_REQUEST_TARGET + 2];
    memset(longest, 'a', sizeof longest);
    longest[0] = '/';
    longest[CRD_REQUEST_TARGET - 1] = '\0';
    CHECK(read_target(longest, &r) == 0);
    longest[CRD_REQUEST_TARGET - 1] = 'a';
    longest[CRD_REQUEST_TARGET] = '\0';
    CHECK(read_target(longest, &r) == 414);
}

static void test_copies(void)
{
    crd_request *first = calloc(1, sizeof *first), second;
    CHECK(first != NULL);
    CHECK(read_target("/api/1/voxel?at=1,2,3", first) == 0);
    crd_request_copy(first, &second);
    memset(first, 'x', sizeof *first);
    free(first);
    CHECK(second.part_count == 3 && strcmp(second.parts[2], "voxel") == 0);
    CHECK(strcmp(crd_request_query(&second, "at"), "1,2,3") == 0);
}

static void test_numbers(void)
{
    static const int64_t shape[3] = {10, 20, 30};
    int64_t n, place[3];
    double real;
    crd_box box;
    CHECK(crd_request_int("12", 0, 12, &n) && n == 12);
    CHECK(!crd_request_int("13", 0, 12, &n) && !crd_request_int("", 0, 12, &n) && !crd_request_int(NULL, 0, 1, &n));
    CHECK(!crd_request_int(" 1", 0, 12, &n) && !crd_request_int("+1", 0, 12, &n) && !crd_request_int("1.0", 0, 9, &n));
    CHECK(!crd_request_int("99999999999999999999", 0, INT64_MAX, &n));
    CHECK(crd_request_real("-2e3", &real) && real == -2000.0 && !crd_request_real("nan", &real));
    CHECK(crd_request_place("9,19,29", shape, place) && place[2] == 29);
    CHECK(!crd_request_place("9,19,30", shape, place) && !crd_request_place("1,2", shape, place));
    CHECK(!crd_request_place("1,2,3,4", shape, place) && !crd_request_place("-1,2,3", shape, place));
    CHECK(crd_request_box("0:10,5:6,0:30", shape, &box) && box.size[0] == 10 && box.origin[1] == 5 && box.size[1] == 1);
    CHECK(!crd_request_box("0:11,5:6,0:30", shape, &box) && !crd_request_box("3:3,0:1,0:1", shape, &box));
    CHECK(!crd_request_box("0:1,0:1", shape, &box) && !crd_request_box("4:3,0:1,0:1", shape, &box));
}

static int read_with(const crd_wire_header *headers, int count, crd_request *out)
{
    const crd_wire_request wire = {
        .method = "GET", .target = "/api/1/state", .headers = headers, .header_count = count};
    return crd_request_read(&wire, out);
}

static void test_headers(void)
{
    crd_request r;
    const crd_wire_header good[] = {{"host", "localhost:1"}, {"Accept-Encoding", "gzip, deflate;q=0.5, br"}};
    CHECK(read_with(good, 2, &r) == 0 && strcmp(r.host, "localhost:1") == 0 && r.deflate);
    const crd_wire_header twice[] = {{"Host", "localhost"}, {"Host", "evil.example"}};
    CHECK(read_with(twice, 2, &r) == 400);
    const crd_wire_header control[] = {{"Host", "local\x01host"}};
    CHECK(read_with(control, 1, &r) == 400);
    char longest[CRD_REQUEST_HEADER + 1];
    memset(longest, 'h', sizeof longest);
    longest[CRD_REQUEST_HEADER] = '\0';
    const crd_wire_header large[] = {{"Host", longest}};
    CHECK(read_with(large, 1, &r) == 431);
    static const char *const without[] = {"gzip", "deflate;q=0", "deflate; q=0.000", "xdeflate", "deflated", ""};
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        const crd_wire_header header = {"Accept-Encoding", without[i]};
        if (read_with(&header, 1, &r) != 0 || r.deflate) CHECK_FAILED("'%s' is taken for deflate", without[i]);
    }
}

static const char key[CRD_KEY_BYTES] = "0123456789abcdef0123456789abcdef";

/* The status of a request with these headers; 0: it may ask. */
static int guarded(const char *target, const char *host, const char *origin, const char *site, const char *given)
{
    static const char *const names[] = {"lab.example"};
    crd_guard guard = {.hosts = names, .host_count = 1};
    memcpy(guard.key, key, sizeof key);
    const crd_wire_header headers[] = {
        {"Host", host}, {"Origin", origin}, {"Sec-Fetch-Site", site}, {"X-Credence-Key", given}};
    const crd_wire_request wire = {.method = "GET", .target = target, .headers = headers, .header_count = 4};
    crd_request r;
    const int refused = crd_request_read(&wire, &r);
    if (refused != 0) return refused;
    const crd_refusal *refusal = crd_guard_check(&guard, &r);
    return refusal != NULL ? refusal->status : 0;
}

static void test_guard(void)
{
    static const char *const own[] = {"localhost", "localhost:8471", "127.0.0.1",      "127.0.0.1:1", "[::1]:8471",
                                      "[::1]",     "LOCALHOST:99",   "lab.example:80", "Lab.Example"};
    static const char *const foreign[] = {"",
                                          "evil.example",
                                          "localhost.evil.example",
                                          "127.0.0.1.evil.example:8471",
                                          "127.0.0.2",
                                          "0.0.0.0",
                                          "[::2]",
                                          "[::1",
                                          "localhost:",
                                          "localhost:123456",
                                          "localhost:8x",
                                          "localhost:80:80",
                                          "xlab.example",
                                          "localhost@evil.example"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (guarded("/api/1/state", own[i], "", "", key) != 0) CHECK_FAILED("'%s' is refused", own[i]);
    }
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        if (guarded("/", foreign[i], "", "", key) != 403) CHECK_FAILED("'%s' is let in", foreign[i]);
    }
    CHECK(guarded("/api/1/state", "localhost:1", "http://localhost:1", "same-origin", key) == 0);
    CHECK(guarded("/api/1/state", "localhost:1", "http://localhost:2", "", key) == 403);
    CHECK(guarded("/api/1/state", "localhost:1", "https://localhost:1", "", key) == 403);
    CHECK(guarded("/api/1/state", "localhost:1", "null", "", key) == 403);
    CHECK(guarded("/api/1/state", "localhost:1", "", "cross-site", key) == 403);
    CHECK(guarded("/api/1/state", "localhost:1", "", "same-site", key) == 403);
    CHECK(guarded("/", "localhost:1", "", "cross-site", "") == 0); /* a link to the page from elsewhere */
    CHECK(guarded("/api/1/state", "localhost", "", "", "") == 401);
    CHECK(guarded("/api/1/state", "localhost", "", "", "0123456789abcdef0123456789abcdee") == 401);
    CHECK(guarded("/api/1/state", "localhost", "", "", "0123456789abcdef0123456789abcdef0") == 401);
    CHECK(guarded("/web/app.js", "localhost", "", "", "") == 0);
}

static void test_bodies(void)
{
    crd_guard guard = {0};
    memcpy(guard.key, key, sizeof key);
    static const struct {
        const char *type;
        bool good;
    } types[] = {{"application/json", true},
                 {"Application/JSON; charset=utf-8", true},
                 {"text/plain", false},
                 {"application/jsonx", false},
                 {"", false}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const crd_wire_header headers[] = {
            {"Host", "localhost"}, {"X-Credence-Key", key}, {"Content-Type", types[i].type}};
        const crd_wire_request wire = {.method = "POST",
                                       .target = "/api/1/state",
                                       .headers = headers,
                                       .header_count = 3,
                                       .body = "{}",
                                       .body_bytes = 2};
        crd_request r;
        CHECK(crd_request_read(&wire, &r) == 0);
        const crd_refusal *refusal = crd_guard_check(&guard, &r);
        if ((refusal == NULL) != types[i].good) CHECK_FAILED("a body of type '%s'", types[i].type);
    }
}

TEST_MAIN(TEST(test_paths), TEST(test_copies), TEST(test_numbers), TEST(test_headers), TEST(test_guard),
          TEST(test_bodies))
