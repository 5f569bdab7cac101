/* One input of libFuzzer as a file: opened as a volume, described, and a few small boxes read. */
#ifndef CRD_FUZZ_COMMON_H
#define CRD_FUZZ_COMMON_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "credence/volume.h"

/* libFuzzer has no header for it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The sanitizers call these by name. libhdf5, which every input that begins like HDF5 reaches, loses memory on broken
 * files, and asks for as much as a broken size says; it copes with not getting it. */
const char *__lsan_default_suppressions(void);
const char *__asan_default_options(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=64:print_suppressions=0:quarantine_size_mb=4";
}

static char fuzz_folder[64];

static inline void fuzz_clean(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", fuzz_folder);
    if (system(command) != 0) perror(fuzz_folder);
}

/* The path of `name` in a folder of this process's own, in memory where /dev/shm is. Static storage, two in turn. */
static inline const char *fuzz_path(const char *name)
{
    static char paths[2][128];
    static int next;
    struct stat about;
    if (fuzz_folder[0] == '\0') {
        snprintf(fuzz_folder, sizeof fuzz_folder, "%s/credence-fuzz-XXXXXX",
                 stat("/dev/shm", &about) == 0 ? "/dev/shm" : "/tmp");
        if (mkdtemp(fuzz_folder) == NULL) {
            perror(fuzz_folder);
            exit(1);
        }
        atexit(fuzz_clean);
    }
    char *path = paths[next++ % 2];
    snprintf(path, sizeof paths[0], "%s/%s", fuzz_folder, name);
    return path;
}

static inline void fuzz_write(const char *path, const void *data, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0) {
        perror(path);
        exit(1);
    }
}

/* What goes wrong is to be seen here, and so HDF5 is read in this process. False: by the helper. */
static bool fuzz_trusts = true;

/* First, last and middle voxels; never more than 4,096 of them, whatever the shape claims. */
static inline void fuzz_read(const char *path, const crd_volume_options *options)
{
    crd_trust_files(fuzz_trusts);
    static double voxels[16 * 16 * 16];
    crd_volume *volume = NULL;
    if (crd_volume_open(path, options, NULL, &volume) != CRD_OK) {
        /* One sentence, always, and it ends. */
        const char *message = crd_last_error()->message;
        if (message[0] == '\0' || strchr(message, '\n') != NULL || volume != NULL) abort();
        return;
    }
    const crd_volume_info *info = crd_volume_describe(volume);
    for (int part = 0; part < 3; part++) {
        crd_box box;
        for (int i = 0; i < 3; i++) {
            if (info->shape[i] < 1) abort();
            box.size[i] = info->shape[i] < 16 ? info->shape[i] : 16;
            box.origin[i] = (info->shape[i] - box.size[i]) / 2 * part;
        }
        (void)crd_volume_read(volume, &box, part == 1 ? CRD_F64 : info->type, voxels);
    }
    crd_volume_close(&volume);
}

#endif
