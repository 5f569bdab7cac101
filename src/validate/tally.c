#include "validate/tally.h"

#include "base/memory.h"

crd_status crd_tally_create(int64_t slices, int64_t threshold_count, int class_count, crd_tally **out)
{
    crd_status status = CRD_OK;
    crd_tally *tally = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *tally, "the sums", &tally));
    tally->slices = slices;
    tally->threshold_count = threshold_count;
    tally->least = UINT32_MAX;
    CRD_TRY(crd_alloc(CRD_MEASURE_BINS, sizeof *tally->bins, "the sums", &tally->bins));
    CRD_TRY(crd_alloc(CRD_CUBE_BINS, sizeof *tally->cubes, "the sums", &tally->cubes));
    CRD_TRY(crd_alloc(threshold_count + 1, sizeof *tally->thresholds, "the sums", &tally->thresholds));
    CRD_TRY(crd_alloc(slices, sizeof *tally->slice, "the sums of the slices", &tally->slice));
    if (class_count > 2) {
        CRD_TRY(crd_alloc(slices, sizeof *tally->slice_classes, "the sums of the slices", &tally->slice_classes));
    }
    *out = tally;
    tally = NULL;
done:
    crd_tally_free(&tally);
    return status;
}

void crd_tally_free(crd_tally **pointer)
{
    crd_tally *tally = *pointer;
    if (tally == NULL) return;
    crd_free(&tally->bins);
    crd_free(&tally->cubes);
    crd_free(&tally->thresholds);
    crd_free(&tally->slice);
    crd_free(&tally->slice_classes);
    crd_free(pointer);
}

static void add_counts(crd_class_counts *into, const crd_class_counts *from)
{
    into->voxels += from->voxels;
    into->predicted += from->predicted;
    into->labelled += from->labelled;
    into->both += from->both;
}

static void add_all(int64_t *into, const int64_t *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) into[i] += from[i];
}

static void merge_sums(crd_tally *into, const crd_tally *from)
{
    add_counts(&into->counts, &from->counts);
    into->sum += from->sum;
    into->square += from->square;
    if (from->least < into->least) into->least = from->least;
    if (from->most > into->most) into->most = from->most;
    into->brier += from->brier;
    into->nll += from->nll;
    into->above += from->above;
    into->gradients += from->gradients;
    into->gradient += from->gradient;
}

void crd_tally_merge(crd_tally *into, const crd_tally *from)
{
    merge_sums(into, from);
    for (int k = 0; k < 4; k++) {
        for (int b = 0; b < CRD_RELIABILITY_BINS; b++) {
            into->reliability[k][b].count += from->reliability[k][b].count;
            into->reliability[k][b].excess += from->reliability[k][b].excess;
        }
    }
    for (int a = 0; a < 3; a++) {
        into->neighbours[a].pairs += from->neighbours[a].pairs;
        into->neighbours[a].product += from->neighbours[a].product;
        into->neighbours[a].sum += from->neighbours[a].sum;
    }
    for (int m = 0; m < CRD_MAPS_MAX; m++) {
        into->maps[m].sum += from->maps[m].sum;
        into->maps[m].square += from->maps[m].square;
        into->maps[m].cross += from->maps[m].cross;
        into->maps[m].above += from->maps[m].above;
    }
    for (int d = 0; d < CRD_DISTANCES; d++) {
        into->distance[d].count += from->distance[d].count;
        into->distance[d].wrong += from->distance[d].wrong;
        into->distance[d].sum += from->distance[d].sum;
    }
    add_all(into->bins[0], from->bins[0], 2 * CRD_MEASURE_BINS);
    add_all(into->cubes[0], from->cubes[0], 4 * CRD_CUBE_BINS);
    add_all(into->thresholds[0], from->thresholds[0], 4 * from->threshold_count);
    add_all(into->confusion[0], from->confusion[0], CRD_CLASSES_MAX * CRD_CLASSES_MAX);
    if (from->slice_classes != NULL) {
        add_all(into->slice_classes[0][0], from->slice_classes[0][0], from->slices * 2 * CRD_CLASSES_MAX);
    }
    for (int64_t z = 0; z < from->slices; z++) {
        add_counts(&into->slice[z].counts, &from->slice[z].counts);
        into->slice[z].sum += from->slice[z].sum;
    }
}
