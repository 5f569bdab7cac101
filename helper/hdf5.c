/* credence-hdf5: reads one HDF5 file apart from the program that wants it (remote.h). Not for people. */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "credence/volume.h"

int main(void)
{
    struct stat about;
    if (fstat(3, &about) != 0 || !S_ISSOCK(about.st_mode)) {
        (void)fputs("credence-hdf5 is started by credence, to read HDF5 files apart from it\n", stderr);
        return 2;
    }
    _exit(crd_hdf5_serve()); /* what libhdf5 would do at the end isn't needed, and may crash */
}
