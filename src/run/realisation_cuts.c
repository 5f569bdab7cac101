/* The probability of a run cut where an offset of the whole scan's logit puts one half. */
#include "base/memory.h"
#include "run/realisation_sources.h"
#include "run/widen.h"

static crd_realisation_source *source_of(crd_realisations *r, int64_t bit)
{
    crd_realisation_source *source = r->sources;
    while (source->packed || source->count == 0 || source->bit != bit) source++;
    return source;
}

crd_status crd_realisations_settle_cuts(crd_realisations *r)
{
    crd_status status = CRD_OK;
    const int64_t *shape = r->info.shape, slice = shape[1] * shape[2];
    float *values = NULL;
    uint8_t *inside = NULL;
    double sum = 0.0, count = 0.0, cuts[2];
    if (r->info.cuts[0] < 0) return CRD_OK;
    crd_volume *volume = source_of(r, r->info.cuts[0])->volume;
    const double scale = crd_volume_describe(volume)->scale;
    CRD_TRY(crd_alloc(slice, sizeof *values, "a slice of the probability", &values));
    if (r->mask != NULL) CRD_TRY(crd_alloc(slice, 1, "a slice of the mask", &inside));
    for (int64_t z = 0; z < shape[0]; z++) {
        const crd_box box = {{z, 0, 0}, {1, shape[1], shape[2]}};
        const crd_box there = {{r->mask_origin[0] + z, r->mask_origin[1], r->mask_origin[2]}, {1, shape[1], shape[2]}};
        CRD_TRY(crd_volume_read(volume, &box, CRD_F32, values));
        if (inside != NULL) CRD_TRY(crd_volume_read(r->mask, &there, CRD_U8, inside));
        for (int64_t i = 0; i < slice; i++) {
            const double p = (double)values[i] * (scale > 0.0 ? scale : 1.0);
            if (inside != NULL && inside[i] == 0) continue;
            sum += p * (1.0 - p);
            count += 1.0;
        }
    }
    crd_systematic_cuts(r->info.systematic[1], sum > 0.0 ? sum / count : 1.0, cuts);
    for (int i = 0; i < 2; i++) source_of(r, r->info.cuts[i])->threshold = cuts[i] / (scale > 0.0 ? scale : 1.0);
done:
    crd_free(&values);
    crd_free(&inside);
    return status;
}
