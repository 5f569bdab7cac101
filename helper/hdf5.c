/* credence-hdf5: reads one HDF5 file apart from the program that wants it (remote.h). Not for people. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "credence/volume.h"

/* The program learns from the signal that ends this one what happened; nobody else, such as a sanitizer, may catch it,
 * and none is ignored because the program's parent ignored it. */
static void let_signals_end_it(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGXFSZ, SIGSYS, SIGPIPE};
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++) (void)signal(fatal[i], SIG_DFL);
}

/* Files that the program or its host left open for their children are none of its business. */
static void close_others(void)
{
#ifdef SYS_close_range
    (void)syscall(SYS_close_range, 6U, ~0U, 0U);
#endif
}

/* A plug-in of libhdf5 that unpacks in threads finds none in a sandbox, and libgomp then ends the process. */
static void compute_alone(void)
{
    static const char *const limits[] = {"OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "BLOSC_NTHREADS"};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) (void)setenv(limits[i], "1", 1);
}

int main(void)
{
    struct stat about;
    if (fstat(3, &about) != 0 || !S_ISSOCK(about.st_mode)) {
        (void)fputs("credence-hdf5 is started by credence, to read HDF5 files apart from it\n", stderr);
        return 2;
    }
    let_signals_end_it();
    close_others();
    compute_alone();
    _exit(crd_hdf5_serve()); /* what libhdf5 would do at the end isn't needed, and may crash */
}
