#include "propagate/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

extern char **environ;

/* Seconds between asking a program to end and killing it. */
#define GRACE 2.0

bool crd_command_has(const crd_text_list *words, const char *placeholder)
{
    for (int64_t i = 0; i < words->count; i++) {
        if (strstr(words->items[i], placeholder) != NULL) return true;
    }
    return false;
}

static crd_status fill_word(const char *word, const crd_placeholder *placeholders, int count, char **out)
{
    crd_status status = CRD_OK;
    crd_text text = {0};
    for (const char *at = word; *at != '\0';) {
        int which = 0;
        while (which < count && strncmp(at, placeholders[which].name, strlen(placeholders[which].name)) != 0) which++;
        if (which < count) {
            crd_text_add(&text, placeholders[which].text);
            at += strlen(placeholders[which].name);
        } else {
            crd_text_add_bytes(&text, at++, 1);
        }
    }
    crd_text_add(&text, "");
    CRD_TRY(crd_text_finish(&text, out));
done:
    crd_text_free(&text);
    return status;
}

crd_status crd_command_fill(const crd_text_list *words, const crd_placeholder *placeholders, int count, char ***out)
{
    crd_status status = CRD_OK;
    CRD_PASS(crd_alloc(words->count + 1, sizeof **out, "a command", out));
    for (int64_t i = 0; i < words->count; i++) {
        CRD_TRY(fill_word(words->items[i], placeholders, count, &(*out)[i]));
    }
done:
    if (status != CRD_OK) crd_command_free(out);
    return status;
}

void crd_command_free(char ***words)
{
    for (char **word = *words; word != NULL && *word != NULL; word++) crd_free(word);
    crd_free(words);
}

static int add_actions(const crd_command_run *run, posix_spawn_file_actions_t *actions)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    int failed = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (failed == 0) failed = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, run->output, flags, 0666);
    if (failed == 0) failed = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, run->errors, flags, 0666);
    return failed;
}

/* Our threads block signals, and the program may have changed what some do: the child starts as from a shell. */
static int add_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int failed =
        posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (failed == 0) failed = posix_spawnattr_setpgroup(attributes, 0);
    if (failed == 0) failed = posix_spawnattr_setsigmask(attributes, &none);
    if (failed == 0) failed = posix_spawnattr_setsigdefault(attributes, &all);
    return failed;
}

static crd_status start(const crd_command_run *run, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed == 0) {
        failed = posix_spawnattr_init(&attributes);
        if (failed == 0) {
            failed = add_actions(run, &actions);
            if (failed == 0) failed = add_attributes(&attributes);
            if (failed == 0) failed = posix_spawnp(child, run->words[0], &actions, &attributes, run->words, environ);
            (void)posix_spawnattr_destroy(&attributes);
        }
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    if (failed == 0) return CRD_OK;
    errno = failed;
    return crd_fail_errno("can't start the command %s", run->words[0]);
}

static void sleep_a_little(double seconds)
{
    const struct timespec time = {.tv_sec = 0, .tv_nsec = (long)(seconds * 1e9)};
    (void)nanosleep(&time, NULL);
}

crd_status crd_command_wait(const crd_command_run *run, crd_command_result *out)
{
    const double begin = crd_seconds();
    double asked = 0, pause = 0.001; /* when it was asked to end; 0: not yet */
    pid_t child = 0;
    int state = 0;
    *out = (crd_command_result){.end = CRD_COMMAND_EXITED};
    CRD_PASS(start(run, &child));
    for (;;) {
        const pid_t ended = waitpid(child, &state, WNOHANG);
        const double now = crd_seconds();
        out->seconds = now - begin;
        if (ended == child) break;
        if (ended < 0 && errno != EINTR) return crd_fail_errno("can't wait for the command %s", run->words[0]);
        if (asked > 0 && now - asked > GRACE) {
            (void)kill(-child, SIGKILL);
        } else if (asked == 0 && (atomic_load(run->stop) || (run->timeout > 0 && out->seconds > run->timeout))) {
            out->end = atomic_load(run->stop) ? CRD_COMMAND_STOPPED : CRD_COMMAND_TIMED_OUT;
            (void)kill(-child, SIGTERM);
            asked = now;
        }
        sleep_a_little(pause);
        if (pause < 0.05) pause *= 1.5;
    }
    if (asked > 0) (void)kill(-child, SIGKILL); /* what it left behind */
    if (out->end != CRD_COMMAND_EXITED) return CRD_OK;
    if (WIFSIGNALED(state)) out->end = CRD_COMMAND_KILLED;
    out->code = WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state);
    return CRD_OK;
}
