/* A prediction from end to end: a reader thread ahead, the network, a writer thread behind. Processes of a job share
 * the rows of chunks, or the tiles; rank 0 alone talks, keeps the log and completes the volumes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/settings/whole.h"
#include "base/text.h"
#include "credence/cluster.h"
#include "dist/agree.h"
#include "predict/certificate.h"
#include "predict/norms.h"
#include "predict/run.h"
#include "predict/training_match.h"
#include "run/paths.h"

static const double GPU_SECONDS = 60; /* from here on it matters to people that there is no GPU */

static crd_status find_units(crd_predict_run *r)
{
    const int64_t units = r->request.chunks / crd_predict_per_unit(r);
    CRD_PASS(crd_alloc(units, sizeof *r->units, "the work to be done", &r->units));
    for (int64_t unit = 0; unit < units; unit++) {
        if (!r->finisher->done(r, unit)) r->units[r->unit_count++] = unit;
    }
    return CRD_OK;
}

/* One process measures the scan; the others get its figures. */
static crd_status settle_scan(crd_predict_run *r)
{
    const crd_volume_statistics *measured = NULL;
    crd_volume_statistics statistics;
    if (!crd_scan_needs_statistics(r->scan)) return crd_scan_settle(r->scan, NULL, &r->log.monitor);
    if (crd_predict_first(r)) {
        CRD_PASS(crd_inspection_statistics(r->inspection, &r->log.monitor, &measured));
        statistics = *measured;
        CRD_PASS(crd_scan_settle(r->scan, &statistics, &r->log.monitor));
        r->match.histogram_distance = crd_training_match_check(&r->request, r->scan, &r->log.monitor);
    }
    CRD_PASS(crd_dist_broadcast(r->dist, &statistics, (int64_t)sizeof statistics));
    return crd_predict_first(r) ? CRD_OK : crd_scan_settle(r->scan, &statistics, &r->log.monitor);
}

static crd_status open_scan(crd_predict_run *r, bool statistics)
{
    const crd_request *request = &r->request;
    const char *mask = request->options->mask;
    const crd_scan_options options = {.volume = &request->reading,
                                      .norm = request->norm,
                                      .mask = mask != NULL && mask[0] != '\0' ? mask : NULL,
                                      .unmeasured = true};
    CRD_PASS(crd_scan_open(request->options->scan, &options, &r->log.monitor, &r->scan));
    return crd_predict_first(r) ? crd_inspection_start(request, r->scan, statistics, &r->inspection) : CRD_OK;
}

static crd_status prepare_scan(crd_predict_run *r)
{
    const crd_request *request = &r->request;
    CRD_PASS(open_scan(r, true));
    CRD_PASS(settle_scan(r));
    if (request->seamless) {
        const crd_axis_plan *axes = request->plan.axes;
        CRD_PASS(crd_scan_extend(r->scan, (int64_t[]){axes[0].extent, axes[1].extent, axes[2].extent}));
    }
    if (!crd_scan_masked(r->scan)) return CRD_OK;
    int64_t most = request->box.size[1] * request->box.size[2], chunk = 1;
    for (int axis = 0; axis < 3; axis++) chunk *= request->plan.axes[axis].window;
    return crd_alloc(chunk > most ? chunk : most, 1, "the mask", &r->inside);
}

static bool repeats(const crd_predict_run *r)
{
    return r->request.options->repeats != NULL && r->request.options->repeats[0] != '\0';
}

/* The run's identity must be known before anything can be resumed. */
static crd_status identify(crd_predict_run *r)
{
    const crd_fingerprints *taken;
    CRD_PASS(crd_inspection_fingerprints(r->inspection, &r->log.monitor, &taken));
    if (repeats(r)) {
        char device[256];
        CRD_PASS(r->request.backend->describe(&r->request.device, device, sizeof device));
        CRD_PASS(crd_identity_check_repeated(r->request.options->repeats, taken, device, &r->log.monitor));
    }
    return crd_identity_make(&r->request, taken, r->norms_sha256, &r->identity);
}

/* The same beside the computing. */
static crd_status identify_later(void *run, const crd_fingerprints *fingerprints)
{
    crd_predict_run *r = run;
    crd_status status = CRD_OK;
    char *identity = NULL;
    CRD_TRY(crd_identity_make(&r->request, fingerprints, r->norms_sha256, &identity));
    CRD_TRY(crd_identity_write(r->path, identity));
    r->identity = identity;
    identity = NULL;
done:
    crd_free(&identity);
    return status;
}

/* What nothing has waited for yet. */
static crd_status end_inspection(crd_predict_run *r)
{
    const crd_fingerprints *fingerprints;
    const crd_volume_statistics *statistics;
    CRD_PASS(crd_inspection_wait(r->inspection, &r->log.monitor));
    CRD_PASS(crd_inspection_fingerprints(r->inspection, &r->log.monitor, &fingerprints));
    r->fingerprints = *fingerprints;
    if (!crd_scan_needs_statistics(r->scan)) {
        CRD_PASS(crd_inspection_statistics(r->inspection, &r->log.monitor, &statistics));
        CRD_PASS(crd_scan_settle(r->scan, statistics, &r->log.monitor));
        r->match.histogram_distance = crd_training_match_check(&r->request, r->scan, &r->log.monitor);
    }
    crd_inspection_free(&r->inspection);
    return CRD_OK;
}

/* Rank 0 opens what is finished, or begins anew. A new run is identified beside the computing, unless there is
 * something to be cleared away for it or to be compared with: what can still be refused must be known then. */
static crd_status open_first(crd_predict_run *r)
{
    crd_status status = CRD_OK;
    char *log = NULL;
    const bool now = r->folder.occupied || repeats(r);
    if (now) CRD_TRY(identify(r));
    if (!r->folder.resume) CRD_TRY(crd_run_folder_clear(&r->folder));
    CRD_TRY(crd_run_path(r->path, CRD_RUN_LOG, &log));
    CRD_TRY(crd_partial_open(r->path, &r->request, r->identity, r->folder.resume, &r->partial));
    if (r->folder.resume && r->finisher->restore != NULL) CRD_TRY(r->finisher->restore(r));
    if (!now) crd_inspection_then(r->inspection, identify_later, r);
    CRD_TRY(crd_run_folder_list(&r->folder));
    CRD_TRY(crd_norms_keep(r));
    CRD_TRY(crd_run_log_open(&r->log, log, r->folder.resume));
done:
    crd_free(&log);
    return status;
}

static crd_status open_partial(crd_predict_run *r)
{
    crd_status status = CRD_OK;
    int64_t items = 0;
    uint8_t *finished = NULL;
    if (crd_predict_first(r)) {
        CRD_TRY(open_first(r));
        CRD_TRY(r->finisher->open(r));
        items = crd_partial_items(r->partial);
    }
    CRD_TRY(crd_dist_broadcast(r->dist, &items, (int64_t)sizeof items));
    CRD_TRY(crd_alloc(items, 1, "what is finished", &finished));
    if (crd_predict_first(r)) memcpy(finished, crd_partial_finished(r->partial), (size_t)items);
    CRD_TRY(crd_dist_broadcast(r->dist, finished, items));
    if (!crd_predict_first(r)) {
        CRD_TRY(crd_partial_join(r->path, &r->request, crd_dist_rank(r->dist), finished, &r->partial));
        CRD_TRY(r->finisher->open(r));
    }
    CRD_TRY(find_units(r));
done:
    crd_free(&finished);
    return status;
}

/* "12 chunks of 64,128,128, 48 samples to compute: about 0.7 min, 1.2 GiB of memory, 0.3 GiB of disk". The log of an
 * equal run is equal but for its times, so this sentence isn't for it. */
static void tell_plan(crd_predict_run *r, double seconds)
{
    const crd_axis_plan *axes = r->request.plan.axes;
    const int64_t chunks = r->unit_count * crd_predict_per_unit(r);
    const double share = (double)chunks / (double)r->request.chunks / (double)crd_dist_size(r->dist);
    const double eta = seconds * share, unit = eta < 60.0 ? 1.0 : eta < 3600.0 ? 60.0 : 3600.0;
    char fields[64], times[64], number[CRD_NUMBER_BYTES];
    int64_t edges[3];
    for (int axis = 0; axis < 3; axis++) edges[axis] = r->request.seamless ? axes[axis].stride : axes[axis].window;
    crd_info(r->log.outer,
             "%" PRId64 " of %" PRId64 " %s of %" PRId64 ",%" PRId64 ",%" PRId64 " (z,y,x) with %" PRId64
             " samples to compute: about %.*f %s, %.2f GiB of memory, %.2f GiB of disk%s",
             chunks, r->request.chunks, crd_predict_pieces(r), edges[0], edges[1], edges[2], r->request.samples,
             eta < 60.0 ? 0 : 1, eta / unit,
             eta < 60.0     ? "s"
             : eta < 3600.0 ? "min"
                            : "hours",
             (double)r->memory.memory_bytes / 0x1p30, (double)r->memory.disk_bytes / 0x1p30,
             r->memory.scratch_bytes > 0 ? ", of which a part as scratch" : "");
    if (eta >= GPU_SECONDS && r->request.device.fallback[0] != '\0') {
        crd_info(r->log.outer, "the CPU computes: %s", r->request.device.fallback);
    }
    snprintf(fields, sizeof fields, "\"chunks\": %" PRId64, chunks);
    snprintf(times, sizeof times, "\"expected_seconds\": %s", crd_short_number(eta, 4, number));
    crd_run_log_event(&r->log, "plan", fields, times);
}

static crd_status start(crd_predict_run *r)
{
    crd_predictor_plan plan;
    crd_request_predictor(&r->request, &plan);
    crd_request_keep(&r->request, &plan);
    plan.memory_saving = r->memory.memory_saving;
    plan.moments = r->moments;
    CRD_PASS(r->request.backend->predictor_create(&r->request.device, &plan, &r->predictor));
    return r->finisher->start(r);
}

static void stop(crd_predict_run *r)
{
    crd_chunk_reader_free(&r->reader);
    if (r->finisher != NULL) r->finisher->stop(r);
    crd_sharing_close(&r->sharing);
    if (r->predictor != NULL) r->request.backend->predictor_free(&r->predictor);
}

/* A line of the log for every process. */
typedef struct share {
    crd_place place;
    int64_t chunks, bands;
    double seconds; /* until its last item was finished */
    crd_run_times times;
} share;

static crd_status note_shares(crd_predict_run *r)
{
    crd_status status = CRD_OK;
    const int size = crd_dist_size(r->dist);
    const share own = {*crd_dist_place(r->dist), r->done, r->bands, r->finished, r->times};
    share *all = NULL;
    r->all = r->done;
    if (size == 1) return CRD_OK;
    CRD_TRY(crd_alloc(size, sizeof *all, "the shares", &all));
    CRD_TRY(crd_dist_gather(r->dist, &own, (int64_t)sizeof own, all));
    r->all = 0;
    for (int rank = 0; rank < size && crd_predict_first(r); rank++) {
        const share *s = &all[rank];
        const double computing = s->seconds - s->times.preparing;
        char fields[32], times[512], number[3][CRD_NUMBER_BYTES];
        snprintf(fields, sizeof fields, "\"rank\": %d", rank);
        snprintf(times, sizeof times,
                 "\"host\": \"%s\", \"chunks\": %" PRId64 ", \"bands\": %" PRId64
                 ", \"chunks_per_second\": %s, \"network_seconds\": %s, \"waiting_for_the_scan_seconds\": %s",
                 s->place.host, s->chunks, s->bands,
                 crd_short_number(computing > 0.0 ? (double)s->chunks / computing : 0.0, 4, number[0]),
                 crd_short_number(s->times.network, 6, number[1]), crd_short_number(s->times.waiting, 6, number[2]));
        crd_run_log_event(&r->log, "rank", fields, times);
        r->all += s->chunks;
    }
done:
    crd_free(&all);
    return status;
}

/* All files of this process are closed; rank 0 opens them again, as a resumed run would, and so sees what others wrote.
 */
static crd_status gather_finished(crd_predict_run *r)
{
    if (crd_dist_size(r->dist) == 1) return CRD_OK;
    r->finisher->close(r);
    crd_partial_close(&r->partial);
    CRD_PASS(crd_dist_barrier(r->dist));
    if (!crd_predict_first(r)) return CRD_OK;
    CRD_PASS(crd_partial_join(r->path, &r->request, 0, NULL, &r->partial));
    CRD_PASS(r->finisher->gather(r));
    for (int64_t i = 0; i < crd_partial_items(r->partial); i++) {
        if (crd_partial_finished(r->partial)[i]) continue;
        return crd_fail(CRD_ERR_SYSTEM,
                        "number %" PRId64
                        " of the %s was finished by another process and isn't in %s/.partial: do all machines see "
                        "this folder?",
                        i, r->finisher->items, r->path);
    }
    return CRD_OK;
}

static crd_status write_results(crd_predict_run *r, crd_predict_result *result)
{
    crd_status status = CRD_OK;
    char *probe = NULL;
    const double begun = crd_run_log_seconds(&r->log);
    CRD_TRY(r->finisher->commit(r));
    r->times.writing = crd_run_log_seconds(&r->log) - begun;
    CRD_TRY(crd_run_path(r->path, CRD_RUN_PROBE, &probe));
    CRD_TRY(crd_probes_write(r->probes, r->partial, r->scan, probe));
    const crd_record record = {.request = &r->request,
                               .fingerprints = &r->fingerprints,
                               .identity = r->identity,
                               .scan = r->scan,
                               .memory = &r->memory,
                               .seams = &r->seams,
                               .certificate = &r->certificate,
                               .match = &r->match,
                               .log = &r->log,
                               .partial = r->partial,
                               .times = &r->times,
                               .computed = r->all};
    CRD_TRY(crd_record_write(&record, r->path, result));
    r->finisher->close(r);
    crd_partial_close(&r->partial);
    CRD_TRY(crd_run_partial_remove(r->path));
    crd_run_log_event(&r->log, "done", "", "");
    if (r->outlet != NULL) CRD_TRY(crd_outlet_end(r->outlet, r->path));
done:
    crd_free(&probe);
    return status;
}

/* A device takes long to make ready: its own network is timed, once it is there. The order in which several give back
 * their results leaves no room for that. */
static bool times_own_network(const crd_predict_run *r)
{
    return r->unit_count > 0 && !r->request.backend->on_host && r->request.device.device_count <= 1;
}

static crd_status expect(crd_predict_run *r)
{
    double seconds = 0.0;
    if (!crd_predict_first(r)) return CRD_OK; /* the others begin meanwhile */
    if (r->unit_count > 0) CRD_PASS(crd_memory_plan_eta(&r->request, r->predictor, &seconds));
    tell_plan(r, seconds);
    return CRD_OK;
}

static crd_status prepare(crd_predict_run *r)
{
    CRD_PASS(prepare_scan(r));
    CRD_PASS(crd_norms_prepare(r));
    CRD_PASS(open_partial(r));
    CRD_PASS(crd_probes_create(&r->request, &r->probes));
    CRD_PASS(crd_sharing_open(r->dist, &r->request, r->units, r->unit_count, &r->sharing));
    if (!times_own_network(r)) CRD_PASS(expect(r));
    r->times.preparing = crd_run_log_seconds(&r->log);
    return CRD_OK;
}

/* What the processes of a job must agree on, and how they share their machines. */
static crd_status meet(crd_predict_run *r)
{
    crd_device_settings *device = &r->request.device;
    const bool on_host = r->request.backend->on_host;
    char text[256];
    int64_t threads;
    if (crd_dist_size(r->dist) == 1) return CRD_OK;
    CRD_PASS(crd_dist_agree_options(r->dist, &crd_predict_settings, r->request.options));
    CRD_PASS(crd_dist_describe(r->dist, text, (int64_t)sizeof text));
    crd_info(&r->log.monitor, "%s share the %s", text, r->request.seamless ? "tiles" : "rows of chunks");
    CRD_PASS(crd_dist_agree(r->dist, "devices", r->request.backend->name));
    if (on_host && device->isa == NULL) CRD_PASS(crd_dist_agree_isa(r->dist, &r->log.monitor, &device->isa));
    CRD_PASS(r->request.backend->describe(device, text, sizeof text));
    CRD_PASS(crd_dist_agree(r->dist, "devices", text));
    CRD_PASS(crd_dist_threads(r->dist, device->threads, &threads));
    device->threads = (int)threads;
    return CRD_OK;
}

/* What is finished and still under way is brought home first; the sentence says how to go on. */
static crd_status say_how_to_go_on(crd_predict_run *r)
{
    const crd_error error = *crd_last_error();
    if (r->finisher != NULL) (void)r->finisher->wait(r);
    crd_inspection_free(&r->inspection);
    if (strstr(error.message, "--overwrite") != NULL)
        return crd_error_adopt(&error); /* there is nothing to go on with */
    if (r->sink != NULL || r->partial == NULL || (crd_predict_first(r) && r->identity == NULL)) {
        return crd_error_adopt(&error);
    }
    return crd_fail(error.status, "%s; finished %s are kept, and the same command with --resume goes on in %s",
                    error.message, r->finisher->items, r->path);
}

/* Rank 0 makes and locks the folder. */
static crd_status open_folder(crd_predict_run *r)
{
    const crd_request *request = &r->request;
    const crd_predict_options *options = request->options;
    if (r->sink != NULL) {
        CRD_PASS(crd_outlet_make_folder(&r->own_folder));
        CRD_PASS(crd_outlet_open(request, r->sink, &r->outlet));
        r->request.outlet = r->outlet;
    }
    r->path = r->sink != NULL ? r->own_folder : options->output;
    const crd_run_target target = {.path = r->path,
                                   .resume = options->resume,
                                   .overwrite = options->overwrite,
                                   .name = request->name,
                                   .outputs = request->outputs,
                                   .output_count = request->output_count,
                                   .inputs = {options->scan, options->model, crd_request_mask_file(request)}};
    if (crd_predict_first(r)) CRD_PASS(crd_run_folder_open(&target, &r->log.monitor, &r->folder));
    CRD_PASS(crd_dist_broadcast(r->dist, &r->folder.complete, (int64_t)sizeof r->folder.complete));
    if (!crd_predict_first(r) || r->folder.complete || r->sink != NULL) return CRD_OK;
    return crd_run_folder_check_space(&r->folder, r->memory.disk_bytes);
}

/* A complete run is left as it is only if it is the one that is asked for. Its manifest says what it found. */
static crd_status check_complete(crd_predict_run *r, crd_predict_result *result)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    crd_manifest manifest = {0};
    if (!crd_predict_first(r)) return CRD_OK;
    CRD_TRY(open_scan(r, false));
    CRD_TRY(crd_norms_of_complete(r));
    CRD_TRY(identify(r));
    CRD_TRY(crd_run_path(r->path, CRD_RUN_MANIFEST, &path));
    CRD_TRY(crd_manifest_read(path, &manifest));
    CRD_TRY(crd_identity_check_complete(&manifest, path, r->identity));
    crd_record_result(&manifest, result);
    CRD_TRY(crd_run_partial_remove(r->path)); /* the run may have been killed while it did that */
    crd_info(&r->log.monitor,
             "%s is complete: there is nothing left to do; --overwrite would do it again, with the settings given now",
             r->path);
done:
    crd_manifest_free(&manifest);
    crd_free(&path);
    return status;
}

/* From the open folder to the volumes. */
static crd_status compute_all(crd_predict_run *r, crd_predict_result *result)
{
    CRD_PASS(prepare(r));
    if (r->unit_count > 0) {
        const double begun = crd_run_log_seconds(&r->log);
        CRD_PASS(start(r));
        if (times_own_network(r)) CRD_PASS(expect(r));
        r->times.starting = crd_run_log_seconds(&r->log) - begun;
        CRD_PASS(crd_predict_compute(r));
    }
    stop(r);
    CRD_PASS(note_shares(r));
    CRD_PASS(gather_finished(r));
    if (!crd_predict_first(r)) return CRD_OK;
    CRD_PASS(end_inspection(r));
    CRD_PASS(crd_certificate_make(r, &r->certificate));
    CRD_PASS(write_results(r, result));
    result->computed = r->all;
    return CRD_OK;
}

static crd_status run_all(crd_predict_run *r, const crd_predict_options *options, const crd_model *model,
                          crd_predict_result *result)
{
    CRD_PASS(r->sink != NULL ? crd_request_make_unfiled(options, model, &r->log.monitor, &r->request)
                             : crd_request_make(options, &r->log.monitor, &r->request));
    r->finisher = r->request.seamless ? &crd_finish_tiles : &crd_finish_slices;
    CRD_PASS(meet(r));
    CRD_PASS(crd_memory_plan_make(&r->request, crd_dist_place(r->dist), &r->memory));
    r->request.reading.cache_bytes = (size_t)r->memory.cache_bytes;
    CRD_PASS(open_folder(r));
    *result = (crd_predict_result){.chunks = r->request.chunks, .samples = r->request.samples};
    CRD_PASS(r->folder.complete ? check_complete(r, result) : compute_all(r, result));
    result->seconds = crd_run_log_seconds(&r->log);
    return crd_dist_broadcast(r->dist, result, (int64_t)sizeof *result);
}

static crd_status predict(const crd_predict_options *options, const crd_model *model, const crd_sink *sink,
                          const crd_monitor *monitor, crd_predict_result *out)
{
    crd_status status = CRD_OK;
    crd_predict_run *r = NULL;
    crd_predict_result result = {0};
    if (options->dry_run)
        return crd_fail(CRD_ERR_ARGUMENT, "a dry run is planned, not run: call crd_predict_plan_make");
    CRD_PASS(crd_alloc(1, sizeof *r, "the run", &r));
    r->dist = crd_dist_current();
    r->sink = sink;
    r->match = (crd_training_match){(double)NAN, (double)NAN, (double)NAN};
    crd_run_log_begin(crd_dist_watch(r->dist, monitor), &r->log);
    status = run_all(r, options, model, &result);
    if (status != CRD_OK) {
        crd_dist_fail(r->dist);
        status = say_how_to_go_on(r);
    }
    stop(r);
    (void)crd_dist_watch(r->dist, NULL);
    if (status == CRD_OK && out != NULL) *out = result;
    crd_inspection_free(&r->inspection);
    crd_probes_free(&r->probes);
    if (r->finisher != NULL) r->finisher->close(r);
    crd_partial_close(&r->partial);
    crd_scan_close(&r->scan);
    crd_run_folder_close(&r->folder);
    crd_free(&r->identity);
    crd_free(&r->units);
    crd_free(&r->inside);
    crd_free(&r->moments);
    crd_run_log_end(&r->log);
    crd_outlet_close(&r->outlet);
    if (r->own_folder != NULL) crd_outlet_remove_folder(r->own_folder);
    crd_free(&r->own_folder);
    crd_request_free(&r->request);
    crd_free(&r);
    return status;
}

crd_status crd_predict(const crd_predict_options *options, const crd_monitor *monitor, crd_predict_result *out)
{
    crd_predict_options whole;
    CRD_PASS(crd_settings_whole(&crd_predict_settings, options, &whole));
    const crd_status status = predict(&whole, NULL, NULL, monitor, out);
    crd_settings_whole_free(&crd_predict_settings, options, &whole);
    return status;
}

static crd_status check_sink(const crd_predict_options *options)
{
    if (options->output != NULL || options->resume) {
        return crd_fail(CRD_ERR_ARGUMENT, "output: results that go to a sink have no run folder; leave it out, or call "
                                          "crd_predict");
    }
    if (crd_cluster_size() > 1) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "a sink takes the results of one process, not of a job of several");
    }
    return CRD_OK;
}

crd_status crd_predict_to(const crd_predict_options *options, const crd_model *model, const crd_sink *sink,
                          const crd_monitor *monitor, crd_predict_result *out)
{
    crd_predict_options whole;
    CRD_PASS(crd_settings_whole(&crd_predict_settings, options, &whole));
    crd_status status = check_sink(&whole);
    if (status == CRD_OK) status = predict(&whole, model, sink, monitor, out);
    crd_settings_whole_free(&crd_predict_settings, options, &whole);
    return status;
}
