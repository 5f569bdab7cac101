#include "base/error.h"
#include "base/memory.h"
#include "harness.h"

static void test_record_keeps_the_sentence(void)
{
    CHECK(crd_fail(CRD_ERR_FORMAT, "%s is %d bytes short", "scan.tif", 12) == CRD_ERR_FORMAT);
    CHECK(strcmp(crd_last_error()->message, "scan.tif is 12 bytes short") == 0);
    CHECK(crd_last_error()->status == CRD_ERR_FORMAT);
    crd_fail(CRD_ERR_FORMAT, "while opening: %s", crd_last_error()->message);
    CHECK(strcmp(crd_last_error()->message, "while opening: scan.tif is 12 bytes short") == 0);
    crd_fail(CRD_ERR_FORMAT, "%s", "a\nb\x1b[31mc\x7f\xc2\xb5");
    CHECK(strcmp(crd_last_error()->message, "a b [31mc \xc2\xb5") == 0);
    /* A terminal takes U+009B for an escape sequence's beginning, too; Latin-1 and the rest of Unicode stay. */
    char line[] = "x\xc2\x9b"
                  "31my\x9b"
                  "32mz \xb5m \xe2\x82\xac \xf0\x9f\x99\x82 \xe2\x82";
    crd_clean_line(line);
    CHECK(strcmp(line, "x  31my 32mz \xb5m \xe2\x82\xac \xf0\x9f\x99\x82 \xe2 ") == 0);
}

static void test_sizes_that_overflow_are_refused(void)
{
    int64_t product;
    void *memory = &product;
    CHECK_FAILS(crd_product(INT64_C(1) << 40, INT64_C(1) << 40, 1, &product), CRD_ERR_MEMORY, "too large");
    CHECK_FAILS(crd_product(-1, 2, 3, &product), CRD_ERR_MEMORY, "too large");
    CHECK_OK(crd_product(3, 5, 7, &product));
    CHECK(product == 105);
    CHECK_FAILS(crd_alloc(INT64_C(1) << 61, 8, "a test", &memory), CRD_ERR_MEMORY, "too large");
    CHECK(memory == NULL);
}

static void test_memory_is_zero_and_aligned(void)
{
    for (int64_t n = 0; n < 5000000; n = n * 7 + 1) {
        unsigned char *bytes = NULL;
        CHECK_OK(crd_alloc(n, 1, "a test", &bytes));
        CHECK((uintptr_t)bytes % 64 == 0);
        for (int64_t i = 0; i < n; i++) CHECK(bytes[i] == 0);
        crd_free(&bytes);
        CHECK(bytes == NULL);
    }
}

static void test_headers_and_library_have_one_version(void)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", CREDENCE_VERSION_MAJOR, CREDENCE_VERSION_MINOR, CREDENCE_VERSION_PATCH);
    CHECK(strcmp(text, crd_version()) == 0);
}

TEST_MAIN(TEST(test_record_keeps_the_sentence), TEST(test_sizes_that_overflow_are_refused),
          TEST(test_memory_is_zero_and_aligned), TEST(test_headers_and_library_have_one_version))
