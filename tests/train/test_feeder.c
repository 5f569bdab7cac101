/* The readers of mini-batches: the same batches for any number of them, in order; errors; stopping at any moment. */
#include <unistd.h>

#include "base/clock.h"
#include "dist/dist.h"
#include "harness.h"
#include "train/data/augment.h"
#include "train/data/feeder.h"
#include "train/schedule.h"
#include "volume_tools.h"

enum { Z = 40, Y = 24, X = 32, COUNT = Z * Y * X, CHUNK_Z = 8, CHUNK_YX = 16, VOXELS = CHUNK_Z * CHUNK_YX * CHUNK_YX };

static uint16_t scan_voxels[COUNT];
static uint8_t label_voxels[COUNT];

/* Little memory for decoded pieces, so that readers push out what others have unpacked. */
static const crd_volume_options tight = {.cache_bytes = 40 << 10, .compress = 3};

static crd_status save(const char *name, crd_type type, const void *voxels)
{
    const crd_volume_info info = {.shape = {Z, Y, X}, .type = type, .scale = 1.0};
    const crd_box whole = {.size = {Z, Y, X}};
    crd_volume *volume = NULL;
    crd_status status = crd_volume_create(scratch(name), &info, &tight, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &whole, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

/* Every voxel of the scan is another, so that a wrong one is seen; some voxels have no label. */
static crd_status open_data(const char *scan, const char *label, crd_augment augment, crd_dataset **out)
{
    static const double ignored = 9.0;
    const crd_dataset_options options = {.chunk = {CHUNK_Z, CHUNK_YX, CHUNK_YX},
                                         .step = 2,
                                         .norm = {.mode = CRD_NORM_NONE},
                                         .volume = &tight,
                                         .label = {.volume = &tight, .ignore = &ignored, .ignore_count = 1},
                                         .augment = augment,
                                         .seed = 5};
    for (int i = 0; i < COUNT; i++) {
        scan_voxels[i] = (uint16_t)i;
        label_voxels[i] = (uint8_t)(i % 7 == 0 ? 9 : i % 3 == 0);
    }
    crd_status status = save(scan, CRD_U16, scan_voxels);
    if (status == CRD_OK) status = save(label, CRD_U8, label_voxels);
    if (status == CRD_OK) status = crd_dataset_create(&options, out);
    if (status == CRD_OK) status = crd_dataset_add(*out, scratch(scan), scratch(label), NULL, NULL);
    if (status == CRD_OK) status = crd_dataset_settle(out, 1, NULL);
    return status;
}

/* The example as the definition has it: voxel by voxel from the arrays above. */
static bool is_example(const crd_dataset *data, int64_t number, int64_t epoch, const float *input, const uint8_t *label,
                       int64_t *labelled)
{
    crd_plan plan;
    crd_box window, keep;
    const int64_t size[3] = {CHUNK_Z, CHUNK_YX, CHUNK_YX};
    if (crd_plan_make((int64_t[3]){Z, Y, X}, size, 2, 0.0, &plan) != CRD_OK) return false;
    if (plan.count != crd_dataset_count(data)) return false;
    crd_plan_chunk(&plan, number, &window, &keep);
    const crd_turn turn = crd_turn_draw(5, epoch, number, size);
    for (int64_t z = 0; z < CHUNK_Z; z++) {
        for (int64_t y = 0; y < CHUNK_YX; y++) {
            for (int64_t x = 0; x < CHUNK_YX; x++) {
                const int64_t mz = turn.flip[0] ? CHUNK_Z - 1 - z : z, my = turn.flip[1] ? CHUNK_YX - 1 - y : y;
                const int64_t mx = turn.flip[2] ? CHUNK_YX - 1 - x : x;
                const int64_t from_y = turn.transpose ? mx : my, from_x = turn.transpose ? my : mx;
                const int64_t at =
                    ((window.origin[0] + mz) * Y + window.origin[1] + from_y) * X + window.origin[2] + from_x;
                const uint8_t class = label_voxels[at] == 9 ? CRD_LABEL_NONE : label_voxels[at];
                if (*input++ != (float)scan_voxels[at] || *label++ != class) return false;
                *labelled += class != CRD_LABEL_NONE;
            }
        }
    }
    return true;
}

static crd_feeder_plan plan_of(const crd_dataset *data, int64_t batch, int64_t readers)
{
    return (crd_feeder_plan){.dataset = data,
                             .readers = readers,
                             .batch = batch,
                             .chunk_voxels = VOXELS,
                             .seed = 5,
                             .shuffle = true,
                             .first_step = 3,
                             .end_step = 3 * crd_feeder_batches(crd_dataset_count(data), batch)};
}

/* Grey values change, from epoch to epoch, and are the same whoever reads them, and when. */
static void test_changed_grey_values(void)
{
    static float inputs[4][VOXELS];
    static uint8_t labels[VOXELS];
    int64_t labelled;
    crd_dataset *plain = NULL, *data = NULL, *again = NULL;
    crd_feeder *feeder = NULL;
    crd_batch batch;
    static int64_t order[1000];
    CHECK_OK(open_data("scan.npy", "label.npy", CRD_AUGMENT_FLIPS, &plain));
    CHECK_OK(open_data("scan.npy", "label.npy", CRD_AUGMENT_FULL, &data));
    CHECK_OK(crd_dataset_reopen(data, &again));
    CHECK_OK(crd_dataset_read(plain, 3, 2, inputs[0], labels, &labelled));
    CHECK_OK(crd_dataset_read(data, 3, 2, inputs[1], labels, &labelled));
    CHECK_OK(crd_dataset_read(data, 3, 3, inputs[2], labels, &labelled));
    CHECK_OK(crd_dataset_read(again, 3, 2, inputs[3], labels, &labelled));
    CHECK(memcmp(inputs[0], inputs[1], sizeof inputs[0]) != 0 && memcmp(inputs[1], inputs[2], sizeof inputs[0]) != 0);
    CHECK(memcmp(inputs[1], inputs[3], sizeof inputs[0]) == 0);
    crd_feeder_plan plan = plan_of(data, 2, 3);
    CHECK_OK(crd_feeder_start(&plan, &feeder));
    CHECK_OK(crd_feeder_next(feeder, &batch, NULL));
    const int64_t batches = crd_feeder_batches(crd_dataset_count(data), 2), epoch = batch.step / batches + 1;
    crd_shuffle(plan.seed, epoch, crd_dataset_count(data), order);
    for (int64_t i = 0; i < batch.count; i++) {
        const int64_t number = order[batch.step % batches * 2 + i];
        CHECK_OK(crd_dataset_read(again, number, epoch, inputs[0], labels, &labelled));
        CHECK(memcmp(inputs[0], batch.inputs + i * VOXELS, sizeof inputs[0]) == 0);
    }
    crd_feeder_stop(&feeder);
    crd_dataset_close(&again);
    crd_dataset_close(&data);
    crd_dataset_close(&plain);
}

static void check_batches(const crd_dataset *data, const crd_feeder_plan *plan)
{
    crd_feeder *feeder = NULL;
    static int64_t order[1000];
    const int64_t chunks = crd_dataset_count(data), batches = crd_feeder_batches(chunks, plan->batch);
    const double begun = crd_seconds();
    double waited = -1.0, waited_in_all = 0.0;
    CHECK_OK(crd_feeder_start(plan, &feeder));
    for (int64_t step = plan->first_step; step < plan->end_step; step++) {
        const int64_t epoch = step / batches + 1, first = step % batches * plan->batch;
        int64_t labelled = 0, begin, end;
        crd_batch batch;
        CHECK_OK(crd_feeder_next(feeder, &batch, &waited));
        crd_shuffle(plan->seed, epoch, chunks, order);
        CHECK(batch.step == step && waited >= 0.0);
        waited_in_all += waited;
        CHECK(batch.count == (first + plan->batch < chunks ? plan->batch : chunks - first));
        crd_dist_part(batch.count, plan->size > 0 ? plan->size : 1, plan->rank, &begin, &end);
        CHECK(batch.first == begin && batch.end == end);
        for (int64_t i = begin; i < end; i++) {
            const int64_t at = (i - begin) * VOXELS;
            CHECK(is_example(data, order[first + i], epoch, batch.inputs + at, batch.labels + at, &labelled));
        }
        CHECK(batch.labelled == labelled);
        if (step % 16 == 0) usleep(2000); /* the ring fills up */
    }
    if (plan->size == 0) CHECK(crd_feeder_seconds(feeder) > 0.0);
    CHECK(waited_in_all < crd_seconds() - begun);
    crd_feeder_stop(&feeder);
    CHECK(feeder == NULL);
}

static void check_format(const char *scan, const char *label)
{
    crd_dataset *data = NULL;
    CHECK_OK(open_data(scan, label, 1, &data));
    CHECK(crd_dataset_count(data) > 20 && crd_dataset_count(data) % 4 != 0);
    for (int64_t readers = 1; readers <= 6; readers++) {
        for (int64_t batch = 1; batch <= 4; batch += 3) {
            crd_feeder_plan plan = plan_of(data, batch, readers);
            check_batches(data, &plan);
            if (harness_failed) return;
        }
    }
    /* Of several processes each reads its part, which may be none of a batch. */
    for (int rank = 0; rank < 3; rank++) {
        crd_feeder_plan plan = plan_of(data, 2, 4);
        plan.rank = rank;
        plan.size = 3;
        check_batches(data, &plan);
        if (harness_failed) return;
    }
    crd_dataset_close(&data);
}

static void test_same_batches_for_any_number_of_readers(void)
{
    check_format("scan.npy", "label.npy");
}

/* Readers of one file share what is unpacked; files in chunks are read chunk by chunk, HDF5 by one thread at a time. */
static void test_packed_files(void)
{
    static const char *const suffixes[] = {"tif", "h5", "nii.gz", "nrrd"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0] && !harness_failed; i++) {
        char scan[32], label[32];
        crd_volume *volume = NULL;
        const crd_volume_info info = {.shape = {1, 1, 1}, .type = CRD_U8, .scale = 1.0};
        snprintf(scan, sizeof scan, "scan.%s", suffixes[i]);
        snprintf(label, sizeof label, "label.%s", suffixes[i]);
        const crd_status status = crd_volume_create(scratch(scan), &info, NULL, &volume);
        crd_volume_close(&volume);
        if (status == CRD_ERR_UNSUPPORTED) continue; /* a build without the library */
        check_format(scan, label);
    }
}

/* The file is cut short while it is being read: the batches before are good, then comes the reader's sentence, as often
 * as one asks. */
static void test_error_in_the_middle(void)
{
    for (int64_t readers = 1; readers <= 5; readers += 2) {
        crd_dataset *data = NULL;
        crd_feeder *feeder = NULL;
        crd_batch batch;
        CHECK_OK(open_data("cut.npy", "cut_label.npy", 1, &data));
        crd_feeder_plan plan = plan_of(data, 3, readers);
        plan.first_step = 0;
        plan.shuffle = false; /* in file order: the end of the file is read last */
        CHECK_OK(crd_feeder_start(&plan, &feeder));
        CHECK(truncate(scratch("cut.npy"), 128 + 2 * (COUNT - Y * X)) == 0);
        const int64_t batches = crd_feeder_batches(crd_dataset_count(data), 3);
        int64_t good = 0;
        while (crd_feeder_next(feeder, &batch, NULL) == CRD_OK) {
            int64_t labelled = 0;
            CHECK(batch.step == good++ && good < batches);
            for (int64_t i = 0; i < batch.end; i++) {
                CHECK(is_example(data, batch.step * 3 + i, 1, batch.inputs + i * VOXELS, batch.labels + i * VOXELS,
                                 &labelled));
            }
        }
        CHECK(good >= batches / 2);
        for (int i = 0; i < 2; i++) CHECK_FAILS(crd_feeder_next(feeder, &batch, NULL), CRD_ERR_FORMAT, "cut.npy");
        crd_feeder_stop(&feeder);
        crd_dataset_close(&data);
    }
}

/* A file that is gone is missed when the readers are started. */
static void test_a_file_that_is_gone(void)
{
    crd_dataset *data = NULL;
    crd_feeder *feeder = NULL;
    CHECK_OK(open_data("gone.npy", "gone_label.npy", 0, &data));
    CHECK(unlink(scratch("gone_label.npy")) == 0);
    const crd_feeder_plan plan = plan_of(data, 2, 3);
    CHECK_FAILS(crd_feeder_start(&plan, &feeder), CRD_ERR_SYSTEM, "gone_label.npy");
    CHECK(feeder == NULL);
    crd_dataset_close(&data);
}

/* Stopped while readers wait for room, while they read, and before they began. */
static void test_stopping(void)
{
    crd_dataset *data = NULL;
    CHECK_OK(open_data("scan.npy", "label.npy", 1, &data));
    for (int taken = 0; taken < 24; taken++) {
        crd_feeder *feeder = NULL;
        crd_batch batch;
        const crd_feeder_plan plan = plan_of(data, 2, 1 + taken % 5);
        CHECK_OK(crd_feeder_start(&plan, &feeder));
        for (int i = 0; i < taken; i++) CHECK_OK(crd_feeder_next(feeder, &batch, NULL));
        if (taken % 3 == 0) usleep(500);
        crd_feeder_stop(&feeder);
    }
    crd_dataset_close(&data);
}

TEST_MAIN(TEST(test_same_batches_for_any_number_of_readers), TEST(test_packed_files), TEST(test_error_in_the_middle),
          TEST(test_a_file_that_is_gone), TEST(test_stopping), TEST(test_changed_grey_values))
