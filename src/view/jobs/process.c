#include "view/jobs/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"

enum { NICENESS = 10, SAID_BYTES = 1 << 20 };

/* ---- who is it? ---- */

static void read_boot(char boot[CRD_BOOT_BYTES])
{
    memset(boot, 0, CRD_BOOT_BYTES);
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    const ssize_t got = read(fd, boot, CRD_BOOT_BYTES - 1);
    (void)close(fd);
    boot[got > 0 ? got : 0] = '\0';
    boot[strcspn(boot, "\n")] = '\0';
}

/* When the kernel started it, and whether it has ended already and only waits for its parent; false: it isn't there. */
static bool read_state(int64_t number, int64_t *began, bool *ended)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)number);
    const int fd = crd_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t got = read(fd, text, sizeof text - 1);
    (void)close(fd);
    if (got <= 0) return false;
    text[got] = '\0';
    /* The second field is the name, in brackets, and may hold anything; the state is the third, the time the 22nd. */
    const char *at = strrchr(text, ')');
    if (at == NULL || at[1] != ' ') return false;
    *ended = at[2] == 'Z' || at[2] == 'X';
    at += 2;
    for (int field = 3; field < 22; field++) {
        at = strchr(at, ' ');
        if (at == NULL) return false;
        at++;
    }
    *began = (int64_t)strtoll(at, NULL, 10);
    return true;
}

bool crd_process_runs(const crd_process *process)
{
    char boot[CRD_BOOT_BYTES];
    int64_t began;
    bool ended;
    if (process->number <= 0) return false;
    (void)waitpid((pid_t)process->number, NULL, WNOHANG); /* fails where it isn't ours */
    read_boot(boot);
    if (strcmp(boot, process->boot) != 0) return false;
    return read_state(process->number, &began, &ended) && !ended && began == process->began;
}

void crd_process_signal(const crd_process *process, int number)
{
    if (process->number > 1) (void)kill(-(pid_t)process->number, number);
}

/* ---- starting ---- */

/* 0, or why it can't be. Files of the server aren't handed on: all of them close themselves. */
static int spawn(char *const *words, int result, int log, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int cause = posix_spawn_file_actions_init(&actions);
    if (cause != 0) return cause;
    cause = posix_spawnattr_init(&attributes);
    if (cause != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return cause;
    }
    sigemptyset(&none);
    sigfillset(&all);
    const short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP;
    if (cause == 0) cause = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (cause == 0) cause = posix_spawn_file_actions_adddup2(&actions, result, STDOUT_FILENO);
    if (cause == 0) cause = posix_spawn_file_actions_adddup2(&actions, log, STDERR_FILENO);
    if (cause == 0) cause = posix_spawnattr_setsigmask(&attributes, &none);
    if (cause == 0) cause = posix_spawnattr_setsigdefault(&attributes, &all);
    if (cause == 0) cause = posix_spawnattr_setpgroup(&attributes, 0);
    if (cause == 0) cause = posix_spawnattr_setflags(&attributes, flags);
    if (cause == 0) cause = posix_spawn(child, words[0], &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return cause;
}

/* The files are the child's from here on, whatever happens. */
static crd_status start(char *const *words, int result, int log, crd_process *out)
{
    bool ended;
    pid_t child = -1;
    memset(out, 0, sizeof *out);
    const int cause = spawn(words, result, log, &child);
    (void)close(result);
    (void)close(log);
    if (cause != 0) return crd_fail(CRD_ERR_SYSTEM, "can't start %s: %s", words[0], strerror(cause));
    (void)setpriority(PRIO_PGRP, (id_t)child, NICENESS); /* before it has threads of its own, which have its priority */
    out->number = child;
    read_boot(out->boot);
    if (!read_state(child, &out->began, &ended)) out->began = 0;
    return CRD_OK;
}

crd_status crd_process_start(char *const *words, const char *result, const char *log, crd_process *out)
{
    const int to = crd_open(result, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    if (to < 0) return crd_fail_errno("can't write %s", result);
    const int about = crd_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC);
    if (about < 0) {
        const crd_status status = crd_fail_errno("can't write %s", log);
        (void)close(to);
        return status;
    }
    return start(words, to, about, out);
}

/* ---- asking ---- */

/* A file without a name, which both may hold. */
static int nameless(void)
{
    char path[] = "/tmp/credence-XXXXXX";
    const int fd = mkstemp(path);
    if (fd >= 0) (void)unlink(path);
    if (fd >= 0) (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

static crd_status read_all(int fd, char **out)
{
    struct stat about;
    *out = NULL;
    if (fstat(fd, &about) != 0) return crd_fail_errno("can't read what a program said");
    const int64_t bytes = about.st_size < SAID_BYTES ? (int64_t)about.st_size : SAID_BYTES;
    CRD_PASS(crd_alloc(bytes + 1, 1, "what a program said", out));
    const crd_status status = crd_read_at(fd, "what a program said", 0, *out, (size_t)bytes);
    if (status != CRD_OK) crd_free(out);
    return status;
}

crd_status crd_process_ask(char *const *words, double seconds, char **out)
{
    crd_status status = CRD_OK;
    crd_process process = {0};
    char *said = NULL;
    int result = nameless(), log = nameless(), code = 0;
    pid_t ended = 0;
    *out = NULL;
    const int result_copy = result >= 0 ? fcntl(result, F_DUPFD_CLOEXEC, 3) : -1;
    const int log_copy = log >= 0 ? fcntl(log, F_DUPFD_CLOEXEC, 3) : -1;
    if (result_copy < 0 || log_copy < 0) CRD_FAIL(CRD_ERR_SYSTEM, "no temporary file can be made in /tmp");
    status = start(words, result, log, &process);
    result = log = -1;
    CRD_TRY(status);
    for (const double until = crd_seconds() + seconds; ended == 0 && crd_seconds() < until;) {
        const struct timespec time = {.tv_nsec = 20000000L};
        ended = waitpid((pid_t)process.number, &code, WNOHANG);
        if (ended == 0) (void)nanosleep(&time, NULL);
    }
    if (ended == 0) {
        crd_process_signal(&process, SIGKILL);
        (void)waitpid((pid_t)process.number, NULL, 0);
        CRD_FAIL(CRD_ERR_BUSY, "the machine is too busy: %s has not answered within %.0f s", words[0], seconds);
    }
    if (ended < 0 || !WIFEXITED(code) || WEXITSTATUS(code) != 0) {
        CRD_TRY(read_all(log_copy, &said));
        said[strcspn(said, "\n")] = '\0';
        static const char lead[] = "credence: ";
        const size_t skip = strncmp(said, lead, sizeof lead - 1) == 0 ? sizeof lead - 1 : 0;
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s", said[skip] != '\0' ? said + skip : "the program ended without an answer");
    }
    CRD_TRY(read_all(result_copy, out));
done:
    if (result >= 0) (void)close(result);
    if (log >= 0) (void)close(log);
    if (result_copy >= 0) (void)close(result_copy);
    if (log_copy >= 0) (void)close(log_copy);
    crd_free(&said);
    return status;
}

crd_status crd_process_program(char **out)
{
    char path[4096];
    *out = NULL;
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length > 0) {
        static const char gone[] = " (deleted)"; /* as the kernel says where a newer one was installed meanwhile */
        const size_t end = (size_t)length - (sizeof gone - 1);
        path[length] = '\0';
        if ((size_t)length > sizeof gone && strcmp(path + end, gone) == 0) path[end] = '\0';
        const char *name = strrchr(path, '/');
        if (name != NULL && strcmp(name, "/credence") == 0) return crd_strdup(path, out);
    }
    return crd_fail(CRD_ERR_UNSUPPORTED, "jobs are started by the program credence; this is another one");
}
