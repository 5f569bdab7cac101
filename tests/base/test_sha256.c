/* SHA-256 against the published vectors, in one piece and in many. */
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "harness.h"
#include "volume_tools.h"

static const struct {
    const char *text, *digest;
} vectors[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

static void test_published_vectors(void)
{
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        const size_t bytes = strlen(vectors[i].text);
        for (size_t piece = 1; piece <= bytes + 1; piece++) {
            crd_sha256 hash;
            char text[CRD_SHA256_TEXT];
            crd_sha256_begin(&hash);
            for (size_t at = 0; at < bytes; at += piece) {
                crd_sha256_add(&hash, vectors[i].text + at, bytes - at < piece ? bytes - at : piece);
            }
            crd_sha256_end(&hash, text);
            CHECK(strcmp(text, vectors[i].digest) == 0);
        }
    }
}

static void test_million_letters(void)
{
    static char letters[1000];
    const char *expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    const char *path = scratch("letters");
    crd_sha256 hash;
    char text[CRD_SHA256_TEXT];
    memset(letters, 'a', sizeof letters);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    crd_sha256_begin(&hash);
    for (int i = 0; i < 1000; i++) {
        crd_sha256_add(&hash, letters, sizeof letters);
        CHECK(fwrite(letters, 1, sizeof letters, file) == sizeof letters);
    }
    CHECK(fclose(file) == 0);
    crd_sha256_end(&hash, text);
    CHECK(strcmp(text, expected) == 0);
    CHECK_OK(crd_sha256_file(path, text));
    CHECK(strcmp(text, expected) == 0);
    CHECK_FAILS(crd_sha256_file(scratch("absent"), text), CRD_ERR_SYSTEM, "absent");
}

TEST_MAIN(TEST(test_published_vectors), TEST(test_million_letters))
