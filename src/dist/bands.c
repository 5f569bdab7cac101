#include "dist/bands.h"

#include "base/assert.h"
#include "base/memory.h"

struct crd_bands {
    int64_t rows, given, done;
    int ranks;
    int64_t *band; /* by row */
};

crd_status crd_bands_create(int64_t rows, int ranks, crd_bands **out)
{
    crd_status status = CRD_OK;
    crd_bands *bands = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *bands, "the bands", &bands));
    *bands = (crd_bands){.rows = rows, .ranks = ranks};
    CRD_TRY(crd_alloc(rows, sizeof *bands->band, "the bands", &bands->band));
    for (int64_t i = 0; i < rows; i++) bands->band[i] = -1;
    *out = bands;
    bands = NULL;
done:
    crd_bands_free(&bands);
    return status;
}

void crd_bands_free(crd_bands **bands)
{
    if (*bands == NULL) return;
    crd_free(&(*bands)->band);
    crd_free(bands);
}

crd_band crd_bands_next(crd_bands *bands)
{
    const int64_t left = bands->rows - bands->given, shares = 2 * (int64_t)bands->ranks;
    const int64_t size = bands->ranks == 1 ? left : (left + shares - 1) / shares;
    const crd_band band = {bands->given, bands->given + size};
    bands->given = band.end;
    return band;
}

void crd_bands_done(crd_bands *bands, crd_band band)
{
    CRD_ASSERT(band.first >= 0 && band.first <= band.end && band.end <= bands->given);
    for (int64_t row = band.first; row < band.end; row++) bands->band[row] = band.first;
    bands->done += band.end - band.first;
    CRD_ASSERT(bands->done <= bands->given);
}

bool crd_bands_all_done(const crd_bands *bands)
{
    return bands->done == bands->rows;
}

const int64_t *crd_bands_of_rows(const crd_bands *bands)
{
    return bands->band;
}
