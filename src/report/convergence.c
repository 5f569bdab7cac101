#include "report/convergence.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "net/store/store.h"
#include "run/paths.h"

enum { PROBES_MAX = 4096, SAMPLES_MAX = 4096 };

/* Linear interpolation between order statistics. */
static double percentile(const float *sorted, int64_t count, double percent)
{
    const double place = percent / 100.0 * (double)(count - 1);
    const int64_t below = (int64_t)place;
    const int64_t above = below + 1 < count ? below + 1 : below;
    return (double)sorted[below] + ((double)sorted[above] - (double)sorted[below]) * (place - (double)below);
}

/* One voxel: samples join one by one, kept in order. */
static void follow(const float *values, float *sorted, double low, double high, crd_convergence *c)
{
    double all = 0.0, sum = 0.0;
    for (int64_t i = 0; i < c->samples; i++) all += (double)values[i];
    all /= (double)c->samples;
    for (int64_t i = 0; i < c->samples; i++) {
        int64_t at = i;
        for (; at > 0 && sorted[at - 1] > values[i]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = values[i];
        sum += (double)values[i];
        if (i == 0) continue;
        c->width[i - 1] += percentile(sorted, i + 1, high) - percentile(sorted, i + 1, low);
        c->change[i - 1] += fabs(sum / (double)(i + 1) - all);
    }
}

/* In place: of [voxels][samples][planes] the plane with the largest mean. */
static void keep_largest(float *values, const int64_t shape[3])
{
    const int64_t samples = shape[1], planes = shape[2];
    for (int64_t v = 0; v < shape[0]; v++) {
        const float *all = values + v * samples * planes;
        double most = -1.0;
        int64_t best = 0;
        for (int64_t p = 0; p < planes; p++) {
            double sum = 0.0;
            for (int64_t s = 0; s < samples; s++) sum += (double)all[s * planes + p];
            if (sum > most) {
                most = sum;
                best = p;
            }
        }
        for (int64_t s = 0; s < samples; s++) values[v * samples + s] = all[s * planes + best];
    }
}

static crd_status read_values(const char *path, int64_t planes, int64_t shape[3], float **values)
{
    crd_status status = CRD_OK;
    crd_store *store = NULL;
    const int rank = planes > 1 ? 3 : 2;
    int64_t count = 0;
    shape[2] = 1;
    CRD_TRY(crd_store_open(path, &store));
    CRD_TRY(crd_store_get_shape(store, "probability", rank, shape));
    if (shape[0] < 1 || shape[1] < 3 || shape[1] > SAMPLES_MAX || shape[0] > INT64_C(1) << 32 || shape[2] != planes) {
        CRD_FAIL(CRD_ERR_UNSUPPORTED, "%s holds too few samples or too many", path);
    }
    CRD_TRY(crd_product(shape[0], shape[1], planes, &count));
    CRD_TRY(crd_alloc(count, sizeof **values, "the probe", values));
    CRD_TRY(crd_store_get_floats(store, "probability", rank, shape, "a report", *values));
    if (planes > 1) keep_largest(*values, shape);
done:
    crd_store_close(&store);
    return status;
}

crd_status crd_convergence_read(const char *folder, int64_t planes, double low, double high, crd_convergence *out)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    float *values = NULL, *sorted = NULL;
    int64_t shape[3];
    *out = (crd_convergence){0};
    CRD_TRY(crd_run_path(folder, CRD_RUN_PROBE, &path));
    if (access(path, R_OK) != 0 || read_values(path, planes, shape, &values) != CRD_OK) goto done;
    CRD_TRY(crd_alloc(shape[1], sizeof *sorted, "the probe", &sorted));
    CRD_TRY(crd_alloc(shape[1], sizeof *out->count, "the probe", &out->count));
    CRD_TRY(crd_alloc(shape[1], sizeof *out->width, "the probe", &out->width));
    CRD_TRY(crd_alloc(shape[1], sizeof *out->change, "the probe", &out->change));
    out->samples = shape[1];
    const int64_t step = (shape[0] + PROBES_MAX - 1) / PROBES_MAX;
    int64_t used = 0;
    for (int64_t i = 0; i < shape[0]; i += step, used++) follow(values + i * shape[1], sorted, low, high, out);
    for (int64_t i = 0; i + 1 < shape[1]; i++) {
        out->count[i] = (double)(i + 2);
        out->width[i] /= (double)used;
        out->change[i] /= (double)used;
    }
done:
    crd_free(&path);
    crd_free(&values);
    crd_free(&sorted);
    return status;
}

void crd_convergence_free(crd_convergence *c)
{
    crd_free(&c->count);
    crd_free(&c->width);
    crd_free(&c->change);
}
