/* A scan as the network sees it: normalised, cleaned of what is not a number, and masked.
 *
 * Used by training and prediction alike, so that both see the same floats. Reading is by box, from disk, on demand. */
#ifndef CRD_CHUNK_SCAN_H
#define CRD_CHUNK_SCAN_H

#include <stdbool.h>

#include "base/hash/sha256.h"
#include "credence/volume.h"

typedef enum crd_norm_mode {
    CRD_NORM_SCAN = 0, /* mean 0, deviation 1 over the scan */
    CRD_NORM_NONE = 1,
    CRD_NORM_FIXED = 2,
    CRD_NORM_LEVELS = 3, /* the scan's two grey levels by Otsu's threshold (volume/levels.h) become -1 and 1 */
    CRD_NORM_PHASES = 4  /* those of two phases do */
} crd_norm_mode;
enum { CRD_LEVELS_REACH = 16 };

typedef struct crd_norm_setting {
    crd_norm_mode mode;
    double mean, std; /* CRD_NORM_FIXED */
} crd_norm_setting;

/* Whether two grey levels are what counts. */
static inline bool crd_norm_by_levels(const crd_norm_setting *norm)
{
    return norm->mode == CRD_NORM_LEVELS || norm->mode == CRD_NORM_PHASES;
}
/* "phases", "levels", "scan", "none" or "MEAN,STD". */
crd_status crd_norm_parse(const char *text, crd_norm_setting *out);
/* The same as the check of a setting. */
crd_status crd_check_norm(const char *name, const char *text);
/* The text that crd_norm_parse reads back to the same setting. */
void crd_norm_format(const crd_norm_setting *norm, char *text, size_t size);

typedef struct crd_scan crd_scan;

typedef struct crd_scan_options {
    const crd_volume_options *volume; /* raw shape and type, cache; may be NULL */
    crd_norm_setting norm;
    const char *mask; /* NULL, "cylinder", or a volume file: nonzero = inside */
    bool unmeasured;  /* opened only: nothing can be read before crd_scan_settle, but the scan may be measured */
} crd_scan_options;

/* Opens, measures and settles. */
crd_status crd_scan_open(const char *path, const crd_scan_options *options, const crd_monitor *monitor, crd_scan **out);

/* One pass over the whole scan: statistics over the voxels inside the mask, and the scan's fingerprint where it is
 * wanted (not NULL), voxels outside the mask included. That is left "" where it would take another pass. */
crd_status crd_scan_measure(crd_scan *scan, const crd_monitor *monitor, crd_volume_statistics *out,
                            char fingerprint[CRD_SHA256_TEXT]);
/* Decides on the normalisation by the scan's statistics, and says what was understood: voxels that are not numbers, a
 * constant scan. `statistics` may be NULL where crd_scan_needs_statistics says no; they can still be given later. */
crd_status crd_scan_settle(crd_scan *scan, const crd_volume_statistics *statistics, const crd_monitor *monitor);
/* Whether any voxel of crd_scan_read depends on the scan's statistics. */
bool crd_scan_needs_statistics(const crd_scan *scan);
/* crd_volume_fingerprint of the scan. */
crd_status crd_scan_fingerprint(crd_scan *scan, const char *stage, const crd_monitor *monitor,
                                char fingerprint[CRD_SHA256_TEXT]);

/* The same scan again, for another thread, without measuring anew. */
crd_status crd_scan_reopen(const crd_scan *scan, crd_scan **out);
void crd_scan_close(crd_scan **scan);

/* From now on the scan can be read beyond its far ends, up to `extent`, where it goes on as in a mirror (numpy's
 * "reflect"). What crd_scan_info says stays. */
crd_status crd_scan_extend(crd_scan *scan, const int64_t extent[3]);

/* From now on keeps the last `depth` slices that were read, of each the part that `region` covers in y and x (see
 * chunk/recent_slices.h). The floats are the same. */
crd_status crd_scan_keep(crd_scan *scan, const crd_box *region, int64_t depth);

const crd_volume_info *crd_scan_info(const crd_scan *scan);
/* NaN, and counts of 0, as long as there are none. */
const crd_volume_statistics *crd_scan_statistics(const crd_scan *scan);
/* What is taken off every voxel, and what it is then divided by: the mean and standard deviation (0 and 1 for
 * CRD_NORM_NONE), or the middle of the levels and half their distance. */
void crd_scan_normalisation(const crd_scan *scan, double *mean, double *std);

/* The normalised box. Voxels that are not finite, and voxels outside the mask, are the scan's mean. With
 * CRD_NORM_LEVELS a voxel farther than CRD_LEVELS_REACH from 0 counts as there: a grain of dust must not outshine its
 * surroundings; else one that a float can't hold is the largest float. */
crd_status crd_scan_read(crd_scan *scan, const crd_box *box, float *voxels);
/* How many slices of the box from z on a caller does well to ask for at once: see volume/format.h. */
int64_t crd_scan_slices_at_once(const crd_scan *scan, const crd_box *box, int64_t z);
/* 1 inside the mask, 0 outside; all 1 without a mask. */
crd_status crd_scan_read_mask(crd_scan *scan, const crd_box *box, uint8_t *inside);
bool crd_scan_masked(const crd_scan *scan);

#endif
