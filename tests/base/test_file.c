#include "base/file.h"
#include "base/memory.h"
#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char folder[] = "/tmp/credence-file-XXXXXX";

static int syncs;

/* In the C library's place. */
int fsync(int fd)
{
    syncs++;
    return (int)syscall(SYS_fsync, fd);
}

static char *inside(const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int entries(void)
{
    int count = 0;
    DIR *open_folder = opendir(folder);
    for (const struct dirent *entry; open_folder != NULL && (entry = readdir(open_folder)) != NULL;) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    if (open_folder != NULL) closedir(open_folder);
    return count;
}

static void test_reads_and_writes_at_an_offset(void)
{
    const char *path = inside("plain");
    char text[16] = {0};
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    CHECK(fd >= 0);
    CHECK_OK(crd_write_at(fd, path, 5000000000, "world", 5));
    CHECK_OK(crd_write_at(fd, path, 0, "hello", 5));
    CHECK_OK(crd_read_at(fd, path, 5000000001, text, 4));
    CHECK(strcmp(text, "orld") == 0);
    CHECK_OK(crd_read_at(fd, path, 0, text, 0));
    CHECK_FAILS(crd_read_at(fd, path, 5000000003, text, 4), CRD_ERR_FORMAT, "ends at byte 5000000005");
    close(fd);
    CHECK_FAILS(crd_read_at(fd, path, 0, text, 4), CRD_ERR_SYSTEM, path);
    CHECK_FAILS(crd_write_at(fd, path, 0, text, 4), CRD_ERR_SYSTEM, path);
    CHECK(unlink(path) == 0);
}

static void test_a_full_disk_is_said(void)
{
    const int fd = open("/dev/full", O_RDWR);
    if (fd < 0) SKIP("there is no /dev/full");
    CHECK_FAILS(crd_write_at(fd, "/dev/full", 0, "x", 1), CRD_ERR_SYSTEM, "the disk is full");
    close(fd);
}

/* A write that stops half-way leaves the old file, and no temporary one. */
static void test_a_failed_write_leaves_the_old_file(void)
{
    const char *path = inside("kept");
    struct rlimit before, small;
    char *text = NULL, *large = NULL;
    size_t bytes = 0;
    CHECK_OK(crd_write_file(path, "old", 3));
    CHECK_OK(crd_alloc(1 << 20, 1, "a test", &large));
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = before;
    small.rlim_cur = 65536;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const crd_status status = crd_write_file(path, large, 1 << 20);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(status == CRD_ERR_SYSTEM);
    CHECK(strstr(crd_last_error()->message, path) != NULL);
    CHECK_OK(crd_read_file(path, 100, &text, &bytes));
    CHECK(bytes == 3 && strcmp(text, "old") == 0);
    CHECK(unlink(path) == 0);
    CHECK(entries() == 0);
    crd_free(&text);
    crd_free(&large);
}

static void test_whole_files(void)
{
    const char *path = inside("whole");
    char *text = NULL;
    size_t bytes = 0;
    CHECK_OK(crd_write_file(path, "a\0b", 3));
    CHECK_OK(crd_write_file(path, "c\0defg", 6));
    CHECK_OK(crd_read_file(path, 6, &text, &bytes));
    CHECK(bytes == 6 && memcmp(text, "c\0defg", 7) == 0);
    crd_free(&text);
    CHECK_FAILS(crd_read_file(path, 5, &text, &bytes), CRD_ERR_ARGUMENT, "larger than the 5 bytes");
    CHECK(text == NULL);
    CHECK_OK(crd_write_file(path, NULL, 0));
    CHECK_OK(crd_read_file(path, 5, &text, &bytes));
    CHECK(bytes == 0 && text[0] == '\0');
    crd_free(&text);
    CHECK_FAILS(crd_read_file(inside("absent"), 5, &text, &bytes), CRD_ERR_SYSTEM,
                "absent can't be opened: No such file");
    CHECK_FAILS(crd_read_file(folder, 5, &text, &bytes), CRD_ERR_ARGUMENT, "is a folder");
    CHECK_FAILS(crd_write_file(inside("no/such"), "x", 1), CRD_ERR_SYSTEM, "No such file");
    CHECK(unlink(path) == 0);
    CHECK(entries() == 0);
}

/* Its other end may never come. */
static void test_each_thing_is_synced_once(void)
{
    syncs = 0;
    CHECK_OK(crd_write_file(inside("synced"), "x", 1));
    CHECK(syncs == 2); /* the file and its folder */
    CHECK(remove(inside("synced")) == 0);
}

static void test_a_pipe_is_not_waited_for(void)
{
    const char *path = inside("pipe");
    char *text = NULL;
    int64_t bytes;
    int fd = 0;
    CHECK(mkfifo(path, 0666) == 0);
    CHECK_FAILS(crd_read_file(path, 50000, &text, NULL), CRD_ERR_ARGUMENT, "no plain file");
    CHECK_FAILS(crd_open_plain(path, &fd, &bytes), CRD_ERR_ARGUMENT, "no plain file");
    CHECK(text == NULL && fd == -1 && unlink(path) == 0);
    CHECK_FAILS(crd_open_plain("/dev/zero", &fd, &bytes), CRD_ERR_ARGUMENT, "no plain file");
}

static void test_folders_of_names(void)
{
    static const char *const rows[][2] = {{"a", "."}, {"a/b", "a"}, {"/a", "/"}, {"/a/b/c", "/a/b"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *name = NULL;
        CHECK_OK(crd_folder_of(rows[i][0], &name));
        CHECK(strcmp(name, rows[i][1]) == 0);
        crd_free(&name);
    }
}

static void test_names_that_hold_anywhere(void)
{
    char here[4096], *path = NULL;
    CHECK(getcwd(here, sizeof here) != NULL);
    CHECK_OK(crd_absolute_path("a/b.tif", &path));
    CHECK(strncmp(path, here, strlen(here)) == 0 && strcmp(path + strlen(here), "/a/b.tif") == 0);
    crd_free(&path);
    CHECK_OK(crd_absolute_path("/a/b.tif", &path));
    CHECK(strcmp(path, "/a/b.tif") == 0);
    crd_free(&path);
}

static void test_temporary_names(void)
{
    char *first = NULL, *second = NULL, longest[300];
    CHECK_OK(crd_temporary_name("some/scan.tif", &first));
    CHECK_OK(crd_temporary_name("some/scan.tif", &second));
    CHECK(strncmp(first, "some/.scan.tif.tmp.", 19) == 0);
    CHECK(strcmp(first, second) != 0);
    crd_free(&first);
    crd_free(&second);

    /* What a process of the same number left is stepped over, even a link to nothing. */
    char target[64], next[128];
    snprintf(target, sizeof target, "%s/left", folder);
    CHECK_OK(crd_temporary_name(target, &first));
    const char *dot = strrchr(first, '.');
    const unsigned long number = strtoul(dot + 1, NULL, 10);
    snprintf(next, sizeof next, "%.*s.%lu", (int)(dot - first), first, number + 1);
    CHECK(symlink("nowhere", next) == 0);
    CHECK_OK(crd_temporary_name(target, &second));
    CHECK(strtoul(strrchr(second, '.') + 1, NULL, 10) == number + 2 && unlink(next) == 0);
    crd_free(&first);
    crd_free(&second);
    CHECK_OK(crd_temporary_name("scan.zarr/", &first));
    CHECK(strncmp(first, ".scan.zarr.tmp.", 15) == 0);
    CHECK(strchr(first, '/') == NULL);
    crd_free(&first);
    memset(longest, 'n', 255);
    longest[255] = '\0';
    CHECK_OK(crd_temporary_name(longest, &first));
    CHECK(strlen(first) <= 255);
    crd_free(&first);
    CHECK_FAILS(crd_temporary_name("", &first), CRD_ERR_ARGUMENT, "name of a file");
    CHECK_FAILS(crd_temporary_name("/", &first), CRD_ERR_ARGUMENT, "name of a file");
}

static void test_devices_are_not_replaced(void)
{
    const char *path = inside("pipe"), *temporary = inside("temporary");
    struct stat about;
    CHECK(mkfifo(path, 0666) == 0);
    CHECK_OK(crd_write_file(temporary, "x", 1));
    CHECK_FAILS(crd_replace_file(temporary, path), CRD_ERR_ARGUMENT, "neither a file nor a folder");
    CHECK(stat(path, &about) == 0 && S_ISFIFO(about.st_mode));
    CHECK_FAILS(crd_write_file(path, "x", 1), CRD_ERR_ARGUMENT, "neither a file nor a folder");
    CHECK(unlink(path) == 0 && unlink(temporary) == 0);
    CHECK(entries() == 0);
}

static void test_places_for_results(void)
{
    CHECK_OK(crd_check_target(inside("new")));
    CHECK_OK(crd_check_target("new"));
    CHECK_OK(crd_write_file(inside("old"), "x", 1));
    CHECK_OK(crd_check_target(inside("old")));
    CHECK_FAILS(crd_check_target(inside("none/new")), CRD_ERR_SYSTEM, "/none; make it first");
    CHECK_FAILS(crd_check_target(inside("")), CRD_ERR_ARGUMENT, "is a folder");
    CHECK_OK(crd_check_target("/new"));
    CHECK(remove(inside("old")) == 0);
}

static void test_names_of_one_file(void)
{
    const char *old = inside("old"), *link = inside("link");
    CHECK_OK(crd_write_file(old, "x", 1));
    CHECK(symlink(old, link) == 0);
    CHECK(crd_same_file(old, link) && crd_same_file(link, inside("./old")));
    CHECK(!crd_same_file(old, inside("none")) && !crd_same_file(inside("none"), inside("none")));
    CHECK_OK(crd_write_file(link, "x", 1)); /* takes the place of the link */
    CHECK(!crd_same_file(old, link));
    CHECK(remove(old) == 0 && remove(link) == 0);
}

static void test_what_a_file_begins_with(void)
{
    const char *path = inside("page");
    CHECK(!crd_file_is_other(path, "<!doctype")); /* there is none */
    CHECK_OK(crd_write_file(path, "", 0));
    CHECK(!crd_file_is_other(path, "<!doctype"));
    CHECK_OK(crd_write_file(path, "<!DOCTYPE html>", 15));
    CHECK(!crd_file_is_other(path, "<!doctype") && crd_file_is_other(path, "{"));
    CHECK_OK(crd_write_file(path, "<!D", 3));
    CHECK(crd_file_is_other(path, "<!doctype"));
    CHECK(remove(path) == 0);
}

static void test_a_folder_can_be_replaced_into_place(void)
{
    const char *from = inside("made"), *to = inside("final");
    CHECK(mkdir(from, 0777) == 0);
    CHECK_OK(crd_replace_file(from, to));
    CHECK(rmdir(to) == 0);
    CHECK_FAILS(crd_replace_file(from, to), CRD_ERR_SYSTEM, from);
}

static void test_the_folder_is_made(void)
{
    CHECK(mkdtemp(folder) != NULL);
}

static void test_the_folder_is_empty_again(void)
{
    CHECK(rmdir(folder) == 0);
}

TEST_MAIN(TEST(test_the_folder_is_made), TEST(test_reads_and_writes_at_an_offset), TEST(test_a_full_disk_is_said),
          TEST(test_a_failed_write_leaves_the_old_file), TEST(test_whole_files), TEST(test_each_thing_is_synced_once),
          TEST(test_a_pipe_is_not_waited_for), TEST(test_folders_of_names), TEST(test_names_that_hold_anywhere),
          TEST(test_temporary_names), TEST(test_devices_are_not_replaced), TEST(test_places_for_results),
          TEST(test_names_of_one_file), TEST(test_what_a_file_begins_with),
          TEST(test_a_folder_can_be_replaced_into_place), TEST(test_the_folder_is_empty_again))
