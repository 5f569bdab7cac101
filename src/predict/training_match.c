#include "predict/training_match.h"

#include <math.h>

#include "base/monitor.h"
#include "volume/units.h"

/* A Kolmogorov distance, and a ratio of voxel edges, from which on a scan is pointed out: chosen, not derived. */
static const double different_distribution = 0.1, different_spacing = 1.1;

typedef struct histogram {
    double low, high, shift, scale; /* edges, and what makes them comparable */
    const int64_t *counts;
    double total;
} histogram;

/* Share of the values below `value`, spread evenly within a bin. */
static double share_below(const histogram *h, double value)
{
    const double at = (value * h->scale + h->shift - h->low) / (h->high - h->low) * CRD_HISTOGRAM_BINS;
    double sum = 0.0;
    for (int i = 0; i < CRD_HISTOGRAM_BINS && (double)i < at; i++) {
        const double part = at - (double)i;
        sum += (double)h->counts[i] * (part < 1.0 ? part : 1.0);
    }
    return sum / h->total;
}

static double largest_difference(const histogram *a, const histogram *b)
{
    double most = 0.0;
    for (int i = 0; i <= CRD_HISTOGRAM_BINS; i++) {
        const double edge = a->low + (a->high - a->low) * (double)i / CRD_HISTOGRAM_BINS;
        const double value = (edge - a->shift) / a->scale;
        const double difference = fabs(share_below(a, value) - share_below(b, value));
        if (difference > most) most = difference;
    }
    return most;
}

double crd_training_match_distance(const crd_training_record *training, const crd_volume_statistics *scan,
                                   bool normalised)
{
    const double std = sqrt(scan->variance);
    histogram a = {training->histogram_low, training->histogram_high, 0.0, 1.0, training->histogram, 0.0};
    histogram b = {scan->histogram_low, scan->histogram_high, 0.0, 1.0, scan->histogram, 0.0};
    for (int i = 0; i < CRD_HISTOGRAM_BINS; i++) {
        a.total += (double)a.counts[i];
        b.total += (double)b.counts[i];
    }
    if (!(a.total > 0.0 && b.total > 0.0 && a.high > a.low && b.high > b.low)) return 0.0;
    if (normalised && training->std > 0.0 && std > 0.0) {
        a.shift = training->mean;
        a.scale = training->std;
        b.shift = scan->mean;
        b.scale = std;
    }
    return fmax(largest_difference(&a, &b), largest_difference(&b, &a));
}

static bool spacing_differs(const crd_training_record *training, const crd_volume_info *scan)
{
    const double from = crd_unit_in_um(training->unit), to = crd_unit_in_um(scan->unit);
    const double ratio_of_units = from > 0.0 && to > 0.0 ? to / from : 1.0;
    for (int axis = 0; axis < 3; axis++) {
        if (!(training->spacing[axis] > 0.0 && scan->spacing[axis] > 0.0)) return false;
        const double ratio = scan->spacing[axis] * ratio_of_units / training->spacing[axis];
        if (ratio > different_spacing || ratio < 1.0 / different_spacing) return true;
    }
    return false;
}

double crd_training_match_check(const crd_request *request, const crd_scan *scan, const crd_monitor *monitor)
{
    const crd_training_record *training = &crd_model_describe(request->model)->training;
    const crd_volume_info *info = crd_scan_info(scan);
    if (training->voxels == 0) return (double)NAN;
    const bool normalised = request->norm.mode == CRD_NORM_SCAN || crd_norm_by_levels(&request->norm);
    const double distance = crd_training_match_distance(training, crd_scan_statistics(scan), normalised);
    if (distance > different_distribution) {
        crd_warn(monitor,
                 "the scan's grey values are unlike those of the training scans (%.0f %% of them lie elsewhere%s): "
                 "probabilities and uncertainty may be wrong; train on a sample of this material and setup",
                 100.0 * distance, normalised ? ", brightness and contrast aside" : "");
    }
    if (spacing_differs(training, info)) {
        crd_warn(monitor,
                 "the scan's voxels measure %g, %g, %g %s (z, y, x) and those of the training scans %g, %g, %g %s: the "
                 "network doesn't know objects of this size in voxels",
                 info->spacing[0], info->spacing[1], info->spacing[2], info->unit, training->spacing[0],
                 training->spacing[1], training->spacing[2], training->unit);
    }
    return distance;
}
