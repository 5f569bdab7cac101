/* Runs a program whose every call to the files of one folder goes past us, and makes the calls fail that it is told to.
 *
 *   layer --under FOLDER [--fault PLAN]... [--log FILE] [--census FILE] [--record FILE] PROGRAM WORDS...
 *
 * plan.h says what a PLAN is, record.h what is recorded. All threads of the program and all programs it starts are met,
 * and whatever library a call comes from: the kernel stops the thread (seccomp, ptrace), there is nothing to go around.
 * What isn't met: pages of mapped files (nothing here maps files to write; one that does is told in the log).
 *
 * The log has a line for each fault, and ends in "exit N", "signal N" or "stopped" (by the plan). Our exit code is the
 * program's; 128 + N for a signal; 99 where we can't do our work, with a sentence. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "plan.h"
#include "record.h"

enum { MOST_THREADS = 512, BROKEN = 99, MOST_ROWS = 64 };

typedef struct thread {
    pid_t id;
    bool new;                               /* its first stop is only that it began */
    const call_row *row;                    /* the call it is in, where we want to see the end of it */
    unsigned long long arguments[6], count; /* `count`: what was there before we shortened it */
    char path[PATH_MAX], other[PATH_MAX];   /* absolute */
    bool existed, shortened;
    int64_t offset;
    int error; /* to be returned in place of what it returns */
} thread;

static thread threads[MOST_THREADS];
static volatile pid_t program;
static char folder[PATH_MAX];
static FILE *log_file;
static bool stopped;

static void give_up(const char *what)
{
    fprintf(stderr, "layer: %s: %s\n", what, strerror(errno));
    exit(BROKEN); /* all that we trace ends with us */
}

static thread *find_thread(pid_t id, bool make)
{
    thread *free_place = NULL;
    for (int i = 0; i < MOST_THREADS; i++) {
        if (threads[i].id == id) return &threads[i];
        if (threads[i].id == 0 && free_place == NULL) free_place = &threads[i];
    }
    if (!make) return NULL;
    if (free_place == NULL) give_up("too many threads");
    memset(free_place, 0, sizeof *free_place);
    free_place->id = id;
    free_place->new = true;
    return free_place;
}

static void say(const char *word, const thread *t, const char *what)
{
    const char *name = below(folder, t->path);
    if (log_file == NULL) return;
    fprintf(log_file, "%s %s %s %s\n", word, t->row->name, what, name != NULL ? name : t->path);
    fflush(log_file);
}

static void end_all(void)
{
    stopped = true;
    for (int i = 0; i < MOST_THREADS; i++) {
        if (threads[i].id != 0) (void)kill(threads[i].id, SIGKILL);
    }
}

/* ---- before a call ---- */

static int64_t position_of(pid_t id, int fd)
{
    char name[64], line[128];
    long long position = 0;
    unsigned flags = 0;
    struct stat about;
    snprintf(name, sizeof name, "/proc/%d/fdinfo/%d", (int)id, fd);
    FILE *file = fopen(name, "r");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "pos: %lld", &position);
        (void)sscanf(line, "flags: %o", &flags);
    }
    (void)fclose(file);
    snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)id, fd);
    return (flags & O_APPEND) != 0 && stat(name, &about) == 0 ? (int64_t)about.st_size : (int64_t)position;
}

/* Which files the call is about; false: none below the folder. */
static bool find_files(thread *t)
{
    const call_row *row = t->row;
    const unsigned long long *a = t->arguments;
    t->path[0] = t->other[0] = '\0';
    if (row->fd != NONE) {
        if (!path_of_fd(t->id, (int)a[row->fd], t->path)) return false;
    } else {
        const int from = row->folder != NONE ? (int)a[row->folder] : AT_FDCWD;
        if (a[row->path] == 0) return false;
        if (!path_argument(t->id, from, a[row->path], t->path)) return false;
        if (row->other_path != NONE) {
            const int to = row->other_folder != NONE ? (int)a[row->other_folder] : AT_FDCWD;
            if (!path_argument(t->id, to, a[row->other_path], t->other)) return false;
        }
    }
    return below(folder, t->path) != NULL || below(folder, t->other) != NULL;
}

static request request_of(thread *t, char name[PATH_MAX])
{
    const unsigned long long *a = t->arguments;
    struct stat about;
    request r = {.family = t->row->family};
    const char *inside = below(folder, t->row->other_path != NONE ? t->other : t->path);
    steady_name(inside != NULL ? inside : t->path, name);
    r.path = name;
    if (r.family == READ || r.family == WRITE) r.bytes = (int64_t)a[2];
    if (r.family == OPEN) {
        const int flags = (int)a[t->row->path + 1];
        t->existed = lstat(t->path, &about) == 0;
        r.makes = (flags & O_CREAT) != 0 && !t->existed;
    }
    if (r.family == SIZE) {
        r.makes = t->row->number == SYS_fallocate || (stat(t->path, &about) == 0 && about.st_size < (off_t)a[1]);
    }
    return r;
}

/* What cut.py couldn't tell. */
static void check_modelled(const thread *t)
{
    const unsigned long long *a = t->arguments;
    bool odd = t->row->family == OTHER;
    if (t->row->number == SYS_mmap) odd = (a[2] & PROT_WRITE) != 0 && (a[3] & MAP_SHARED) != 0;
    if (t->row->number == SYS_renameat2) odd = a[4] != 0;
    if (t->row->family == OPEN) odd = ((int)a[t->row->path + 1] & O_TMPFILE) == O_TMPFILE;
    if (odd) say("unknown", t, "-");
}

static void enter(thread *t)
{
    struct user_regs_struct registers;
    char name[PATH_MAX];
    int error = 0;
    if (ptrace(PTRACE_GETREGS, t->id, NULL, &registers) != 0) return;
    t->row = call_row_of((long)registers.orig_rax);
    if (t->row == NULL) goto on;
    const unsigned long long a[6] = {registers.rdi, registers.rsi, registers.rdx,
                                     registers.r10, registers.r8,  registers.r9};
    memcpy(t->arguments, a, sizeof a);
    t->shortened = false;
    t->error = 0;
    if (!find_files(t)) goto on;
    check_modelled(t);
    const request r = request_of(t, name);
    if (r.family != OTHER) census_count(&r);
    switch (plan_ask(&r, &error)) {
    case STOP:
        say("fault", t, "STOP");
        end_all();
        return;
    case FAIL:
        say("fault", t, strerrorname_np(error));
        if (r.family == CLOSE) { /* which is closed all the same */
            t->error = error;
            break;
        }
        registers.orig_rax = (unsigned long long)-1;
        registers.rax = (unsigned long long)-(long long)error;
        if (ptrace(PTRACE_SETREGS, t->id, NULL, &registers) != 0) give_up("a call can't be changed");
        goto on;
    case SHORTEN:
        say("fault", t, "SHORT");
        t->shortened = true;
        t->count = registers.rdx;
        registers.rdx = registers.rdx / 2;
        if (ptrace(PTRACE_SETREGS, t->id, NULL, &registers) != 0) give_up("a call can't be changed");
        break;
    default:
        break;
    }
    if (r.family == WRITE && record_on()) {
        t->offset = t->row->number == SYS_pwrite64 ? (int64_t)a[3] : position_of(t->id, (int)a[0]);
    }
    if (t->shortened || t->error != 0 || record_on()) {
        (void)ptrace(PTRACE_SYSCALL, t->id, NULL, NULL);
        return;
    }
on:
    t->row = NULL;
    (void)ptrace(PTRACE_CONT, t->id, NULL, NULL);
}

/* ---- after a call ---- */

static void note(const thread *t, int64_t result)
{
    const unsigned long long *a = t->arguments;
    char file[64];
    snprintf(file, sizeof file, "/proc/%d/fd/%d", (int)t->id, (int)a[0]);
    switch (t->row->family) {
    case OPEN:
        snprintf(file, sizeof file, "/proc/%d/fd/%d", (int)t->id, (int)result);
        if (((int)a[t->row->path + 1] & O_CREAT) != 0 && !t->existed) {
            record_make(t->path, false);
        } else if (((int)a[t->row->path + 1] & O_TRUNC) != 0) {
            record_size(file, 0, false);
        }
        break;
    case WRITE:
        record_data(t->id, file, t->offset, a[1], result);
        break;
    case SYNC:
        record_sync(t->row->number == SYS_syncfs ? NULL : file);
        break;
    case RENAME:
        record_move(t->path, t->other);
        break;
    case LINK:
        record_link(t->path, t->other);
        break;
    case UNLINK:
        record_drop(t->path);
        break;
    case MKDIR:
        record_make(t->path, true);
        break;
    case SIZE:
        if (t->row->number == SYS_ftruncate) record_size(file, (int64_t)a[1], false);
        if (t->row->number == SYS_fallocate && a[1] == 0) record_size(file, (int64_t)(a[2] + a[3]), true);
        break;
    default:
        break;
    }
}

static void leave(thread *t)
{
    struct user_regs_struct registers;
    if (t->row == NULL || ptrace(PTRACE_GETREGS, t->id, NULL, &registers) != 0) return;
    const int64_t result = (int64_t)registers.rax;
    if (t->shortened) registers.rdx = t->count; /* a call leaves it as it was */
    if (t->error != 0) registers.rax = (unsigned long long)-(long long)t->error;
    if (t->shortened || t->error != 0) (void)ptrace(PTRACE_SETREGS, t->id, NULL, &registers);
    if (result >= 0 && record_on()) note(t, result);
    t->row = NULL;
}

/* ---- the program ---- */

/* In the child: from here on the kernel tells us of the calls in the table, and of no others. */
static void install_filter(void)
{
    struct sock_filter code[2 * MOST_ROWS + 8];
    unsigned short used = 0;
    code[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < call_row_count; i++) {
        code[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call_rows[i].number, 0, 1);
        code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    }
    code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog filter = {used, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        give_up("no seccomp here");
}

static void start(char **words)
{
    const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE |
                         PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
    int status;
    program = fork();
    if (program < 0) give_up("can't fork");
    if (program == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) give_up("no ptrace here");
        (void)raise(SIGSTOP);
        install_filter();
        (void)execvp(words[0], words);
        give_up(words[0]);
    }
    if (waitpid(program, &status, __WALL) != program || !WIFSTOPPED(status)) give_up("it doesn't begin");
    if (ptrace(PTRACE_SETOPTIONS, program, NULL, options) != 0) give_up("no ptrace here");
    find_thread(program, true)->new = false;
    (void)ptrace(PTRACE_CONT, program, NULL, NULL);
}

static void met(thread *t, int status)
{
    const int number = WSTOPSIG(status), event = status >> 16;
    unsigned long child = 0;
    if (number == (SIGTRAP | 0x80)) {
        leave(t);
    } else if (event == PTRACE_EVENT_SECCOMP) {
        enter(t);
        return;
    } else if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
        if (ptrace(PTRACE_GETEVENTMSG, t->id, NULL, &child) == 0) (void)find_thread((pid_t)child, true);
    } else if (event == PTRACE_EVENT_EXEC) {
        t->row = NULL;
    } else if (number == SIGSTOP && t->new) {
        t->new = false;
    } else {
        (void)ptrace(PTRACE_CONT, t->id, NULL, (long)number);
        return;
    }
    (void)ptrace(PTRACE_CONT, t->id, NULL, NULL);
}

/* Until nothing runs any more; the result is the program's own status. */
static int follow(void)
{
    int status, result = 0;
    for (;;) {
        const pid_t id = waitpid(-1, &status, __WALL);
        if (id < 0 && errno == EINTR) continue;
        if (id < 0) return result; /* none is left */
        thread *t = find_thread(id, true);
        if (!WIFSTOPPED(status)) {
            t->id = 0;
            if (id == program) result = status;
        } else if (stopped) {
            (void)kill(id, SIGKILL);
        } else {
            met(t, status);
        }
    }
}

static void pass_on(int number)
{
    if (program > 0) (void)kill(program, number);
}

static int finish(int status, const char *census)
{
    if (!record_close()) give_up("the record isn't whole");
    if (census != NULL && !census_write(census)) give_up(census);
    const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (log_file == NULL) return code;
    if (stopped) {
        fprintf(log_file, "stopped\n");
    } else if (WIFSIGNALED(status)) {
        fprintf(log_file, "signal %d\n", WTERMSIG(status));
    } else {
        fprintf(log_file, "exit %d\n", code);
    }
    if (fclose(log_file) != 0) give_up("the log isn't whole");
    return code;
}

int main(int count, char **words)
{
    const char *census = NULL, *record = NULL;
    int i = 1;
    for (; i + 1 < count && strncmp(words[i], "--", 2) == 0; i += 2) {
        const char *option = words[i] + 2, *value = words[i + 1];
        if (strcmp(option, "under") == 0 && realpath(value, folder) != NULL) continue;
        if (strcmp(option, "fault") == 0 && plan_add(value)) continue;
        if (strcmp(option, "log") == 0 && (log_file = fopen(value, "we")) != NULL) continue;
        if (strcmp(option, "census") == 0 && (census = value) != NULL) continue;
        if (strcmp(option, "record") == 0 && (record = value) != NULL) continue;
        give_up(value);
    }
    if (i >= count || folder[0] == '\0') give_up("--under FOLDER ... PROGRAM");
    if (record != NULL && !record_open(record, folder)) give_up(record);
    struct sigaction action = {.sa_handler = pass_on};
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    start(words + i);
    return finish(follow(), census);
}
