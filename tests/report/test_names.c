/* Names in place of absolute paths. */
#include "base/memory.h"
#include "harness.h"
#include "report/names.h"

static void check_name(const char *path, const char *wanted)
{
    char *name = NULL;
    CHECK_OK(crd_name_of(path, &name));
    CHECK(name != NULL && strcmp(name, wanted) == 0);
    crd_free(&name);
}

static void check_words(const char *words, const char *wanted)
{
    char *named = NULL;
    CHECK_OK(crd_names_in(words, &named));
    CHECK(named != NULL && strcmp(named, wanted) == 0);
    crd_free(&named);
}

static void test_the_last_part(void)
{
    check_name("/home/me/scan.tif", "scan.tif");
    check_name("scan.tif", "scan.tif");
    check_name("runs/one/", "one");
    check_name("/", "");
    check_name("", "");
    check_name(NULL, "");
}

static void test_paths_in_words(void)
{
    check_words("can't open /home/me/scan.tif: no such file", "can't open scan.tif: no such file");
    check_words("(/a/b.tif), '/c/d' and \"/e/f/\"", "(b.tif), 'd' and \"f/\"");
    check_words("and/or, 1/N, a </b> tag", "and/or, 1/N, a </b> tag");
    check_words("/data/x", "x");
    check_words("a / b", "a / b");
    check_words("", "");
}

static void test_all_texts_of_a_document(void)
{
    cJSON *document = cJSON_Parse("{\"a\":\"/x/my scan.tif\",\"b\":[1,\"see /y/z\",{\"c\":null}]}");
    CHECK(document != NULL);
    CHECK_OK(crd_names_in_json(document));
    char *text = cJSON_PrintUnformatted(document);
    CHECK(text != NULL && strcmp(text, "{\"a\":\"my scan.tif\",\"b\":[1,\"see z\",{\"c\":null}]}") == 0);
    cJSON_free(text);
    cJSON_Delete(document);
}

TEST_MAIN(TEST(test_the_last_part), TEST(test_paths_in_words), TEST(test_all_texts_of_a_document))
