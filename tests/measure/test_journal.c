/* What is kept of an unfinished measurement: found again as it was, and never where it isn't whole or is another's. */
#include "measure/journal.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "harness.h"
#include "volume_tools.h"

static void test_keeps_and_finds(void)
{
    crd_journal *j = NULL;
    const double values[3] = {1.0, 0.1, -3e300};
    double back[3] = {0};
    bool found = true;
    char *folder = NULL;
    CHECK_OK(crd_strdup(scratch("run"), &folder));
    CHECK_OK(crd_make_folders(folder));
    CHECK_OK(crd_journal_open(folder, "key", false, NULL, &j));
    CHECK_OK(crd_journal_find(j, "a", back, sizeof back, &found));
    CHECK(!found);
    CHECK_OK(crd_journal_keep(j, "a", values, sizeof values));
    crd_journal_close(&j);
    CHECK_OK(crd_journal_open(folder, "key", true, NULL, &j)); /* another process goes on */
    CHECK_OK(crd_journal_find(j, "a", back, sizeof back, &found));
    CHECK(found && memcmp(values, back, sizeof back) == 0);
    CHECK_OK(crd_journal_find(j, "a", back, sizeof back - 8, &found));
    CHECK(!found); /* another size */
    char *path = NULL;
    CHECK_OK(crd_join_path(folder, ".measure/a", "", &path));
    CHECK(truncate(path, 40) == 0);
    CHECK_OK(crd_journal_find(j, "a", back, sizeof back, &found));
    CHECK(!found);
    CHECK_OK(crd_journal_keep(j, "a", values, sizeof values));
    FILE *file = fopen(path, "r+");
    CHECK(file != NULL && fseek(file, -1, SEEK_END) == 0 && fputc(7, file) == 7 && fclose(file) == 0);
    CHECK_OK(crd_journal_find(j, "a", back, sizeof back, &found));
    CHECK(!found); /* a byte that changed */
    CHECK_OK(crd_journal_keep(j, "a", values, sizeof values));
    crd_journal_close(&j);
    CHECK_OK(crd_journal_open(folder, "other settings", true, NULL, &j));
    CHECK_OK(crd_journal_find(j, "a", back, sizeof back, &found));
    CHECK(!found);
    CHECK_OK(crd_journal_keep(j, "a", values, sizeof values));
    CHECK_OK(crd_journal_finish(j));
    CHECK(access(path, F_OK) != 0);
    crd_journal_close(&j);
    crd_free(&path);
    CHECK_OK(crd_join_path(folder, ".measure", "", &path));
    CHECK(access(path, F_OK) != 0);
    crd_free(&path);
    crd_free(&folder);
}

static void test_without_one(void)
{
    double value = 1.0;
    bool found = true;
    CHECK_OK(crd_journal_keep(NULL, "a", &value, sizeof value));
    CHECK_OK(crd_journal_find(NULL, "a", &value, sizeof value, &found));
    CHECK(!found);
    CHECK_OK(crd_journal_finish(NULL));
}

TEST_MAIN(TEST(test_keeps_and_finds), TEST(test_without_one))
