/* One process at a time, whatever becomes of the others. */
#include "harness.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "run/lock.h"
#include "volume_tools.h"

/* Runs `body` in a child; its exit status, or -1. */
static int in_child(int (*body)(const char *path), const char *path)
{
    int result = 0;
    const pid_t child = fork();
    if (child == 0) _exit(body(path));
    if (child < 0 || waitpid(child, &result, 0) != child || !WIFEXITED(result)) return -1;
    return WEXITSTATUS(result);
}

static int try_to_take(const char *path)
{
    crd_lock *lock = NULL;
    const crd_status status = crd_lock_take(path, NULL, &lock);
    char expected[64];
    snprintf(expected, sizeof expected, "process %ld on ", (long)getppid());
    if (status == CRD_ERR_BUSY && strstr(crd_last_error()->message, expected) == NULL) return 99;
    crd_lock_release(&lock);
    return (int)status;
}

static int take_and_die(const char *path)
{
    static crd_lock *lock; /* still known to this process when it dies: what it holds isn't lost memory */
    return (int)crd_lock_take(path, NULL, &lock);
}

static void test_a_second_process_is_refused(void)
{
    const char *path = scratch("lock");
    crd_lock *lock = NULL, *second = NULL;
    CHECK_OK(crd_lock_take(path, NULL, &lock));
    CHECK(in_child(try_to_take, path) == CRD_ERR_BUSY);
    CHECK_FAILS(crd_lock_take(path, NULL, &second), CRD_ERR_BUSY, path);
    CHECK(second == NULL);
    crd_lock_release(&lock);
    CHECK(lock == NULL && scratch_count("") == 0);
    CHECK(in_child(try_to_take, path) == CRD_OK);
    CHECK(scratch_count("") == 0);
    crd_lock_release(&lock);
}

static void test_a_dead_process_loses_its_lock(void)
{
    const char *path = scratch("lock");
    crd_lock *lock = NULL;
    CHECK(in_child(take_and_die, path) == CRD_OK);
    CHECK(scratch_count("") == 1);
    CHECK_OK(crd_lock_take(path, NULL, &lock));
    CHECK(in_child(try_to_take, path) == CRD_ERR_BUSY);
    crd_lock_release(&lock);
    CHECK(scratch_count("") == 0);
}

/* A pid that was given to another process since: the file's lock, not the pid, says that the holder is gone. */
static void test_a_reused_pid_does_not_block(void)
{
    const char *path = scratch("lock");
    char host[256] = {0}, content[300];
    crd_lock *lock = NULL;
    CHECK(gethostname(host, sizeof host - 1) == 0);
    const int length = snprintf(content, sizeof content, "%s %ld\n", host, (long)getppid());
    CHECK_OK(crd_write_file(path, content, (size_t)length));
    CHECK_OK(crd_lock_take(path, NULL, &lock));
    crd_lock_release(&lock);
    CHECK(scratch_count("") == 0);
}

static void test_another_host_keeps_its_lock(void)
{
    const char *path = scratch("lock");
    crd_lock *lock = NULL;
    CHECK_OK(crd_write_file(path, "some-other-node 17\n", 19));
    CHECK_FAILS(crd_lock_take(path, NULL, &lock), CRD_ERR_BUSY, "process 17 on some-other-node");
    CHECK(scratch_count("") == 1 && unlink(path) == 0);
}

static void keep_sentence(void *context, crd_level level, const char *text)
{
    if (level == CRD_LEVEL_INFO) snprintf(context, 512, "%s", text);
}

/* A node fails, and the batch system starts the job again on another: the run before it is gone. */
static void test_a_restarted_job_takes_its_own_lock(void)
{
    static const struct {
        const char *content, *job, *restarts; /* of the process that comes; NULL: not set */
        bool taken;
    } cases[] = {{"some-other-node 17 4711 0\n", "4711", "1", true},
                 {"some-other-node 17 4711 1\n", "4711", "3", true},
                 {"some-other-node 17 4711 0\n", "4711", NULL, false}, /* another step of the same run */
                 {"some-other-node 17 4711 1\n", "4711", "1", false},
                 {"some-other-node 17 4711 2\n", "4711", "1", false},
                 {"some-other-node 17 4711 0\n", "4712", "1", false},
                 {"some-other-node 17 4711 0\n", NULL, "1", false},
                 {"some-other-node 17 4711\n", "4711", "1", false},
                 {"some-other-node 17\n", "4711", "1", false}}; /* as older versions wrote it */
    const char *path = scratch("lock");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char sentence[512] = "";
        const crd_monitor monitor = {.context = sentence, .message = keep_sentence};
        crd_lock *lock = NULL;
        CHECK(cases[i].job != NULL ? setenv("SLURM_JOB_ID", cases[i].job, 1) == 0 : unsetenv("SLURM_JOB_ID") == 0);
        CHECK(cases[i].restarts != NULL ? setenv("SLURM_RESTART_COUNT", cases[i].restarts, 1) == 0
                                        : unsetenv("SLURM_RESTART_COUNT") == 0);
        CHECK_OK(crd_write_file(path, cases[i].content, strlen(cases[i].content)));
        const crd_status status = crd_lock_take(path, &monitor, &lock);
        CHECK(status == (cases[i].taken ? CRD_OK : CRD_ERR_BUSY));
        CHECK((strstr(sentence, "process 17 on some-other-node") != NULL) == cases[i].taken);
        crd_lock_release(&lock);
        if (!cases[i].taken) CHECK(unlink(path) == 0);
        CHECK(scratch_count("") == 0);
    }
}

/* What a job writes is what its next run reads; who holds it on this machine keeps it, whatever the job says. */
static void test_a_job_is_written_into_its_lock(void)
{
    const char *path = scratch("lock");
    crd_lock *lock = NULL, *second = NULL;
    char *content = NULL, expected[64];
    CHECK(setenv("SLURM_JOB_ID", "4711", 1) == 0 && setenv("SLURM_RESTART_COUNT", "2", 1) == 0);
    CHECK_OK(crd_lock_take(path, NULL, &lock));
    CHECK_OK(crd_read_file(path, 1000, &content, NULL));
    snprintf(expected, sizeof expected, " %ld 4711 2\n", (long)getpid());
    CHECK(strstr(content, expected) != NULL);
    CHECK(setenv("SLURM_RESTART_COUNT", "3", 1) == 0);
    CHECK_FAILS(crd_lock_take(path, NULL, &second), CRD_ERR_BUSY, "is already writing there");
    crd_lock_release(&lock);
    crd_free(&content);
    CHECK(unsetenv("SLURM_JOB_ID") == 0 && unsetenv("SLURM_RESTART_COUNT") == 0);
    CHECK(scratch_count("") == 0);
}

static void test_a_broken_lock_file_is_taken_over(void)
{
    const char *path = scratch("lock");
    crd_lock *lock = NULL;
    CHECK_OK(crd_write_file(path, "nonsense", 8));
    CHECK_OK(crd_lock_take(path, NULL, &lock));
    crd_lock_release(&lock);
    CHECK_FAILS(crd_lock_take(scratch("no/lock"), NULL, &lock), CRD_ERR_SYSTEM, "No such file");
}

/* A stale file is waiting; many processes go for it at once, and at most one may hold the lock at any time. */
static int compete(const char *path)
{
    const char *witness = scratch("witness");
    for (int i = 0; i < 200; i++) {
        crd_lock *lock = NULL;
        const crd_status status = crd_lock_take(path, NULL, &lock);
        if (status == CRD_ERR_BUSY) continue;
        if (status != CRD_OK) return 2;
        const int fd = open(witness, O_CREAT | O_EXCL | O_WRONLY, 0666);
        if (fd < 0) return 3; /* someone else is inside */
        close(fd);
        if (unlink(witness) != 0) return 4;
        crd_lock_release(&lock);
    }
    return 0;
}

static void test_competing_processes(void)
{
    const char *path = scratch("lock");
    pid_t children[6];
    CHECK(in_child(take_and_die, path) == CRD_OK);
    for (int i = 0; i < 6; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) _exit(compete(path));
    }
    for (int i = 0; i < 6; i++) {
        int result = 0;
        CHECK(waitpid(children[i], &result, 0) == children[i]);
        CHECK(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    }
    CHECK(scratch_count("") == 0);
}

static void test_a_forked_child_does_not_release(void)
{
    const char *path = scratch("lock");
    crd_lock *lock = NULL;
    CHECK_OK(crd_lock_take(path, NULL, &lock));
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        crd_lock_release(&lock);
        _exit(0);
    }
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK(in_child(try_to_take, path) == CRD_ERR_BUSY);
    crd_lock_release(&lock);
    CHECK(scratch_count("") == 0);
}

TEST_MAIN(TEST(test_a_second_process_is_refused), TEST(test_a_dead_process_loses_its_lock),
          TEST(test_a_reused_pid_does_not_block), TEST(test_another_host_keeps_its_lock),
          TEST(test_a_restarted_job_takes_its_own_lock), TEST(test_a_job_is_written_into_its_lock),
          TEST(test_a_broken_lock_file_is_taken_over), TEST(test_competing_processes),
          TEST(test_a_forked_child_does_not_release))
