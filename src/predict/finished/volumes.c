#include "predict/finished/volumes.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/queue.h"
#include "volume/zarr/zarr.h"

enum {
    BATCH_VOXELS = 4 << 20, /* read and written at once */
    TOGETHER = 4,           /* volumes that are written at the same time, each by a thread */
    STRIPS = 16,            /* parts of the depth in which seams are measured meanwhile */
    MOST_BYTES = 128 << 20, /* of slices in memory: what the network has given back by then */
    LISTEN_MILLISECONDS = 100
};

void crd_output_convert(const crd_output *output, const float *values, int64_t count, void *to)
{
    const double steps = (output->type == CRD_U8 ? 255.0 : 65535.0) / output->largest;
    if (output->cut) {
        for (int64_t i = 0; i < count; i++) ((uint8_t *)to)[i] = values[i] > 0.5f;
    } else if (output->type == CRD_U8) {
        for (int64_t i = 0; i < count; i++) ((uint8_t *)to)[i] = (uint8_t)lrint((double)values[i] * steps);
    } else {
        for (int64_t i = 0; i < count; i++) ((uint16_t *)to)[i] = (uint16_t)lrint((double)values[i] * steps);
    }
}

/* Marks the coordinates of the box before which a window's kept part begins or ends. */
static crd_status mark_seams(const crd_request *request, uint8_t *seams[3])
{
    for (int axis = 0; axis < 3; axis++) {
        const crd_axis_plan *plan = &request->plan.axes[axis];
        const int64_t origin = request->box.origin[axis], size = request->box.size[axis];
        CRD_PASS(crd_alloc(size, 1, "the seams", &seams[axis]));
        for (int64_t i = 0; i < plan->count; i++) {
            int64_t edge[2];
            crd_axis_keep(plan, i, &edge[0], &edge[1]);
            for (int k = 0; k < 2; k++) {
                const int64_t at = edge[k] - origin;
                if (at > 0 && at < size) seams[axis][at] = 1;
            }
        }
    }
    return CRD_OK;
}

static void measure_slice(const crd_request *request, uint8_t *const seams[3], const float *slice, crd_seams *sums)
{
    const int64_t height = request->box.size[1], width = request->box.size[2];
    for (int64_t y = 0; y < height; y++) {
        const float *line = slice + y * width;
        int64_t next;
        for (int64_t x = 1; x < width; x = next) {
            for (next = x + 1; next < width && seams[2][next] == seams[2][x];) next++;
            crd_seams_add(line + x, line + x - 1, next - x, seams[2][x], sums);
        }
        if (y > 0) crd_seams_add(line, line - width, width, seams[1][y], sums);
    }
}

/* Threads write and measure; the calling one listens to the monitor meanwhile, since a volume may take long and a stop
 * is wanted soon. */
typedef struct writing {
    const crd_request *request;
    const crd_slices_source *source; /* NULL: the finished slices, */
    crd_partial *partial;            /* which are also measured */
    const char *folder;
    crd_pool *pool;
    const crd_monitor *monitor; /* where the calling thread measures itself; else NULL */
    uint8_t *seams[3];
    int64_t batch;  /* slices */
    int64_t volume; /* the first of those at work */
    int64_t volumes;
    crd_seams sums[STRIPS];
    atomic_bool stop;      /* asked for, or something failed */
    atomic_llong finished; /* volumes */
    crd_error error;       /* the first: of whoever set `stop` */
} writing;

static crd_status check_stop(const writing *w)
{
    return atomic_load(&w->stop) ? crd_fail(CRD_ERR_CANCELLED, "stopped") : CRD_OK;
}

/* Slices [begin, end) of the probability, and the steps to them from the slice before. */
static crd_status measure_strip(const writing *w, int64_t begin, int64_t end, crd_seams *sums)
{
    crd_status status = CRD_OK;
    const int64_t voxels = w->request->box.size[1] * w->request->box.size[2];
    float *slice = NULL, *before = NULL;
    memset(sums, 0, sizeof *sums);
    CRD_TRY(crd_alloc(voxels, sizeof *slice, "a slice", &slice));
    CRD_TRY(crd_alloc(voxels, sizeof *before, "a slice", &before));
    if (begin > 0) CRD_TRY(crd_partial_read(w->partial, w->request->outputs[0].quantity, begin - 1, 1, before));
    for (int64_t z = begin; z < end; z++) {
        CRD_TRY(check_stop(w));
        CRD_TRY(crd_advance(w->monitor, "measuring the seams", "slices", z, end, NULL));
        CRD_TRY(crd_partial_read(w->partial, w->request->outputs[0].quantity, z, 1, slice));
        measure_slice(w->request, w->seams, slice, sums);
        if (z > 0) crd_seams_add(slice, before, voxels, w->seams[0][z], sums);
        float *const kept = before;
        before = slice;
        slice = kept;
    }
done:
    crd_free(&slice);
    crd_free(&before);
    return status;
}

void crd_output_info(const crd_request *request, const crd_output *output, crd_volume_info *info)
{
    *info = request->scan;
    for (int axis = 0; axis < 3; axis++) {
        info->shape[axis] = request->box.size[axis];
        info->origin[axis] += request->box.origin[axis];
    }
    info->type = output->type;
    info->scale = output->scale;
}

/* `count` slices as the volume holds them: in one of the two buffers. */
static crd_status read_slices(const writing *w, const crd_output *output, int64_t first, int64_t count, void *values,
                              uint16_t *converted, const void **voxels)
{
    const int64_t slice = w->request->box.size[1] * w->request->box.size[2];
    *voxels = values;
    if (w->source != NULL) {
        return w->source->read(w->source->context, output - w->request->outputs, first, count, values);
    }
    CRD_PASS(crd_partial_read(w->partial, output->quantity, first, count, values));
    if (!output->cut && output->type == w->request->quantities[output->quantity].stored) return CRD_OK;
    crd_output_convert(output, values, count * slice, converted);
    *voxels = converted;
    return CRD_OK;
}

static crd_status fill_volume(const writing *w, const crd_output *output, crd_volume *volume)
{
    crd_status status = CRD_OK;
    const crd_box *box = &w->request->box;
    const int64_t slice = box->size[1] * box->size[2];
    const void *voxels;
    void *values = NULL;        /* as they lie among the finished slices: any stored type */
    uint16_t *converted = NULL; /* as they are written, where that is another type */
    CRD_TRY(crd_alloc(w->batch * slice, crd_type_size(output->type) == 8 ? sizeof(uint64_t) : sizeof(float),
                      "slices of a volume", &values));
    CRD_TRY(crd_alloc(w->batch * slice, sizeof *converted, "slices of a volume", &converted));
    for (int64_t z = 0; z < box->size[0]; z += w->batch) {
        const int64_t count = box->size[0] - z < w->batch ? box->size[0] - z : w->batch;
        const crd_box target = {{z, 0, 0}, {count, box->size[1], box->size[2]}};
        CRD_TRY(check_stop(w));
        CRD_TRY(read_slices(w, output, z, count, values, converted, &voxels));
        CRD_TRY(crd_volume_write(volume, &target, voxels));
    }
done:
    crd_free(&values);
    crd_free(&converted);
    return status;
}

static bool packs(const char *format)
{
    return strcmp(format, crd_format_hdf5.name) == 0 || crd_zarr_version(format) != 0;
}

static crd_status write_volume(writing *w, const crd_output *output)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    char *path = NULL;
    crd_volume_info info;
    crd_output_info(w->request, output, &info);
    const bool bits = output->role == CRD_OUTPUT_SAMPLE_BITS; /* most voxels are unanimous, so they pack well */
    const crd_volume_options options = {.format = w->request->format, .compress = bits && packs(w->request->format)};
    CRD_TRY(crd_join_path(w->folder, output->file, "", &path));
    CRD_TRY(crd_volume_create(path, &info, &options, &volume));
    CRD_TRY(fill_volume(w, output, volume));
    CRD_TRY(crd_volume_commit(volume));
    atomic_fetch_add(&w->finished, 1);
done:
    crd_volume_close(&volume);
    crd_free(&path);
    return status;
}

/* Ends the writing; the first cause counts. Errors are of a thread, so it is kept. */
static void fail(writing *w)
{
    if (!atomic_exchange(&w->stop, true)) w->error = *crd_last_error();
}

/* Items are the volumes at work, then strips to measure. */
static void work_on(void *context, int64_t item, int worker)
{
    writing *w = context;
    const int64_t depth = w->request->box.size[0], strip = item - w->volumes;
    (void)worker;
    if (atomic_load(&w->stop)) return;
    const crd_status status =
        strip < 0 ? write_volume(w, &w->request->outputs[w->volume + item])
                  : measure_strip(w, depth * strip / STRIPS, depth * (strip + 1) / STRIPS, &w->sums[strip]);
    if (status != CRD_OK) fail(w);
}

/* The only item of a queue. */
static crd_status work_on_all(void *context, int64_t item, int thread)
{
    writing *w = context;
    const int64_t count = w->request->output_count;
    (void)item;
    (void)thread;
    for (; w->volume < count; w->volume += w->volumes) {
        w->volumes = count - w->volume < TOGETHER ? count - w->volume : TOGETHER;
        crd_pool_run(w->pool, w->volumes + (w->volume == 0 && w->partial != NULL ? STRIPS : 0), work_on, w);
    }
    return CRD_OK; /* what failed is in `error` */
}

static crd_status report(writing *w, const crd_monitor *monitor)
{
    return crd_advance(monitor, "writing the volumes", "volumes", atomic_load(&w->finished), w->request->output_count,
                       NULL);
}

/* Returns when no thread works any more. */
static crd_status write_and_listen(writing *w, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_queue *queue = NULL;
    const crd_queue_plan plan = {.what = "writes the volumes", .threads = 1, .context = w, .work = work_on_all};
    CRD_TRY(report(w, monitor));
    CRD_TRY(crd_queue_open(&plan, &queue));
    crd_queue_allow(queue, 1);
    while (!crd_queue_wait_a_while(queue, 1, LISTEN_MILLISECONDS)) {
        if (!atomic_load(&w->stop) && report(w, monitor) != CRD_OK) fail(w);
    }
    status = atomic_load(&w->stop) ? crd_error_adopt(&w->error) : report(w, monitor);
done:
    crd_queue_close(&queue);
    return status;
}

/* As many threads as slices may be in memory, two for each. */
static crd_status make_pool(const crd_request *request, crd_pool **pool)
{
    const int64_t pair = 2 * request->box.size[1] * request->box.size[2] * (int64_t)sizeof(float);
    const int64_t most = pair < MOST_BYTES ? MOST_BYTES / pair : 1;
    CRD_PASS(crd_pool_create(request->device.threads, pool));
    if (crd_pool_threads(*pool) <= most) return CRD_OK;
    crd_pool_free(pool);
    return crd_pool_create((int)most, pool);
}

static crd_status write_all(writing *w, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    const crd_request *request = w->request;
    const int64_t slice = request->box.size[1] * request->box.size[2];
    w->batch = BATCH_VOXELS / slice > 0 ? BATCH_VOXELS / slice : 1;
    if (w->batch > request->box.size[0]) w->batch = request->box.size[0];
    CRD_TRY(make_pool(request, &w->pool));
    CRD_TRY(write_and_listen(w, monitor));
done:
    crd_pool_free(&w->pool);
    return status;
}

crd_status crd_volumes_copy(const crd_request *request, const crd_slices_source *source, const char *folder,
                            const crd_monitor *monitor)
{
    writing w = {.request = request, .source = source, .folder = folder};
    return write_all(&w, monitor);
}

crd_status crd_volumes_write(const crd_request *request, crd_partial *partial, const char *folder,
                             const crd_monitor *monitor, crd_seams *sums)
{
    crd_status status = CRD_OK;
    writing w = {.request = request, .partial = partial, .folder = folder};
    memset(sums, 0, sizeof *sums);
    CRD_TRY(mark_seams(request, w.seams));
    CRD_TRY(write_all(&w, monitor));
    for (int i = 0; i < STRIPS; i++) {
        sums->seam_sum += w.sums[i].seam_sum;
        sums->seam_count += w.sums[i].seam_count;
        sums->other_sum += w.sums[i].other_sum;
        sums->other_count += w.sums[i].other_count;
    }
done:
    for (int axis = 0; axis < 3; axis++) crd_free(&w.seams[axis]);
    return status;
}

crd_status crd_volumes_measure(const crd_request *request, crd_partial *partial, const crd_monitor *monitor,
                               crd_seams *sums)
{
    crd_status status = CRD_OK;
    writing w = {.request = request, .partial = partial, .monitor = monitor};
    CRD_TRY(mark_seams(request, w.seams));
    CRD_TRY(measure_strip(&w, 0, request->box.size[0], sums));
done:
    for (int axis = 0; axis < 3; axis++) crd_free(&w.seams[axis]);
    return status;
}
