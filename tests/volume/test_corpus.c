/* All seeds of the fuzz targets, in a child that may have little memory and time: opened or refused, never worse. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "harness.h"
#include "volume_tools.h"

enum { MOST_DATA = 192 << 20, MOST_SECONDS = 60 };

static void try_file(const char *path)
{
    static double voxels[16 * 16 * 16];
    crd_volume *volume = NULL;
    const crd_volume_options options = {.cache_bytes = 8 << 20};
    if (crd_volume_open(path, &options, NULL, &volume) != CRD_OK) return;
    const crd_volume_info *info = crd_volume_describe(volume);
    for (int part = 0; part < 3; part++) {
        crd_box box;
        for (int i = 0; i < 3; i++) {
            box.size[i] = info->shape[i] < 16 ? info->shape[i] : 16;
            box.origin[i] = (info->shape[i] - box.size[i]) / 2 * part;
        }
        (void)crd_volume_read(volume, &box, part == 1 ? CRD_F64 : info->type, voxels);
    }
    crd_volume_close(&volume);
}

/* Every file of the folder; gives back how many, or -1. */
static int try_folder(const char *folder)
{
    int count = 0;
    DIR *listing = opendir(folder);
    if (listing == NULL) return -1;
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        char path[2048];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        try_file(path);
        snprintf(path, sizeof path, "%s/%s:/x", folder, entry->d_name); /* the dataset in HDF5 files, perhaps a link */
        try_file(path);
        count++;
    }
    closedir(listing);
    return count;
}

static void test_seeds(void)
{
    static const char *const targets[] = {"hdf5", "npy", "tiff", "nrrd", "metaimage", "nifti"};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("sanitizers need memory of their own");
#endif
    const char *source = getenv("CREDENCE_SOURCE");
    if (source == NULL) SKIP("CREDENCE_SOURCE isn't set");
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        char folder[1024];
        int status = 0;
        snprintf(folder, sizeof folder, "%s/fuzz/corpus/fuzz_%s", source, targets[i]);
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            const struct rlimit data = {MOST_DATA, MOST_DATA}, time = {MOST_SECONDS, MOST_SECONDS};
            if (setrlimit(RLIMIT_DATA, &data) != 0 || setrlimit(RLIMIT_CPU, &time) != 0) _exit(99);
            _exit(try_folder(folder) > 4 ? 0 : 98);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) CHECK_FAILED("%s: status %d", folder, status);
    }
}

TEST_MAIN(TEST(test_seeds))
