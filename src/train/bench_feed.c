/* Measuring the readers alone: what a training would get if its network took no time. */
#include <string.h>

#include "base/clock.h"
#include "base/report.h"
#include "credence/bench.h"
#include "train/feeder.h"

enum { USUAL_SECONDS = 5, USUAL_BATCH = 4 };

static crd_status open_data(const crd_bench_feed_settings *s, const crd_monitor *monitor, crd_dataset **out)
{
    crd_status status = CRD_OK;
    crd_dataset *dataset = NULL;
    const bool usual = s->chunk[0] == 0;
    const crd_dataset_options options = {
        .chunk = {usual ? 48 : s->chunk[0], usual ? 96 : s->chunk[1], usual ? 96 : s->chunk[2]},
        .step = 3,
        .augment = !s->unturned,
        .seed = 1};
    CRD_TRY(crd_dataset_create(&options, &dataset));
    CRD_TRY(crd_dataset_add(dataset, s->scan, s->label, 0.0, monitor));
    *out = dataset;
    dataset = NULL;
done:
    crd_dataset_close(&dataset);
    return status;
}

crd_status crd_bench_feed(const crd_bench_feed_settings *s, const crd_monitor *monitor, crd_bench_feed_result *result)
{
    crd_status status = CRD_OK;
    crd_dataset *dataset = NULL;
    crd_feeder *feeder = NULL;
    double begin = 0.0;
    const bool usual = s->chunk[0] == 0;
    *result =
        (crd_bench_feed_result){.chunk = {usual ? 48 : s->chunk[0], usual ? 96 : s->chunk[1], usual ? 96 : s->chunk[2]},
                                .batch = s->batch > 0 ? s->batch : USUAL_BATCH,
                                .readers = s->readers > 0 ? s->readers : 1};
    CRD_TRY(open_data(s, monitor, &dataset));
    const int64_t voxels = result->chunk[0] * result->chunk[1] * result->chunk[2];
    const crd_feeder_plan plan = {.dataset = dataset,
                                  .readers = result->readers,
                                  .batch = result->batch,
                                  .chunk_voxels = voxels,
                                  .seed = 1,
                                  .shuffle = true,
                                  .end_step = INT64_MAX};
    CRD_TRY(crd_feeder_start(&plan, &feeder));
    const double seconds = s->seconds > 0 ? s->seconds : USUAL_SECONDS;
    const int64_t warming = 4;
    int64_t examples = 0;
    for (int64_t i = 0; i < warming + 2 || crd_seconds() - begin < seconds; i++) {
        crd_batch batch;
        CRD_TRY(crd_feeder_next(feeder, &batch, NULL));
        if (i == warming) begin = crd_seconds();
        if (i > warming) examples += batch.count;
        CRD_TRY(crd_advance(monitor, "measuring", "mini-batches", i + 1, i + 2, NULL));
    }
    result->examples = examples;
    result->seconds = crd_seconds() - begin;
    result->reading_seconds = crd_feeder_seconds(feeder);
    result->megavoxels = 1e-6 * (double)(examples * voxels) / result->seconds;
done:
    crd_feeder_stop(&feeder);
    crd_dataset_close(&dataset);
    return status;
}
