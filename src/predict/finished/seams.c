#include "predict/finished/seams.h"

#include <math.h>
#include <stdlib.h>

#include "base/monitor.h"
#include "predict/request.h"

/* Seen from here on: steps so many times those elsewhere, and so much larger. With the usual --step 3 it is 1.2, with 2
 * about 1.6, of chunks side by side 3 to 5 (docs/PREDICT.md). */
static const double visible = 1.5, not_by_rounding = 0.005;
/* Steps of fewer voxels may differ by chance. */
enum { VOXELS_LEAST = 1000 };

static int64_t fixed_point(float value)
{
    return (int64_t)lrintf(value * 0x1p24f);
}

void crd_seams_add(const float *a, const float *b, int64_t count, bool seam, crd_seams *sums)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (uint64_t)llabs(fixed_point(a[i]) - fixed_point(b[i]));
    *(seam ? &sums->seam_sum : &sums->other_sum) += sum;
    *(seam ? &sums->seam_count : &sums->other_count) += (uint64_t)count;
}

static double mean(uint64_t sum, uint64_t count)
{
    return count > 0 ? (double)sum / (double)count * 0x1p-24 : (double)NAN;
}

crd_seam_steps crd_seams_steps(const crd_seams *seams)
{
    crd_seam_steps out = {.at = mean(seams->seam_sum, seams->seam_count),
                          .elsewhere = mean(seams->other_sum, seams->other_count)};
    out.ratio = out.elsewhere > 0.0 ? out.at / out.elsewhere : (double)NAN;
    return out;
}

void crd_seams_check(const crd_request *request, const crd_seams *seams, const crd_monitor *monitor)
{
    const crd_seam_steps steps = crd_seams_steps(seams);
    const char *what = request->seamless ? "tiles" : "chunks", *hint;
    if (seams->seam_count < VOXELS_LEAST) return;
    if (!(steps.ratio > visible && steps.at > steps.elsewhere + not_by_rounding)) return;
    if (request->options->preview) {
        hint = "a preview doesn't average chunks that overlap, as the whole run does";
    } else if (request->seamless) {
        hint = "a larger --halo hides them";
    } else {
        hint = "a larger --step averages more chunks that overlap, and hides them";
    }
    crd_warn(monitor,
             "the borders of %s can be seen in the result: there the probability changes %.1f times as much from voxel "
             "to voxel as elsewhere; %s",
             what, steps.ratio, hint);
}
