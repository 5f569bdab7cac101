#include "chunk/scan.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/number.h"
#include "base/text.h"
#include "chunk/mask.h"
#include "chunk/normalise.h"
#include "chunk/recent_slices.h"
#include "volume/fingerprint.h"
#include "volume/format.h"
#include "volume/statistics.h"
#include "volume/types.h"
#include "volume/views/view.h"

struct crd_scan {
    char *path;
    crd_volume *volume;
    crd_volume *mask;          /* NULL for none; see chunk/mask.h */
    crd_recent_slices *recent; /* NULL: boxes are read from the volume directly */
    crd_norm_setting norm;
    crd_volume_statistics statistics;
    crd_volume *extended, *extended_mask; /* what is read in their place; NULL: themselves */
    double mean, std;
    float reach; /* farther from 0 no voxel lies */
    float fill;  /* the scan's own mean, normalised: stands for what is not a number or lies outside the mask */
    void *slab;  /* room for some slices as they are in the file */
    int64_t slab_bytes;
};

crd_status crd_norm_parse(const char *text, crd_norm_setting *out)
{
    const char *comma = strchr(text, ',');
    memset(out, 0, sizeof *out);
    if (strcmp(text, "scan") == 0) return CRD_OK;
    out->mode = CRD_NORM_LEVELS;
    if (strcmp(text, "levels") == 0) return CRD_OK;
    out->mode = CRD_NORM_PHASES;
    if (strcmp(text, "phases") == 0) return CRD_OK;
    out->mode = CRD_NORM_NONE;
    if (strcmp(text, "none") == 0) return CRD_OK;
    out->mode = CRD_NORM_FIXED;
    if (comma != NULL && crd_parse_real(text, (size_t)(comma - text), &out->mean) &&
        crd_parse_real(comma + 1, strlen(comma + 1), &out->std) && out->std > 0.0) {
        return CRD_OK;
    }
    return crd_fail(CRD_ERR_ARGUMENT,
                    "the normalisation is phases, levels, scan, none or MEAN,STD with STD above 0, not \"%s\"", text);
}

crd_status crd_check_norm(const char *name, const char *text)
{
    crd_norm_setting norm;
    if (crd_norm_parse(text, &norm) == CRD_OK) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s: %s", name, crd_last_error()->message);
}

void crd_norm_format(const crd_norm_setting *norm, char *text, size_t size)
{
    if (norm->mode == CRD_NORM_FIXED) {
        char mean[CRD_NUMBER_BYTES], std[CRD_NUMBER_BYTES];
        snprintf(text, size, "%s,%s", crd_short_number(norm->mean, 17, mean), crd_short_number(norm->std, 17, std));
    } else {
        static const char *const names[] = {[CRD_NORM_SCAN] = "scan",
                                            [CRD_NORM_NONE] = "none",
                                            [CRD_NORM_LEVELS] = "levels",
                                            [CRD_NORM_PHASES] = "phases"};
        snprintf(text, size, "%s", names[norm->mode]);
    }
}

static crd_status count_outside(crd_volume *mask, int64_t *outside)
{
    crd_status status = CRD_OK;
    uint8_t *inside = NULL;
    const int64_t *shape = crd_volume_describe(mask)->shape, count = shape[1] * shape[2];
    *outside = 0;
    CRD_TRY(crd_alloc(count, 1, "a slice of the mask", &inside));
    for (int64_t z = 0; z < shape[0]; z++) {
        const crd_box slice = {{z, 0, 0}, {1, shape[1], shape[2]}};
        CRD_TRY(crd_volume_read(mask, &slice, CRD_U8, inside));
        for (int64_t i = 0; i < count; i++) *outside += !inside[i];
    }
done:
    crd_free(&inside);
    return status;
}

bool crd_scan_needs_statistics(const crd_scan *scan)
{
    const bool fixed = scan->norm.mode == CRD_NORM_NONE || scan->norm.mode == CRD_NORM_FIXED;
    return !fixed || scan->mask != NULL || !crd_type_is_integer(scan->volume->info.type);
}

crd_status crd_scan_measure(crd_scan *scan, const crd_monitor *monitor, crd_volume_statistics *out,
                            char fingerprint[CRD_SHA256_TEXT])
{
    crd_status status = CRD_OK;
    crd_volume *masked = NULL;
    int64_t outside;
    crd_measure_wish wish = {.levels = crd_norm_by_levels(&scan->norm),
                             .phases = scan->norm.mode == CRD_NORM_PHASES,
                             .small_boxes = !crd_scan_needs_statistics(scan), /* other work needn't wait for this */
                             .fingerprint = fingerprint};
    if (scan->mask == NULL) return crd_volume_measure_also(scan->volume, &wish, monitor, out);
    wish.fingerprint = NULL; /* it is of all voxels */
    if (fingerprint != NULL) fingerprint[0] = '\0';
    CRD_TRY(crd_view_masked(scan->volume, scan->mask, &masked));
    CRD_TRY(crd_volume_measure_also(masked, &wish, monitor, out));
    CRD_TRY(count_outside(scan->mask, &outside));
    out->nonfinite -= outside;
done:
    crd_volume_close(&masked);
    return status;
}

crd_status crd_scan_fingerprint(crd_scan *scan, const char *stage, const crd_monitor *monitor,
                                char fingerprint[CRD_SHA256_TEXT])
{
    return crd_volume_fingerprint(scan->volume, stage, monitor, fingerprint);
}

static crd_status check_statistics(const crd_scan *scan, const crd_monitor *monitor)
{
    const crd_volume_statistics *statistics = &scan->statistics;
    if (statistics->nonfinite > 0) {
        crd_warn(monitor, "%s holds %" PRId64 " voxels that are not finite numbers; they count as the mean", scan->path,
                 statistics->nonfinite);
    }
    if (statistics->count > 0) return CRD_OK;
    return crd_fail(CRD_ERR_FORMAT, "%s has no voxel with a finite value%s", scan->path,
                    scan->mask != NULL ? " inside the mask" : "");
}

crd_status crd_scan_settle(crd_scan *scan, const crd_volume_statistics *measured, const crd_monitor *monitor)
{
    const crd_norm_setting *norm = &scan->norm;
    const crd_volume_statistics *statistics = &scan->statistics;
    if (measured != NULL) {
        scan->statistics = *measured;
        CRD_PASS(check_statistics(scan, monitor));
    }
    if (norm->mode == CRD_NORM_NONE) {
        scan->mean = 0.0;
        scan->std = 1.0;
    } else if (norm->mode == CRD_NORM_FIXED) {
        scan->mean = norm->mean;
        scan->std = norm->std;
    } else {
        const bool levels = crd_norm_by_levels(norm);
        const double dark = statistics->levels[0], light = statistics->levels[1];
        scan->mean = levels ? dark / 2.0 + light / 2.0 : statistics->mean;
        scan->std = levels ? light / 2.0 - dark / 2.0 : sqrt(statistics->variance);
        if (!(scan->std > 0.0)) {
            scan->std = 1.0; /* every voxel becomes 0 */
            crd_warn(monitor, "%s is constant: every voxel is %g", scan->path, statistics->mean);
        }
    }
    scan->fill = (float)((statistics->mean - scan->mean) / scan->std);
    scan->reach = crd_norm_by_levels(norm) ? (float)CRD_LEVELS_REACH : FLT_MAX;
    if (scan->fill > scan->reach) scan->fill = scan->reach; /* outliers have dragged the mean along */
    if (scan->fill < -scan->reach) scan->fill = -scan->reach;
    return CRD_OK;
}

crd_status crd_scan_open(const char *path, const crd_scan_options *options, const crd_monitor *monitor, crd_scan **out)
{
    crd_status status = CRD_OK;
    crd_scan *scan = NULL;
    crd_volume_statistics statistics;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *scan, "the scan", &scan));
    CRD_TRY(crd_strdup(path, &scan->path));
    CRD_TRY(crd_volume_open(path, options->volume, monitor, &scan->volume));
    if (options->mask != NULL) {
        CRD_TRY(crd_mask_open(options->mask, crd_volume_describe(scan->volume)->shape, &scan->mask));
    }
    scan->norm = options->norm;
    scan->statistics.mean = scan->statistics.variance = (double)NAN;
    if (!options->unmeasured) {
        CRD_TRY(crd_scan_measure(scan, monitor, &statistics, NULL));
        CRD_TRY(crd_scan_settle(scan, &statistics, monitor));
    }
    *out = scan;
    scan = NULL;
done:
    crd_scan_close(&scan);
    return status;
}

crd_status crd_scan_reopen(const crd_scan *scan, crd_scan **out)
{
    crd_status status = CRD_OK;
    crd_scan *copy = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *copy, "the scan", &copy));
    CRD_TRY(crd_strdup(scan->path, &copy->path));
    CRD_TRY(crd_volume_open_again(scan->volume, &copy->volume));
    if (scan->mask != NULL) CRD_TRY(crd_volume_open_again(scan->mask, &copy->mask));
    copy->norm = scan->norm;
    copy->statistics = scan->statistics;
    copy->mean = scan->mean;
    copy->std = scan->std;
    copy->fill = scan->fill;
    copy->reach = scan->reach;
    if (scan->extended != NULL) CRD_TRY(crd_scan_extend(copy, crd_volume_describe(scan->extended)->shape));
    *out = copy;
    copy = NULL;
done:
    crd_scan_close(&copy);
    return status;
}

void crd_scan_close(crd_scan **pointer)
{
    crd_scan *scan = *pointer;
    if (scan == NULL) return;
    crd_recent_slices_free(&scan->recent);
    crd_volume_close(&scan->extended);
    crd_volume_close(&scan->extended_mask);
    crd_volume_close(&scan->volume);
    crd_volume_close(&scan->mask);
    crd_free(&scan->path);
    crd_free(&scan->slab);
    crd_free(pointer);
}

crd_status crd_scan_extend(crd_scan *scan, const int64_t extent[3])
{
    if (memcmp(extent, crd_volume_describe(scan->volume)->shape, sizeof(int64_t[3])) == 0) return CRD_OK;
    if (scan->mask != NULL) CRD_PASS(crd_view_mirrored(scan->mask, extent, &scan->extended_mask));
    return crd_view_mirrored(scan->volume, extent, &scan->extended);
}

static crd_volume *read_from(const crd_scan *scan)
{
    return scan->extended != NULL ? scan->extended : scan->volume;
}

crd_status crd_scan_keep(crd_scan *scan, const crd_box *region, int64_t depth)
{
    crd_recent_slices_free(&scan->recent);
    return crd_recent_slices_create(read_from(scan), region, depth, &scan->recent);
}

const crd_volume_info *crd_scan_info(const crd_scan *scan)
{
    return crd_volume_describe(scan->volume);
}

const crd_volume_statistics *crd_scan_statistics(const crd_scan *scan)
{
    return &scan->statistics;
}

void crd_scan_normalisation(const crd_scan *scan, double *mean, double *std)
{
    *mean = scan->mean;
    *std = scan->std;
}

bool crd_scan_masked(const crd_scan *scan)
{
    return scan->mask != NULL;
}

crd_status crd_scan_read_mask(crd_scan *scan, const crd_box *box, uint8_t *inside)
{
    crd_volume *mask = scan->extended_mask != NULL ? scan->extended_mask : scan->mask;
    if (mask != NULL) return crd_volume_read(mask, box, CRD_U8, inside);
    memset(inside, 1, (size_t)(box->size[0] * box->size[1] * box->size[2]));
    return CRD_OK;
}

int64_t crd_scan_slices_at_once(const crd_scan *scan, const crd_box *box, int64_t z)
{
    return crd_volume_slices_at_once(read_from(scan), z, box->origin[0] + box->size[0], box->size[1] * box->size[2]);
}

static crd_status make_room(crd_scan *scan, int64_t bytes)
{
    if (bytes <= scan->slab_bytes) return CRD_OK;
    crd_free(&scan->slab);
    scan->slab_bytes = 0;
    CRD_PASS(crd_alloc(bytes, 1, "some slices of the scan", &scan->slab));
    scan->slab_bytes = bytes;
    return CRD_OK;
}

/* Some slices at a time, so that the file's own voxels don't leave the processor's caches before they are floats. */
static crd_status read_slabs(crd_scan *scan, const crd_normaliser *n, const crd_box *box, float *voxels)
{
    const crd_type type = crd_volume_describe(scan->volume)->type;
    const int64_t slice = box->size[1] * box->size[2], end = box->origin[0] + box->size[0];
    crd_box slab = *box;
    for (int64_t z = box->origin[0]; z < end; z += slab.size[0]) {
        slab.origin[0] = z;
        slab.size[0] = crd_scan_slices_at_once(scan, box, z);
        CRD_PASS(make_room(scan, slab.size[0] * slice * (int64_t)crd_type_size(type)));
        CRD_PASS(crd_volume_read(read_from(scan), &slab, type, scan->slab));
        crd_normalise(n, type, scan->slab, slab.size[0] * slice, voxels + (z - box->origin[0]) * slice);
    }
    return CRD_OK;
}

crd_status crd_scan_read(crd_scan *scan, const crd_box *box, float *voxels)
{
    crd_status status = CRD_OK;
    uint8_t *inside = NULL;
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    const crd_normaliser n = {scan->mean, 1.0 / scan->std, scan->fill, scan->reach};
    if (scan->recent != NULL && crd_recent_slices_covers(scan->recent, box)) {
        CRD_TRY(crd_recent_slices_read(scan->recent, &n, box, voxels));
    } else {
        CRD_TRY(read_slabs(scan, &n, box, voxels));
    }
    if (scan->mask != NULL) {
        const float fill = n.fill;
        CRD_TRY(crd_alloc(count, 1, "a part of the mask", &inside));
        CRD_TRY(crd_scan_read_mask(scan, box, inside));
        for (int64_t i = 0; i < count; i++) voxels[i] = inside[i] ? voxels[i] : fill;
    }
done:
    crd_free(&inside);
    return status;
}
