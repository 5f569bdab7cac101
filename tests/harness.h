/* A test program: functions that CHECK, listed in one table.
 *
 *     static void test_addition(void) { CHECK(1 + 1 == 2); CHECK_NEAR(0.1 + 0.2, 0.3, 1e-12); }
 *     TEST_MAIN(TEST(test_addition))
 *
 * A failed CHECK is counted, printed with file and line, and leaves the function. SKIP(reason) marks a test that can't
 * run here; a program that skips all its tests ends with 77, which ctest shows as skipped. Of a test that runs here but
 * for a part, skip_part() says which, and the last line counts them. An argument on the command line runs only the
 * tests whose names contain it. */
#ifndef CRD_TESTS_HARNESS_H
#define CRD_TESTS_HARNESS_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "compare.h"
#include "credence/status.h"

typedef struct crd_test {
    const char *name;
    void (*run)(void);
} crd_test;

static int harness_failed, harness_skipped, harness_parts;

#define CHECK_FAILED(...)                                                                                              \
    do {                                                                                                               \
        printf("%s:%d: ", __FILE__, __LINE__);                                                                         \
        printf(__VA_ARGS__);                                                                                           \
        printf("\n");                                                                                                  \
        harness_failed = 1;                                                                                            \
        return;                                                                                                        \
    } while (0)

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) CHECK_FAILED("not true: %s", #condition);                                                    \
    } while (0)

#define CHECK_OK(call)                                                                                                 \
    do {                                                                                                               \
        if ((call) != CRD_OK) CHECK_FAILED("%s failed: %s", #call, crd_last_error()->message);                         \
    } while (0)

/* The call must fail with that status, and its sentence must contain the words. */
#define CHECK_FAILS(call, expected, words)                                                                             \
    do {                                                                                                               \
        const crd_status harness_status = (call);                                                                      \
        if (harness_status != (expected))                                                                              \
            CHECK_FAILED("%s gave status %s: %s", #call, crd_status_name(harness_status),                              \
                         harness_status == CRD_OK ? "" : crd_last_error()->message);                                   \
        if (strstr(crd_last_error()->message, (words)) == NULL)                                                        \
            CHECK_FAILED("%s said \"%s\", without \"%s\"", #call, crd_last_error()->message, words);                   \
    } while (0)

#define CHECK_NEAR(actual, expected, tolerance)                                                                        \
    do {                                                                                                               \
        const double harness_a = (double)(actual), harness_e = (double)(expected);                                     \
        if (!(fabs(harness_a - harness_e) <= (tolerance)))                                                             \
            CHECK_FAILED("%s is %.9g, not %.9g within %.3g", #actual, harness_a, harness_e, (double)(tolerance));      \
    } while (0)

#define SKIP(reason)                                                                                                   \
    do {                                                                                                               \
        printf("skipped: %s\n", reason);                                                                               \
        harness_skipped = 1;                                                                                           \
        return;                                                                                                        \
    } while (0)

/* Called as often as may be: a part is said and counted once a test. */
static inline void skip_part(const char *part, const char *reason)
{
    static const char *said[16];
    if (harness_parts == 0) memset(said, 0, sizeof said);
    for (int i = 0; i < harness_parts && i < 16; i++) {
        if (strcmp(said[i], part) == 0) return;
    }
    if (harness_parts < 16) said[harness_parts] = part;
    harness_parts++;
    printf("skipped: %s: %s\n", part, reason);
}

/* Under valgrind (CREDENCE_EMULATED=1), whose processor has fewer instructions than /proc says, and whose vfork is a
 * fork. */
static inline bool emulated(void)
{
    return getenv("CREDENCE_EMULATED") != NULL;
}

/* The step of a loop over cases of one kind: 1, and `stride` where all takes ten to fifty times as long: under
 * valgrind, and with CREDENCE_SPARSE=1, which the short run under sanitizers has. What is left out there is said; every
 * other run tries it. */
static inline int sparse(int stride, const char *cases)
{
    if (!emulated() && getenv("CREDENCE_SPARSE") == NULL) return 1;
    skip_part(cases, "some only, where all is slow");
    return stride;
}

/* For loops over instruction paths; `name` must live on. */
static inline bool have_path(const char *name, bool supported)
{
    if (!supported) skip_part(name, "this machine lacks the instructions");
    return supported;
}

/* The same for the rows of a table of base/cpu.h. */
static inline bool have_cpu(int path)
{
    return have_path(crd_cpu_name((crd_cpu)path), crd_cpu_has((crd_cpu)path));
}

#define TEST(function)                                                                                                 \
    {                                                                                                                  \
#function, function                                                                                            \
    }

#define TEST_MAIN(...)                                                                                                 \
    int main(int argc, char **argv)                                                                                    \
    {                                                                                                                  \
        static const crd_test tests[] = {__VA_ARGS__};                                                                 \
        int passed = 0, failed = 0, skipped = 0, parts = 0;                                                            \
        setvbuf(stdout, NULL, _IOLBF, 0);                                                                              \
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {                                                  \
            if (argc > 1 && strstr(tests[i].name, argv[1]) == NULL) continue;                                          \
            harness_failed = harness_skipped = harness_parts = 0;                                                      \
            tests[i].run();                                                                                            \
            printf("%-6s %s\n", harness_failed ? "FAILED" : harness_skipped ? "skip" : "ok", tests[i].name);           \
            parts += harness_parts;                                                                                    \
            failed += harness_failed;                                                                                  \
            skipped += !harness_failed && harness_skipped;                                                             \
            passed += !harness_failed && !harness_skipped;                                                             \
        }                                                                                                              \
        printf("%d passed, %d failed, %d skipped, %d parts skipped\n", passed, failed, skipped, parts);                \
        return failed > 0 ? 1 : passed == 0 && skipped > 0 ? 77 : 0;                                                   \
    }

#endif
