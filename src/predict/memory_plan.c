#include "predict/memory_plan.h"

#include <stdio.h>
#include <string.h>

#include "backend/several.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "chunk/pieces.h"
#include "predict/finished/probe.h"
#include "predict/finished/writer.h"
#include "predict/reader.h"
#include "predict/sums/accumulate.h"
#include "predict/sums/shared_slices.h"
#include "predict/tiles/writer.h"
#include "predict/work.h"

static const int64_t mebibyte = 1 << 20;
/* What a run takes at most where nobody sets a limit and less will do. Tiles have no sums, and with what a GPU's own
 * software takes of the host they should stay below 3 GiB. */
static const int64_t moderate = (int64_t)4 << 30, moderate_tiled = (int64_t)5 << 29;
/* Code, libraries, stacks, and what the C library keeps in reserve. */
static const int64_t base_bytes = 48 << 20;
static const int64_t least_cache = 8 << 20, most_cache = 256 << 20;

crd_status crd_memory_parse(const char *text, int64_t *out)
{
    if (text == NULL || text[0] == '\0' || strcmp(text, "auto") == 0) {
        *out = crd_available_memory() / 4 * 3;
        return CRD_OK;
    }
    return crd_parse_bytes(text, "max-memory", out);
}

/* At most, as good as certainly: they are scattered over the scan. */
static int64_t probes_in_chunk(const crd_request *request, int64_t chunk_voxels)
{
    const int64_t *shape = request->scan.shape;
    const double share = (double)chunk_voxels / ((double)shape[0] * (double)shape[1] * (double)shape[2]);
    const double expected = share < 1.0 ? share * CRD_PROBE_COUNT : CRD_PROBE_COUNT;
    return (int64_t)(1.5 * expected) + 256;
}

/* Everything that must be in memory at once, but for the tiles of sums and the scan's caches. */
static crd_status fixed_bytes(const crd_request *request, const int64_t chunk[3], int memory_saving, int64_t *out)
{
    crd_predictor_plan plan;
    int64_t host, device;
    const int64_t voxels = chunk[0] * chunk[1] * chunk[2];
    crd_request_predictor(request, &plan);
    crd_request_keep(request, &plan);
    memcpy(plan.chunk, chunk, sizeof plan.chunk);
    plan.memory_saving = memory_saving;
    CRD_PASS(request->backend->predictor_bytes(&request->device, &plan, &host, &device));
    *out = base_bytes + host + request->model->net.model.total * (int64_t)sizeof(float);
    *out += voxels * (CRD_READER_BUFFERS * (int64_t)sizeof(float) + (int64_t)crd_type_size(request->scan.type));
    if (request->options->mask != NULL) *out += 10 * voxels; /* bytes, and the floats they are read as, twice */
    if (request->seamless) {
        *out += crd_tile_writer_bytes(request) + crd_tile_files_bytes(request);
        *out += request->chunks * (crd_tile_sums(request) + 2) * 8;
    } else {
        *out += CRD_WRITER_BUFFERS * crd_slice_bytes(request) + crd_accumulator_bytes(request);
        *out += 3 * request->box.size[0] * (crd_slice_sums(request) + 2) * 8;
        if (crd_growing_volumes_wanted(request)) *out += crd_growing_volumes_bytes(request);
    }
    *out += CRD_PROBE_COUNT * 40 +
            2 * probes_in_chunk(request, voxels) * request->samples * request->planes * (int64_t)sizeof(float);
    return CRD_OK;
}

static int64_t cache_for(int64_t limit)
{
    const int64_t share = limit / 32;
    return share < least_cache ? least_cache : share > most_cache ? most_cache : share;
}

typedef struct division {
    int64_t depth;  /* slices of the slab */
    int64_t all;    /* bytes of all tiles of the slab's sums */
    int64_t least;  /* of those that must be in memory */
    int64_t beside; /* of caches, and what the slab needs to know where its tiles are */
} division;

static crd_status divide(const crd_request *request, int64_t limit, division *out)
{
    crd_slab_shape shape;
    crd_slab_tiles tiles;
    *out = (division){.beside = 2 * cache_for(limit)};
    if (request->seamless) return CRD_OK;
    crd_accumulator_shape(request, &shape);
    CRD_PASS(crd_slab_divide(&shape, &tiles));
    out->depth = shape.depth;
    out->all = tiles.total * tiles.bytes;
    out->least = CRD_SLAB_LEAST_TILES * tiles.bytes;
    if (out->least > out->all) out->least = out->all;
    out->beside += crd_slab_overhead(&tiles);
    return CRD_OK;
}

/* What the run can't do with less than. */
static crd_status least_bytes(const crd_request *request, int64_t limit, int64_t *out)
{
    division sums;
    const crd_axis_plan *axes = request->plan.axes;
    CRD_PASS(divide(request, limit, &sums));
    CRD_PASS(
        fixed_bytes(request, (int64_t[]){axes[0].window, axes[1].window, axes[2].window}, CRD_MEMORY_SAVING_MOST, out));
    *out += sums.beside + sums.least;
    return CRD_OK;
}

/* The largest of some smaller chunks that fits the limit, else the one that needs least. */
static crd_status find_smaller(const crd_request *request, int64_t limit, int64_t chunk[3], int64_t *bytes)
{
    const int64_t step = crd_net_step(&request->model->net);
    crd_request other;
    *bytes = INT64_MAX;
    for (int sixteenths = 15; sixteenths > 0 && *bytes > limit; sixteenths--) {
        int64_t edges[3], needed;
        for (int axis = 0; axis < 3; axis++) {
            const crd_axis_plan *plan = &request->plan.axes[axis];
            const int64_t edge = (request->seamless ? plan->stride : plan->window) * sixteenths / 16 / step * step;
            const int64_t smallest = request->halo > step ? request->halo : step;
            edges[axis] = edge < smallest ? smallest : edge;
        }
        CRD_PASS(crd_request_with_chunk(request, edges, &other));
        if (other.plan.count > UINT32_MAX) break; /* more than a run can have */
        CRD_PASS(least_bytes(&other, limit, &needed));
        if (needed >= *bytes) continue;
        *bytes = needed;
        memcpy(chunk, edges, sizeof edges);
    }
    return CRD_OK;
}

/* The run can't be done within the limit: says so, and which chunk or tile would do. */
static crd_status refuse(const crd_request *request, int64_t limit)
{
    int64_t needed, edges[3] = {0}, bytes;
    const char *what = request->seamless ? "tile" : "chunk";
    const crd_axis_plan *axes = request->plan.axes;
    char smaller[128];
    CRD_PASS(least_bytes(request, limit, &needed));
    CRD_PASS(find_smaller(request, limit, edges, &bytes));
    if (bytes >= needed) {
        snprintf(smaller, sizeof smaller, "no smaller %s needs less", what);
    } else {
        const char *none =
            request->seamless ? "no tile is small enough for that, even" : "no chunk is small enough for that, even";
        snprintf(smaller, sizeof smaller, "%s %lld,%lld,%lld would need %lld MiB", bytes <= limit ? what : none,
                 (long long)edges[0], (long long)edges[1], (long long)edges[2], (long long)(bytes / mebibyte + 1));
    }
    for (int axis = 0; axis < 3; axis++) edges[axis] = request->seamless ? axes[axis].stride : axes[axis].window;
    return crd_fail(
        CRD_ERR_MEMORY,
        "the run needs %lld MiB of memory with %s %lld,%lld,%lld (z,y,x) and max-memory allows %lld MiB; %s",
        (long long)(needed / mebibyte + 1), what, (long long)edges[0], (long long)edges[1], (long long)edges[2],
        (long long)(limit / mebibyte), smaller);
}

/* Sums that processes leave for each other: as many rows deep at a time as each may have around its bands. */
static crd_status edge_bytes(const crd_request *request, int64_t depth, int processes, int64_t *out)
{
    int64_t bytes;
    *out = 0;
    if (processes == 1 || request->seamless) return CRD_OK;
    CRD_PASS(crd_shared_slice_bytes(request, &bytes));
    return crd_product(bytes, depth, 2 * (int64_t)processes, out);
}

static bool automatic(const char *text)
{
    return text == NULL || text[0] == '\0' || strcmp(text, "auto") == 0;
}

/* What the run should do with. What lies beside the network, the sums above all, needs the memory more; and who sets no
 * limit gets a run of moderate size, or one that isn't much larger than it has to be. */
static crd_status enough_bytes(const crd_request *request, const int64_t chunk[3], int64_t beside, int64_t limit,
                               int64_t *out)
{
    const int64_t usual = request->seamless ? moderate_tiled : moderate;
    int64_t least;
    *out = limit;
    if (!automatic(request->options->max_memory)) return CRD_OK;
    CRD_PASS(fixed_bytes(request, chunk, CRD_MEMORY_SAVING_MOST, &least));
    least += beside;
    const int64_t modest = least < usual ? usual : least + least / 8;
    if (modest < limit) *out = modest;
    return CRD_OK;
}

/* How thrifty the network must be, and what is fixed then. */
static crd_status choose_memory_saving(const crd_request *request, const int64_t chunk[3], int64_t beside,
                                       int64_t enough, crd_memory_plan *plan, int64_t *fixed)
{
    for (plan->memory_saving = 0; plan->memory_saving < CRD_MEMORY_SAVING_MOST; plan->memory_saving++) {
        CRD_PASS(fixed_bytes(request, chunk, plan->memory_saving, fixed));
        if (*fixed + beside <= enough) return CRD_OK;
    }
    return fixed_bytes(request, chunk, CRD_MEMORY_SAVING_MOST, fixed);
}

/* Before the run takes its memory, the norms' statistics are measured in some. */
static crd_status plan_norms(const crd_request *request, crd_memory_plan *plan)
{
    crd_predictor_plan predictor;
    crd_pieces pieces = request->model->pieces;
    int64_t bytes;
    if (request->norms == CRD_NORMS_CHUNK || request->backend->norms_bytes == NULL) return CRD_OK;
    if (request->norms == CRD_NORMS_SCAN) {
        pieces.count = CRD_PIECES_WANTED;
        (void)crd_piece_size(request->scan.shape, crd_net_step(&request->model->net), pieces.size);
    }
    crd_request_predictor(request, &predictor);
    CRD_PASS(request->backend->norms_bytes(&request->device, &predictor, &pieces, &bytes));
    bytes += base_bytes + 2 * request->model->net.model.total * (int64_t)sizeof(float);
    if (bytes > plan->limit) {
        return crd_fail(CRD_ERR_MEMORY,
                        "measuring the norms' statistics takes %lld MiB of memory, and max-memory allows "
                        "%lld MiB; --mode overlap needs less",
                        (long long)(bytes / mebibyte + 1), (long long)(plan->limit / mebibyte));
    }
    if (bytes > plan->memory_bytes) plan->memory_bytes = bytes;
    return CRD_OK;
}

/* What lies on the disk while the run goes on, and what stays. */
static crd_status plan_disk(const crd_request *request, const crd_place *place, int64_t depth, crd_memory_plan *out)
{
    int64_t voxels, edges;
    CRD_PASS(crd_product(request->box.size[0], request->box.size[1], request->box.size[2], &voxels));
    if (request->seamless) {
        out->partial_bytes = crd_tile_files_spooled_bytes(request) + crd_tile_borders_bytes(request) +
                             request->chunks * (crd_tile_sums(request) + 3) * 8;
    } else {
        for (int64_t i = 0; i < request->quantity_count; i++) {
            if (request->quantities[i].passing) continue;
            out->partial_bytes += voxels * (int64_t)crd_type_size(request->quantities[i].stored);
        }
        out->partial_bytes += request->box.size[0] * (crd_slice_sums(request) + 3) * 8;
    }
    for (int64_t i = 0; i < request->output_count; i++) {
        out->result_bytes += voxels * (int64_t)crd_type_size(request->outputs[i].type) + 65536;
    }
    const int64_t probes =
        (voxels < CRD_PROBE_COUNT ? voxels : CRD_PROBE_COUNT) * request->samples * request->planes * 4;
    out->partial_bytes += probes;
    out->result_bytes += probes;
    out->scratch_bytes *= place->size;
    CRD_PASS(edge_bytes(request, depth, place->size, &edges));
    out->disk_bytes = out->partial_bytes + out->result_bytes + out->scratch_bytes + edges;
    return CRD_OK;
}

crd_status crd_memory_plan_make(const crd_request *request, const crd_place *place, crd_memory_plan *out)
{
    division sums;
    int64_t fixed, chunk[3], enough;
    memset(out, 0, sizeof *out);
    CRD_PASS(crd_memory_parse(request->options->max_memory, &out->limit));
    if (automatic(request->options->max_memory)) out->limit /= place->local_size;
    for (int axis = 0; axis < 3; axis++) chunk[axis] = request->plan.axes[axis].window;
    CRD_PASS(divide(request, out->limit, &sums));
    out->cache_bytes = cache_for(out->limit);
    const int64_t all = sums.all;
    CRD_PASS(enough_bytes(request, chunk, sums.beside + all, out->limit, &enough));
    CRD_PASS(choose_memory_saving(request, chunk, sums.beside + all, enough, out, &fixed));
    fixed += sums.beside;
    if (fixed + sums.least > out->limit) return refuse(request, out->limit);
    out->slab_bytes = out->limit - fixed < all ? out->limit - fixed : all;
    const int64_t kept = crd_chunk_reader_kept_bytes(request), room = request->seamless ? enough : out->limit;
    if (out->slab_bytes == all && kept <= room - fixed - all) out->kept_bytes = kept;
    out->memory_bytes = fixed + out->slab_bytes + out->kept_bytes;
    CRD_PASS(plan_norms(request, out));
    out->scratch_bytes = out->slab_bytes < all ? all : 0;
    return plan_disk(request, place, sums.depth, out);
}

/* Seconds for one chunk of zeros; the first one, which finds cold caches, doesn't count. */
static crd_status time_chunk(const crd_backend *backend, crd_predictor *predictor, const float *input, double *seconds)
{
    crd_chunk_result result;
    *seconds = 0.0;
    for (int i = 0; i < 3; i++) {
        const double start = crd_seconds();
        CRD_PASS(backend->predictor_submit(predictor, 0, input, NULL, 0));
        CRD_PASS(backend->predictor_collect(predictor, &result));
        const double taken = crd_seconds() - start;
        if (i == 1 || (i == 2 && taken < *seconds)) *seconds = taken;
    }
    return CRD_OK;
}

/* The same with a network made for it. */
static crd_status time_network(const crd_request *request, const crd_predictor_plan *plan, const float *input,
                               double *seconds)
{
    crd_status status = CRD_OK;
    crd_predictor *predictor = NULL;
    CRD_TRY(request->backend->predictor_create(&request->device, plan, &predictor));
    CRD_TRY(time_chunk(request->backend, predictor, input, seconds));
done:
    request->backend->predictor_free(&predictor);
    return status;
}

crd_status crd_memory_plan_eta(const crd_request *request, crd_predictor *predictor, double *seconds)
{
    static const int64_t largest[3] = {32, 64, 64};
    crd_status status = CRD_OK;
    crd_predictor_plan plan;
    float *input = NULL;
    double one, three;
    crd_request_predictor(request, &plan);
    plan.keep_samples = false;
    if (!request->backend->on_host) { /* fast, and its time is not a sum over samples: one whole chunk */
        CRD_TRY(crd_alloc(plan.chunk[0] * plan.chunk[1] * plan.chunk[2], sizeof *input, "a chunk", &input));
        CRD_TRY(predictor != NULL ? time_chunk(request->backend, predictor, input, &one)
                                  : time_network(request, &plan, input, &one));
        const int devices = crd_several_distinct(&request->device);
        *seconds = predictor != NULL ? one * (double)request->chunks
                                     : one * crd_run_work(request) / crd_chunk_work(plan.net, plan.chunk, plan.samples);
        *seconds /= devices > 1 ? devices : 1;
        goto done;
    }
    for (int axis = 0; axis < 3; axis++) {
        if (plan.chunk[axis] > largest[axis]) plan.chunk[axis] = largest[axis];
    }
    const double times = crd_run_work(request) / crd_chunk_work(plan.net, plan.chunk, request->samples);
    CRD_TRY(crd_alloc(plan.chunk[0] * plan.chunk[1] * plan.chunk[2], sizeof *input, "a chunk", &input));
    plan.samples = 1;
    CRD_TRY(time_network(request, &plan, input, &one));
    plan.samples = 3;
    CRD_TRY(time_network(request, &plan, input, &three));
    const double sample = three > one ? (three - one) / 2.0 : three / 3.0;
    *seconds = times * (one + (double)(request->samples - 1) * sample);
done:
    crd_free(&input);
    return status;
}
