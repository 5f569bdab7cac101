#include "train/record.h"

#include <math.h>
#include <string.h>

void crd_record_join(crd_training_record *record, const crd_scan *scan)
{
    const crd_volume_statistics *s = crd_scan_statistics(scan);
    const crd_volume_info *info = crd_scan_info(scan);
    const double n = (double)record->voxels, m = (double)s->count;
    if (record->voxels == 0) {
        *record = (crd_training_record){.voxels = s->count,
                                        .minimum = s->minimum,
                                        .maximum = s->maximum,
                                        .mean = s->mean,
                                        .std = sqrt(s->variance),
                                        .histogram_low = s->histogram_low,
                                        .histogram_high = s->histogram_high};
        memcpy(record->histogram, s->histogram, sizeof record->histogram);
        memcpy(record->spacing, info->spacing, sizeof record->spacing);
        memcpy(record->unit, info->unit, sizeof record->unit);
        return;
    }
    const double mean = (n * record->mean + m * s->mean) / (n + m);
    const double square =
        (n * (record->std * record->std + record->mean * record->mean) + m * (s->variance + s->mean * s->mean)) /
        (n + m);
    const double low = fmin(record->histogram_low, s->histogram_low);
    const double high = fmax(record->histogram_high, s->histogram_high);
    int64_t joined[CRD_HISTOGRAM_BINS] = {0};
    for (int side = 0; side < 2; side++) {
        const double from = side == 0 ? record->histogram_low : s->histogram_low;
        const double to = side == 0 ? record->histogram_high : s->histogram_high;
        const int64_t *bins = side == 0 ? record->histogram : s->histogram;
        for (int i = 0; i < CRD_HISTOGRAM_BINS; i++) {
            const double centre = from + (to - from) * (i + 0.5) / CRD_HISTOGRAM_BINS;
            int bin = high > low ? (int)((centre - low) / (high - low) * CRD_HISTOGRAM_BINS) : 0;
            bin = bin < 0 ? 0 : bin >= CRD_HISTOGRAM_BINS ? CRD_HISTOGRAM_BINS - 1 : bin;
            joined[bin] += bins[i];
        }
    }
    memcpy(record->histogram, joined, sizeof joined);
    record->histogram_low = low;
    record->histogram_high = high;
    record->mean = mean;
    record->std = sqrt(fmax(0.0, square - mean * mean));
    record->minimum = fmin(record->minimum, s->minimum);
    record->maximum = fmax(record->maximum, s->maximum);
    record->voxels += s->count;
    if (memcmp(record->spacing, info->spacing, sizeof record->spacing) != 0 || strcmp(record->unit, info->unit) != 0) {
        memset(record->spacing, 0, sizeof record->spacing);
        record->unit[0] = '\0';
    }
}
