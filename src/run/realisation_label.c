/* A label that realisations are held against: what its values mean is decided as training and validation do. */
#include <string.h>

#include "base/memory.h"
#include "run/realisation_sources.h"

/* The label is of the volumes' shape, or of the scan's, of which they may be a box. */
static crd_status find_place(crd_realisations *r, const char *path, const int64_t volumes[3], const int64_t scan[3],
                             const int64_t **shape)
{
    crd_volume *volume = NULL;
    CRD_PASS(crd_volume_open(path, NULL, NULL, &volume));
    const bool whole = scan[0] > 0 && memcmp(crd_volume_describe(volume)->shape, volumes, 3 * sizeof *volumes) != 0 &&
                       memcmp(crd_volume_describe(volume)->shape, scan, 3 * sizeof *scan) == 0;
    crd_volume_close(&volume);
    *shape = whole ? scan : volumes;
    for (int axis = 0; axis < 3; axis++) {
        r->label_origin[axis] = r->box_origin[axis] + (whole ? r->scan_origin[axis] : 0);
    }
    return CRD_OK;
}

crd_status crd_realisations_add_label(crd_realisations *r, const crd_realisations_options *options,
                                      const int64_t volumes[3], const int64_t scan[3], const crd_monitor *monitor)
{
    const int64_t *shape;
    int64_t counts[3];
    crd_realisations_info *info = &r->info;
    crd_label_options label = {.foreground = options->foreground,
                               .foreground_count = options->foreground_count,
                               .ignore = options->ignore,
                               .ignore_count = options->ignore_count};
    if (info->phases < 2) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "label: all voxels of %s are %g, and with one phase a label can't be held against it; --phase "
                        "names both",
                        r->name, info->values[0]);
    }
    if (info->phases > 2 && options->foreground_count > 0) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "foreground: %s has %lld phases, and a label is held against them value by value; "
                        "--foreground is for two",
                        r->name, (long long)info->phases);
    }
    if (info->phases > 2) { /* classes are then the phases' numbers, as they are of two */
        label.classes = info->values;
        label.class_count = info->phases;
    }
    CRD_PASS(find_place(r, options->label, volumes, scan, &shape));
    CRD_PASS(crd_label_open(options->label, shape, &label, monitor, &r->label));
    crd_label_counts(r->label, counts);
    info->masked |= counts[2] > 0;
    r->sources[r->source_count++] = (crd_realisation_source){.bit = info->bits, .count = 1};
    info->label = info->bits++;
    return CRD_OK;
}

crd_status crd_realisations_read_label(crd_realisations *r, const crd_box *box, uint8_t *phases)
{
    crd_box there = *box;
    for (int axis = 0; axis < 3; axis++) there.origin[axis] += r->label_origin[axis];
    return crd_label_read(r->label, &there, phases);
}

crd_status crd_realisations_clear_unlabelled(crd_realisations *r, const crd_box *box, uint8_t *inside)
{
    crd_status status = CRD_OK;
    uint8_t *phases = NULL;
    const int64_t slice = box->size[1] * box->size[2];
    if (r->label == NULL) return CRD_OK;
    CRD_TRY(crd_alloc(slice, 1, "a slice of the label", &phases));
    for (int64_t z = 0; z < box->size[0]; z++) {
        const crd_box one = {{box->origin[0] + z, box->origin[1], box->origin[2]}, {1, box->size[1], box->size[2]}};
        CRD_TRY(crd_realisations_read_label(r, &one, phases));
        for (int64_t i = 0; i < slice; i++) inside[z * slice + i] &= phases[i] != CRD_LABEL_NONE;
    }
done:
    crd_free(&phases);
    return status;
}
