/* A prediction from end to end: a reader thread ahead, the network, a writer thread behind. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/report.h"
#include "predict/folder.h"
#include "predict/likeness.h"
#include "predict/manifest.h"
#include "predict/probe.h"
#include "predict/reader.h"
#include "predict/writer.h"

enum { DEEPEST = 64 };

typedef struct run {
    crd_request request;
    crd_memory_plan memory;
    crd_run_folder folder;
    crd_notes notes;
    crd_fingerprints fingerprints;
    crd_scan *scan;
    crd_partial *partial;
    crd_probes *probes;

    int64_t *rows; /* rows of chunks to be computed, rising */
    int64_t row_count;
    crd_predictor *predictor;
    crd_accumulator *accumulator;
    crd_reader *reader;
    crd_writer *writer;
    uint8_t *inside; /* the mask of a chunk or of a slice; NULL without */
    int64_t done;    /* chunks, in this call */
    crd_seams seams;
    crd_run_times times;
} run;

/* Calls something and adds the seconds it took. */
#define TIMED(SECONDS, CALL)                                                                                           \
    do {                                                                                                               \
        const double timed_start = crd_notes_seconds(&r->notes);                                                       \
        const crd_status timed_status = (CALL);                                                                        \
        (SECONDS) += crd_notes_seconds(&r->notes) - timed_start;                                                       \
        if (timed_status != CRD_OK) return timed_status;                                                               \
    } while (0)

static int64_t per_row(const run *r)
{
    return r->request.count[1] * r->request.count[2];
}

/* Rows whose kept part holds an unfinished slice. */
static crd_status find_rows(run *r)
{
    const uint8_t *finished = crd_partial_finished(r->partial);
    CRD_PASS(crd_alloc(r->request.count[0], sizeof *r->rows, "the rows", &r->rows));
    for (int64_t row = 0; row < r->request.count[0]; row++) {
        int64_t begin, end;
        bool needed = false;
        crd_request_row(&r->request, row, &begin, &end);
        for (int64_t z = begin; z < end && !needed; z++) needed = !finished[z - r->request.box.origin[0]];
        if (needed) r->rows[r->row_count++] = row;
    }
    return CRD_OK;
}

static crd_status open_scan(run *r)
{
    const crd_request *request = &r->request;
    const char *mask = request->options->mask;
    const crd_scan_options options = {
        .volume = &request->reading, .norm = request->norm, .mask = mask != NULL && mask[0] != '\0' ? mask : NULL};
    CRD_PASS(crd_scan_open(request->options->scan, &options, &r->notes.monitor, &r->scan));
    crd_likeness_check(request, r->scan, &r->notes.monitor);
    if (!crd_scan_masked(r->scan)) return CRD_OK;
    int64_t most = request->box.size[1] * request->box.size[2], chunk = 1;
    for (int axis = 0; axis < 3; axis++) chunk *= request->plan.axes[axis].window;
    return crd_alloc(chunk > most ? chunk : most, 1, "the mask", &r->inside);
}

static crd_status open_partial(run *r)
{
    crd_status status = CRD_OK;
    char *identity = NULL, *log = NULL;
    CRD_TRY(crd_identity_make(&r->request, &r->fingerprints, &identity));
    if (!r->folder.resume) CRD_TRY(crd_run_folder_clear(&r->folder));
    CRD_TRY(crd_join_path(r->folder.path, "log.jsonl", "", &log));
    CRD_TRY(crd_partial_open(r->folder.path, &r->request, identity, r->folder.resume, &r->partial));
    CRD_TRY(crd_notes_log(&r->notes, log, r->folder.resume));
    CRD_TRY(find_rows(r));
done:
    crd_free(&identity);
    crd_free(&log);
    return status;
}

/* "12 chunks of 64,128,128, 48 samples: about 0:40 min, 1.2 GiB of memory, 0.3 GiB of disk" */
static void tell_plan(run *r, double seconds)
{
    const crd_axis_plan *axes = r->request.plan.axes;
    const double share = (double)(r->row_count * per_row(r)) / (double)r->request.chunks;
    const int64_t minutes = (int64_t)(seconds * share / 60.0);
    crd_info(&r->notes.monitor,
             "%" PRId64 " of %" PRId64 " chunks of %" PRId64 ",%" PRId64 ",%" PRId64 " (z,y,x) with %" PRId64
             " samples to compute: about %" PRId64 ":%02d min, %.2f GiB of memory, %.2f GiB of disk%s",
             r->row_count * per_row(r), r->request.chunks, axes[0].window, axes[1].window, axes[2].window,
             r->request.samples, minutes, (int)(seconds * share - 60.0 * (double)minutes),
             (double)r->memory.memory_bytes / 0x1p30, (double)r->memory.disk_bytes / 0x1p30,
             r->memory.scratch_bytes > 0 ? ", of which a part as scratch" : "");
}

static crd_status start(run *r)
{
    crd_status status = CRD_OK;
    crd_predictor_plan plan;
    char *scratch = NULL;
    crd_request_predictor(&r->request, &plan);
    CRD_TRY(crd_join_path(r->folder.path, ".partial/scratch", "", &scratch));
    CRD_TRY(r->request.backend->predictor_create(&r->request.device, &plan, &r->predictor));
    CRD_TRY(crd_accumulator_create(&r->request, r->memory.slab_bytes, scratch, &r->accumulator));
    CRD_TRY(crd_writer_create(&r->request, r->partial, &r->writer));
    CRD_TRY(crd_reader_create(&r->request, r->scan, r->rows, r->row_count, r->memory.kept_bytes > 0, &r->reader));
done:
    crd_free(&scratch);
    return status;
}

static void stop(run *r)
{
    crd_reader_free(&r->reader);
    crd_writer_free(&r->writer);
    crd_accumulator_free(&r->accumulator);
    if (r->predictor != NULL) r->request.backend->predictor_free(&r->predictor);
}

/* After the last chunk of rows[number]: the slices that no later row touches leave. */
static crd_status finish_row(run *r, int64_t number)
{
    const crd_box *box = &r->request.box;
    const uint8_t *finished = crd_partial_finished(r->partial);
    const int64_t row = r->rows[number];
    int64_t begin, end, next = box->origin[0] + box->size[0], beyond;
    char fields[128];
    crd_request_row(&r->request, row, &begin, &end);
    if (row + 1 < r->request.count[0]) crd_request_row(&r->request, row + 1, &next, &beyond);
    int64_t last = -1;
    for (int64_t z = begin; z < next && z < end; z++) {
        if (!finished[z - box->origin[0]]) last = z;
    }
    for (int64_t z = begin; z <= last; z++) {
        crd_slice *slice;
        if (finished[z - box->origin[0]]) continue;
        const crd_box whole = {{z, box->origin[1], box->origin[2]}, {1, box->size[1], box->size[2]}};
        if (r->inside != NULL) CRD_PASS(crd_scan_read_mask(r->scan, &whole, r->inside));
        CRD_PASS(crd_writer_slice(r->writer, &slice));
        CRD_PASS(crd_accumulator_finish(r->accumulator, z, r->inside, slice));
        CRD_PASS(crd_writer_put(r->writer, z == last));
    }
    snprintf(fields, sizeof fields, "\"row\": %" PRId64 ", \"slices\": [%" PRId64 ", %" PRId64 "]", row, begin,
             last + 1);
    crd_notes_event(&r->notes, "row", fields);
    return CRD_OK;
}

static crd_status collect(run *r)
{
    crd_chunk_result result;
    crd_box window, keep;
    TIMED(r->times.network, r->request.backend->predictor_collect(r->predictor, &result));
    r->times.network -= result.summary_seconds;
    r->times.summarising += result.summary_seconds;
    crd_plan_chunk(&r->request.plan, result.chunk_number, &window, &keep);
    if (r->inside != NULL) CRD_PASS(crd_scan_read_mask(r->scan, &window, r->inside));
    TIMED(r->times.adding, crd_accumulator_add(r->accumulator, &result, r->inside, crd_partial_finished(r->partial)));
    TIMED(r->times.adding, crd_probes_keep(r->probes, &result, r->partial));
    r->done++;
    if (r->done % per_row(r) == 0) TIMED(r->times.finishing, finish_row(r, r->done / per_row(r) - 1));
    return crd_advance(&r->notes.monitor, "predicting", "chunks",
                       r->request.chunks - r->row_count * per_row(r) + r->done, r->request.chunks, NULL);
}

static crd_status compute(run *r)
{
    const crd_backend *backend = r->request.backend;
    const int64_t total = r->row_count * per_row(r);
    int64_t depth = backend->predictor_depth(r->predictor);
    if (depth > DEEPEST) depth = DEEPEST;
    CRD_PASS(
        crd_advance(&r->notes.monitor, "predicting", "chunks", r->request.chunks - total, r->request.chunks, NULL));
    for (int64_t i = 0; i < total; i++) {
        int64_t number, probe_count;
        const int64_t *probe;
        const float *voxels;
        TIMED(r->times.waiting, crd_reader_next(r->reader, &number, &voxels));
        crd_probes_of_chunk(r->probes, number, &probe, &probe_count);
        TIMED(r->times.network, backend->predictor_submit(r->predictor, number, voxels, probe, probe_count));
        if (i + 1 - r->done >= depth) CRD_PASS(collect(r));
    }
    while (r->done < total) CRD_PASS(collect(r));
    TIMED(r->times.finishing, crd_writer_wait(r->writer));
    return CRD_OK;
}

static crd_status write_results(run *r, crd_predict_result *result)
{
    crd_status status = CRD_OK;
    char *probe = NULL, *path = NULL;
    const double begun = crd_notes_seconds(&r->notes);
    CRD_TRY(crd_outputs_write(&r->request, r->partial, r->folder.path, &r->notes.monitor, &r->seams));
    r->times.writing = crd_notes_seconds(&r->notes) - begun;
    CRD_TRY(crd_join_path(r->folder.path, "probe.h5", "", &probe));
    CRD_TRY(crd_probes_write(r->probes, r->partial, r->scan, probe));
    CRD_TRY(crd_join_path(r->folder.path, "manifest.json", "", &path));
    const crd_manifest manifest = {.request = &r->request,
                                   .fingerprints = &r->fingerprints,
                                   .scan = r->scan,
                                   .memory = &r->memory,
                                   .seams = &r->seams,
                                   .notes = &r->notes,
                                   .partial = r->partial,
                                   .times = &r->times,
                                   .computed = r->done};
    CRD_TRY(crd_manifest_write(&manifest, path, result));
    crd_partial_close(&r->partial);
    CRD_TRY(crd_partial_remove(r->folder.path));
    crd_notes_event(&r->notes, "done", "");
done:
    crd_free(&probe);
    crd_free(&path);
    return status;
}

static crd_status prepare(run *r)
{
    double seconds = 0.0;
    const char *repeats = r->request.options->repeats;
    CRD_PASS(crd_fingerprints_take(&r->request, &r->notes.monitor, &r->fingerprints));
    if (repeats != NULL && repeats[0] != '\0') {
        CRD_PASS(crd_identity_repeats(repeats, &r->fingerprints, &r->notes.monitor));
    }
    CRD_PASS(open_scan(r));
    CRD_PASS(open_partial(r));
    CRD_PASS(crd_probes_create(&r->request, &r->probes));
    if (r->row_count > 0) CRD_PASS(crd_memory_plan_eta(&r->request, &seconds));
    tell_plan(r, seconds);
    r->times.preparing = crd_notes_seconds(&r->notes);
    return CRD_OK;
}

/* Finished slices that are still under way are brought home first; the sentence says how to go on. */
static crd_status say_how_to_go_on(run *r)
{
    const crd_error error = *crd_last_error();
    if (r->writer != NULL) (void)crd_writer_wait(r->writer);
    if (r->partial == NULL) return crd_error_adopt(&error);
    return crd_fail(error.status, "%s; finished slices are kept, and the same command with --resume goes on in %s",
                    error.message, r->folder.path);
}

static crd_status run_all(run *r, const crd_predict_options *options, crd_predict_result *result)
{
    crd_status status = CRD_OK;
    CRD_TRY(crd_request_make(options, &r->notes.monitor, &r->request));
    CRD_TRY(crd_memory_plan_make(&r->request, &r->memory));
    r->request.reading.cache_bytes = (size_t)r->memory.cache_bytes;
    CRD_TRY(crd_run_folder_open(&r->request, &r->notes.monitor, &r->folder));
    *result = (crd_predict_result){.chunks = r->request.chunks, .samples = r->request.samples};
    if (r->folder.complete) {
        crd_info(&r->notes.monitor, "%s is complete: there is nothing left to do", r->folder.path);
        goto done;
    }
    CRD_TRY(crd_run_folder_check_space(&r->folder, r->memory.disk_bytes));
    CRD_TRY(prepare(r));
    if (r->row_count > 0) {
        CRD_TRY(start(r));
        CRD_TRY(compute(r));
        stop(r);
    }
    CRD_TRY(write_results(r, result));
    result->computed = r->done;
    result->seconds = crd_notes_seconds(&r->notes);
done:
    return status;
}

crd_status crd_predict(const crd_predict_options *options, const crd_monitor *monitor, crd_predict_result *out)
{
    crd_status status = CRD_OK;
    run *r = NULL;
    crd_predict_result result = {0};
    if (options->dry_run)
        return crd_fail(CRD_ERR_ARGUMENT, "a dry run is planned, not run: call crd_predict_plan_make");
    CRD_PASS(crd_alloc(1, sizeof *r, "the run", &r));
    crd_notes_begin(monitor, &r->notes);
    status = run_all(r, options, &result);
    if (status != CRD_OK) status = say_how_to_go_on(r);
    stop(r);
    if (status == CRD_OK && out != NULL) *out = result;
    crd_probes_free(&r->probes);
    crd_partial_close(&r->partial);
    crd_scan_close(&r->scan);
    crd_run_folder_close(&r->folder);
    crd_free(&r->rows);
    crd_free(&r->inside);
    crd_notes_end(&r->notes);
    crd_request_free(&r->request);
    crd_free(&r);
    return status;
}
