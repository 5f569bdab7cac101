#include "base/hdf5/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#include <linux/audit.h>
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <linux/audit.h>
#define MACHINE AUDIT_ARCH_AARCH64
#endif

/* The sanitizers need memory of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* The C library's own type of `what` is an enumeration without negative numbers. */
static void limit(unsigned what, int64_t most)
{
    struct rlimit now;
    if (getrlimit(what, &now) != 0) return;
    if (now.rlim_max == RLIM_INFINITY || now.rlim_max > (rlim_t)most) now.rlim_max = (rlim_t)most;
    now.rlim_cur = now.rlim_max;
    (void)setrlimit(what, &now);
}

#ifdef MACHINE
#include <linux/filter.h>
#include <linux/seccomp.h>

/* Calls that reading, computing and ending need, among them those of malloc, of threads' locks and of loading a
 * library. */
static const int allowed[] = {
    SYS_read,           SYS_pread64,      SYS_readv,       SYS_write,         SYS_writev,       SYS_lseek,
    SYS_close,          SYS_fstat,        SYS_newfstatat,  SYS_mmap,          SYS_munmap,       SYS_mprotect,
    SYS_mremap,         SYS_madvise,      SYS_brk,         SYS_futex,         SYS_sched_yield,  SYS_rt_sigaction,
    SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_clock_gettime, SYS_gettimeofday, SYS_getpid,
    SYS_gettid,         SYS_getrandom,    SYS_getrusage,   SYS_getdents64,    SYS_fcntl,        SYS_readlinkat,
    SYS_faccessat,      SYS_getuid,       SYS_geteuid,     SYS_exit,          SYS_exit_group,
#ifdef SYS_statx
    SYS_statx,
#endif
#ifdef SYS_faccessat2
    SYS_faccessat2,
#endif
#ifdef SYS_stat
    SYS_stat,           SYS_lstat,        SYS_access,      SYS_readlink,
#endif
};

enum { ALLOWED = sizeof allowed / sizeof allowed[0], HEAD = 7, LENGTH = HEAD + ALLOWED + 5 };

static void filter_calls(void)
{
    static const unsigned writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
    struct sock_filter program[LENGTH];
    const unsigned call = offsetof(struct seccomp_data, nr), machine = offsetof(struct seccomp_data, arch);
    int n = 0;
#define PUT(code, value, yes, no)                                                                                      \
    program[n++] = (struct sock_filter){(code), (unsigned char)(yes), (unsigned char)(no), (value)}
    PUT(BPF_LD | BPF_W | BPF_ABS, machine, 0, 0);
    PUT(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
    PUT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    PUT(BPF_LD | BPF_W | BPF_ABS, call, 0, 0);
    PUT(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* calls of the x32 interface, which nothing of ours makes */
    PUT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    PUT(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, ALLOWED + 1, 0);
    for (int i = 0; i < ALLOWED; i++) PUT(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], ALLOWED - i + 3, 0);
    PUT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
    PUT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 2 * sizeof(uint64_t), 0,
        0); /* openat's flags */
    PUT(BPF_JMP | BPF_JSET | BPF_K, writes, 0, 1);
    PUT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
    PUT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
#undef PUT
    const struct sock_fprog all = {.len = (unsigned short)n, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all, 0, 0);
}
#endif

void crd_sandbox_enter(int64_t data_bytes)
{
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    if (!SANITIZED) limit(RLIMIT_DATA, data_bytes);
#ifdef MACHINE
    filter_calls();
#endif
}
