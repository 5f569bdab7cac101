/* Tiles: every voxel is kept by one, and final when that is computed. It goes straight into the volumes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "predict/run.h"
#include "run/paths.h"

static bool any_finished(const crd_predict_run *r)
{
    return memchr(crd_partial_finished(r->partial), 1, (size_t)crd_partial_items(r->partial)) != NULL;
}

static crd_status restore(crd_predict_run *r)
{
    return any_finished(r) ? crd_tile_files_restage(&r->request, r->path) : CRD_OK;
}

static crd_status open_files(crd_predict_run *r)
{
    crd_status status = CRD_OK;
    char *partial = NULL;
    CRD_TRY(crd_tile_borders_open(&r->request, r->path, &r->borders));
    CRD_TRY(crd_tile_files_open(&r->request, r->path, &r->files));
    /* Tiles are noted as soon as they are on the disk; their files must be found there. */
    CRD_TRY(crd_run_path(r->path, CRD_RUN_PARTIAL, &partial));
    CRD_TRY(crd_sync_folder(partial));
    CRD_TRY(crd_sync_folder(r->path));
done:
    crd_free(&partial);
    return status;
}

static bool tile_done(const crd_predict_run *r, int64_t tile)
{
    return crd_partial_finished(r->partial)[tile] != 0;
}

static crd_status start(crd_predict_run *r)
{
    CRD_PASS(crd_pool_create(r->request.device.threads, &r->pool));
    return crd_tile_writer_create(&r->request, r->partial, r->files, r->borders, &r->tiles);
}

static void stop(crd_predict_run *r)
{
    crd_tile_writer_free(&r->tiles);
    crd_pool_free(&r->pool);
}

static crd_status fill(crd_predict_run *r, const crd_chunk_result *result, crd_tile_box *box)
{
    crd_tile_box_place(box, result->chunk_number);
    if (r->inside != NULL) CRD_PASS(crd_scan_read_mask(r->scan, &box->box, r->inside));
    crd_tile_box_fill(box, result, r->inside, r->pool);
    return crd_probes_keep(r->probes, result, r->partial);
}

static crd_status take(crd_predict_run *r, const crd_chunk_result *result)
{
    crd_tile_box *box;
    char fields[64];
    TIMED(r->times.finishing, crd_tile_writer_box(r->tiles, &box));
    TIMED(r->times.adding, fill(r, result, box));
    crd_tile_writer_put(r->tiles);
    snprintf(fields, sizeof fields, "\"tiles\": %" PRId64, r->done + 1);
    crd_run_log_event(&r->log, "tile", fields, "");
    return CRD_OK;
}

static crd_status wait(crd_predict_run *r)
{
    return r->tiles != NULL ? crd_tile_writer_wait(r->tiles) : CRD_OK;
}

static double real_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* What the values of all tiles lie between, by volume. */
static void find_ranges(const crd_predict_run *r, double *ranges)
{
    const int64_t outputs = r->request.output_count, first = crd_tile_first_range(&r->request);
    for (int64_t i = 0; i < outputs; i++) {
        ranges[2 * i] = INFINITY;
        ranges[2 * i + 1] = -INFINITY;
    }
    for (int64_t tile = 0; tile < crd_partial_items(r->partial); tile++) {
        const uint64_t *words = crd_partial_sums(r->partial, tile) + first;
        for (int64_t i = 0; i < outputs; i++) {
            const double low = real_of(words[2 * i]), high = real_of(words[2 * i + 1]);
            if (low < ranges[2 * i]) ranges[2 * i] = low;
            if (high > ranges[2 * i + 1]) ranges[2 * i + 1] = high;
        }
    }
}

static crd_status measure_seams(crd_predict_run *r)
{
    const int64_t first = crd_tile_first_step(&r->request);
    r->seams = (crd_seams){0};
    for (int64_t tile = 0; tile < crd_partial_items(r->partial); tile++) {
        const uint64_t *words = crd_partial_sums(r->partial, tile) + first;
        r->seams.other_sum += words[CRD_TILE_STEP_SUM];
        r->seams.other_count += words[CRD_TILE_STEP_COUNT];
    }
    return crd_tile_borders_measure(r->borders, &r->seams);
}

static crd_status commit(crd_predict_run *r)
{
    crd_status status = CRD_OK;
    double *ranges = NULL;
    CRD_TRY(measure_seams(r));
    CRD_TRY(crd_alloc(2 * r->request.output_count, sizeof *ranges, "the ranges", &ranges));
    find_ranges(r, ranges);
    CRD_TRY(crd_tile_files_commit(r->files, ranges, &r->log.monitor));
done:
    crd_free(&ranges);
    return status;
}

static void close_files(crd_predict_run *r)
{
    crd_tile_files_close(&r->files);
    crd_tile_borders_close(&r->borders);
}

const crd_finisher crd_finish_tiles = {
    .items = "tiles",
    .restore = restore,
    .open = open_files,
    .done = tile_done,
    .start = start,
    .stop = stop,
    .take = take,
    .wait = wait,
    .gather = open_files,
    .commit = commit,
    .close = close_files,
};
