/* Measuring the readers alone: what a training would get if its network took no time. */
#include "backend/cpu/bench_peak.h"
#include "base/clock.h"
#include "base/monitor.h"
#include "credence/bench.h"
#include "train/data/feeder.h"

enum { USUAL_SECONDS = 5, USUAL_BATCH = 4, WARMING = 4 };

static crd_status open_data(const crd_bench_feed_settings *s, const int64_t chunk[3], const crd_monitor *monitor,
                            crd_dataset **out)
{
    const crd_dataset_options options = {.chunk = {chunk[0], chunk[1], chunk[2]},
                                         .step = 3,
                                         .augment = s->unturned ? CRD_AUGMENT_NONE : CRD_AUGMENT_FLIPS,
                                         .seed = 1};
    CRD_PASS(crd_dataset_create(&options, out));
    CRD_PASS(crd_dataset_add(*out, s->scan, s->label, NULL, monitor));
    CRD_PASS(crd_dataset_settle(out, 1, monitor));
    if (crd_dataset_count(*out) > 0) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "no chunk of %s has a labelled voxel: there is nothing to read", s->label);
}

static crd_status time_batches(crd_feeder *feeder, double seconds, const crd_monitor *monitor,
                               crd_bench_feed_result *result)
{
    double begin = 0.0, before = 0.0;
    for (int64_t i = 0; i < WARMING + 2 || crd_seconds() - begin < seconds; i++) {
        crd_batch batch;
        CRD_PASS(crd_feeder_next(feeder, &batch, NULL));
        if (i == WARMING) {
            begin = crd_seconds();
            before = crd_feeder_seconds(feeder);
        }
        if (i > WARMING) result->examples += batch.count;
        CRD_PASS(crd_advance(monitor, "measuring", "mini-batches", i + 1, i + 2, NULL));
    }
    result->seconds = crd_seconds() - begin;
    result->reading_seconds = crd_feeder_seconds(feeder) - before;
    return CRD_OK;
}

crd_status crd_bench_feed(const crd_bench_feed_settings *s, const crd_monitor *monitor, crd_bench_feed_result *result)
{
    crd_status status = CRD_OK;
    crd_dataset *dataset = NULL;
    crd_feeder *feeder = NULL;
    crd_pool *pool = NULL;
    const bool usual = s->chunk[0] == 0;
    *result =
        (crd_bench_feed_result){.chunk = {usual ? 48 : s->chunk[0], usual ? 96 : s->chunk[1], usual ? 96 : s->chunk[2]},
                                .batch = s->batch > 0 ? s->batch : USUAL_BATCH,
                                .readers = s->readers > 0 ? s->readers : 1};
    const int64_t voxels = result->chunk[0] * result->chunk[1] * result->chunk[2];
    CRD_TRY(open_data(s, result->chunk, monitor, &dataset));
    const crd_feeder_plan plan = {.dataset = dataset,
                                  .readers = result->readers,
                                  .batch = result->batch,
                                  .chunk_voxels = voxels,
                                  .seed = 1,
                                  .shuffle = true,
                                  .end_step = INT64_MAX};
    CRD_TRY(crd_pool_create((int)result->readers, &pool));
    CRD_TRY(crd_bench_copy(pool, 0.2, &result->copy_gigabytes));
    CRD_TRY(crd_feeder_start(&plan, &feeder));
    CRD_TRY(time_batches(feeder, s->seconds > 0 ? s->seconds : USUAL_SECONDS, monitor, result));
    result->megavoxels = 1e-6 * (double)(result->examples * voxels) / result->seconds;
done:
    crd_feeder_stop(&feeder);
    crd_dataset_close(&dataset);
    crd_pool_free(&pool);
    return status;
}
