/* A phantom that is killed while it takes the place of another: the next run, in either format, puts all in order.
 *
 * Every rename and every removal of a file is counted, and a child process dies just before the one that is asked for:
 * rename and unlink below stand in for the C library's, and so do fsync and syncfs, which take most of the time and
 * matter to no process that dies while the machine lives on. */
#include <fcntl.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/memory.h"
#include "credence/phantom.h"
#include "harness.h"
#include "phantom_tools.h"
#include "volume/format.h"
#include "volume_tools.h"

enum { KILLED = 9, STEPS_MOST = 400 };
static int steps_to_live = -1; /* -1: for ever */

static void count_step(void)
{
    if (steps_to_live == 0) _exit(KILLED);
    if (steps_to_live > 0) steps_to_live--;
}

int rename(const char *from, const char *to)
{
    count_step();
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlink(const char *path)
{
    count_step();
    return unlinkat(AT_FDCWD, path, 0);
}

int fsync(int file)
{
    (void)file;
    return 0;
}

int syncfs(int file)
{
    return fsync(file);
}

static crd_status write_phantom(const char *format, const crd_monitor *monitor)
{
    const crd_settings *table = crd_phantom_settings(CRD_PHANTOM_GRAPHITE);
    crd_phantom_options options = phantom_options(CRD_PHANTOM_GRAPHITE, 8, 16, 16);
    options.threads = 1;
    phantom_options_clean(&options);
    crd_status status = crd_settings_set(table, &options, "output", scratch(""));
    if (status == CRD_OK) status = crd_settings_set(table, &options, "format", format);
    if (status == CRD_OK) status = crd_phantom_write(CRD_PHANTOM_GRAPHITE, &options, monitor, NULL);
    phantom_options_free(CRD_PHANTOM_GRAPHITE, &options);
    return status;
}

/* `killed` is false where it has fewer steps. */
static void write_until(int step, const char *format, bool *killed)
{
    int state = 0;
    const pid_t child = fork();
    if (child == 0) {
        steps_to_live = step;
        _exit(write_phantom(format, NULL) == CRD_OK ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &state, 0) == child && WIFEXITED(state));
    CHECK(WEXITSTATUS(state) == 0 || WEXITSTATUS(state) == KILLED);
    *killed = WEXITSTATUS(state) == KILLED;
}

/* Files that people see: a killed program can't take its temporary ones away. */
static int count_shown(void)
{
    return scratch_count("") - scratch_count(".tmp.");
}

static void check_only_phantom(const char *format)
{
    static const char *const names[] = {"scan", "label", "truth"};
    char *about = NULL;
    for (int i = 0; i < 3; i++) {
        crd_volume *volume = NULL;
        char name[64];
        snprintf(name, sizeof name, "%s.%s", names[i], format);
        CHECK_OK(crd_volume_open(scratch(name), NULL, NULL, &volume));
        crd_volume_close(&volume);
    }
    const bool pairs = strcmp(format, "mhd") == 0 || strcmp(format, "nhdr") == 0 || strcmp(format, "raw") == 0;
    CHECK(count_shown() == (pairs ? 7 : 4));
    CHECK_OK(crd_read_file(scratch("phantom.json"), 1 << 20, &about, NULL));
    CHECK(about != NULL && strstr(about, "unfinished") == NULL);
    crd_free(&about);
}

static void clear(void)
{
    static const char *const folders[] = {"scan.zarr", "label.zarr", "truth.zarr"};
    for (int i = 0; i < 3; i++) CHECK_OK(crd_volume_remove(scratch(folders[i])));
    DIR *folder = opendir(scratch(""));
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (strlen(entry->d_name) <= 2) continue;
        if (unlink(scratch(entry->d_name)) != 0) CHECK_OK(crd_volume_remove(scratch(entry->d_name)));
    }
    if (folder != NULL) closedir(folder);
}

static void kill_once(int step, const char *from, const char *to, const char *again, bool *killed)
{
    if (from != NULL) CHECK_OK(write_phantom(from, NULL));
    write_until(step, to, killed);
    if (*killed) CHECK_OK(write_phantom(again, NULL));
    check_only_phantom(*killed ? again : to);
}

/* `from` NULL: into an empty folder. */
static void kill_everywhere(const char *from, const char *to, const char *again)
{
    bool killed = true;
    int step = 0;
    for (; killed && step < STEPS_MOST && !harness_failed; step += sparse(5, "steps")) {
        kill_once(step, from, to, again, &killed);
        if (harness_failed) {
            printf("%s to %s, killed at step %d, then %s\n", from != NULL ? from : "nothing", to, step, again);
        }
        clear();
    }
    CHECK(!killed && step > 5); /* three volumes and two descriptions were renamed, at least */
}

static void test_next_run_succeeds_in_either_format(void)
{
    static const char *const pairs[][2] = {{"h5", "npy"}, {"mhd", "raw"}, {"raw", "mhd"}, {"nhdr", "mhd"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0] && !harness_failed; i++) {
        kill_everywhere(pairs[i][0], pairs[i][1], pairs[i][1]);
        kill_everywhere(pairs[i][0], pairs[i][1], pairs[i][0]);
    }
}

static void test_next_run_succeeds_in_the_same_format(void)
{
    kill_everywhere("mhd", "mhd", "mhd");
    kill_everywhere(NULL, "raw", "raw");
    kill_everywhere(NULL, "mhd", "npy");
    kill_everywhere(NULL, "zarr", "zarr");
}

static bool put_own_file(void *context, const crd_progress *progress)
{
    (void)context;
    return progress->done < progress->total || crd_write_file(scratch("label.npy"), "mine", 4) == CRD_OK;
}

static void test_file_that_came_meanwhile_stays(void)
{
    const crd_monitor monitor = {.progress = put_own_file};
    char *text = NULL;
    CHECK_OK(write_phantom("h5", NULL));
    CHECK_FAILS(write_phantom("npy", &monitor), CRD_ERR_ARGUMENT, "label.npy is there already");
    CHECK_OK(crd_read_file(scratch("label.npy"), 100, &text, NULL));
    CHECK(text != NULL && strcmp(text, "mine") == 0);
    crd_free(&text);
    CHECK(unlink(scratch("label.npy")) == 0);
    check_only_phantom("h5");
    clear();
}

TEST_MAIN(TEST(test_next_run_succeeds_in_either_format), TEST(test_next_run_succeeds_in_the_same_format),
          TEST(test_file_that_came_meanwhile_stays))
