/* Several handles of the same files, used by several threads at once. */
#include <pthread.h>

#include "harness.h"
#include "volume_tools.h"

static const int64_t shape[3] = {37, 53, 71};
enum { COUNT = 37 * 53 * 71, THREADS = 4, BOXES = 150 };
static uint16_t voxels[COUNT];
static char paths[4][256];

typedef struct job {
    int number;
    const char *wrong; /* NULL: all was well */
} job;

static crd_status save(const char *path, const crd_volume_options *options)
{
    crd_volume *volume = NULL;
    const crd_volume_info info = {.shape = {shape[0], shape[1], shape[2]}, .type = CRD_U16};
    crd_status status = crd_volume_create(path, &info, options, &volume);
    if (status == CRD_OK) {
        status = crd_volume_write(volume, &(crd_box){.size = {shape[0], shape[1], shape[2]}}, voxels);
    }
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

/* Reads boxes of all files, and writes one of its own in between. */
static void *work(void *argument)
{
    job *j = argument;
    uint64_t state = (uint64_t)j->number * 1000;
    uint16_t *got = malloc(sizeof voxels), *wanted = malloc(sizeof voxels);
    char name[300];
    for (int i = 0; i < 4 && j->wrong == NULL; i++) {
        crd_volume *volume = NULL;
        if (crd_volume_open(paths[(i + j->number) % 4], &(crd_volume_options){.cache_bytes = 1 << 18}, NULL, &volume) !=
            CRD_OK) {
            j->wrong = "open";
        }
        for (int k = 0; k < BOXES && j->wrong == NULL; k++) {
            const crd_box box = tools_random_box(shape, &state);
            const size_t n = (size_t)(box.size[0] * box.size[1] * box.size[2]);
            tools_copy_box(voxels, shape, 2, &box, wanted, 0);
            if (crd_volume_read(volume, &box, CRD_U16, got) != CRD_OK) j->wrong = "read";
            if (memcmp(got, wanted, n * 2) != 0) j->wrong = "other voxels";
        }
        crd_volume_close(&volume);
        snprintf(name, sizeof name, "%s.%d.h5", paths[0], j->number);
        if (j->wrong == NULL && save(name, NULL) != CRD_OK) j->wrong = "write";
        (void)unlink(name);
    }
    free(got);
    free(wanted);
    return NULL;
}

static void test_threads(void)
{
    static const char *const names[4] = {"t.h5", "packed.h5", "t.npy", "t.raw"};
    pthread_t threads[THREADS];
    job jobs[THREADS];
    tools_fill(CRD_U16, COUNT, 4, voxels);
    for (int i = 0; i < 4; i++) {
        snprintf(paths[i], sizeof paths[i], "%s", scratch(names[i]));
        CHECK_OK(save(paths[i], &(crd_volume_options){.compress = i == 1 ? 1 : 0}));
    }
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){.number = i};
        CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        if (jobs[i].wrong != NULL) CHECK_FAILED("thread %d: %s", i, jobs[i].wrong);
    }
}

TEST_MAIN(TEST(test_threads))
