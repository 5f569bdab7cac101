/* SHA-256 against the published vectors, in one piece and in many, on every path; and the paths against each other. */
#include <unistd.h>

#include "base/file.h"
#include "base/hash/sha256.h"
#include "base/random/philox.h"
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

/* Of all the bytes, given in pieces of one size. */
static void digest_in_pieces(const crd_sha256_path *path, const void *data, size_t bytes, size_t piece,
                             char text[CRD_SHA256_TEXT])
{
    crd_sha256 hash;
    crd_sha256_begin(&hash);
    hash.path = path;
    for (size_t at = 0; at < bytes; at += piece) {
        crd_sha256_add(&hash, (const char *)data + at, bytes - at < piece ? bytes - at : piece);
    }
    crd_sha256_end(&hash, text);
}

static void test_published_vectors(void)
{
    for (int path = 0; path < crd_sha256_path_count; path++) {
        if (!have_path(crd_sha256_paths[path].name, crd_sha256_paths[path].has())) continue;
        for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
            const size_t bytes = strlen(vectors[i].text);
            for (size_t piece = 1; piece <= bytes + 1; piece++) {
                char text[CRD_SHA256_TEXT];
                digest_in_pieces(&crd_sha256_paths[path], vectors[i].text, bytes, piece, text);
                CHECK(strcmp(text, vectors[i].digest) == 0);
            }
        }
    }
}

/* The best path is the one that is used. */
static void test_chosen_path(void)
{
    crd_sha256 hash;
    CHECK(crd_sha256_paths[0].has());
    crd_sha256_begin(&hash);
    CHECK(hash.path->has());
    for (int path = crd_sha256_path_count - 1; &crd_sha256_paths[path] != hash.path; path--) {
        CHECK(path > 0 && !crd_sha256_paths[path].has());
    }
}

/* All lengths up to a few blocks and around larger ones, from places of every alignment, whole and in pieces. */
static void test_paths_agree(void)
{
    enum { BYTES = 4096 + 64 + 16 };
    static uint32_t words[BYTES / 4];
    const unsigned char *data = (const unsigned char *)words;
    const crd_stream stream = {.seed = 1, .purpose = CRD_PURPOSE_PROBE};
    static const size_t pieces[] = {BYTES, 1, 7, 63, 64, 65, 128, 1000};
    crd_random_fill_u32(&stream, 0, BYTES / 4, words);
    for (int path = 1; path < crd_sha256_path_count; path++) {
        if (!have_path(crd_sha256_paths[path].name, crd_sha256_paths[path].has())) continue;
        for (size_t bytes = 0; bytes <= 4096 + 64; bytes += bytes < 260 || bytes > 4030 ? 1 : 61) {
            const unsigned char *from = data + bytes % 16;
            char expected[CRD_SHA256_TEXT], text[CRD_SHA256_TEXT];
            digest_in_pieces(&crd_sha256_paths[0], from, bytes, BYTES, expected);
            for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
                digest_in_pieces(&crd_sha256_paths[path], from, bytes, pieces[i], text);
                CHECK(strcmp(text, expected) == 0);
            }
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

TEST_MAIN(TEST(test_published_vectors), TEST(test_chosen_path), TEST(test_paths_agree), TEST(test_million_letters))
