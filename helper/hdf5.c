/* credence-hdf5: reads one HDF5 file apart from the program that wants it (remote.h). Not for people. */
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "credence/volume.h"

/* The program learns from the signal that ends this one what happened; nobody else, such as a sanitizer, may catch it,
 * and none is ignored because the program's parent ignored it. */
static void let_signals_end_it(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGXFSZ, SIGSYS, SIGPIPE};
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++) (void)signal(fatal[i], SIG_DFL);
}

int main(void)
{
    struct stat about;
    if (fstat(3, &about) != 0 || !S_ISSOCK(about.st_mode)) {
        (void)fputs("credence-hdf5 is started by credence, to read HDF5 files apart from it\n", stderr);
        return 2;
    }
    let_signals_end_it();
    _exit(crd_hdf5_serve()); /* what libhdf5 would do at the end isn't needed, and may crash */
}
