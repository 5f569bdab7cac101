/* Planes of a run's volumes, ready to be drawn. */
#include "report/planes.h"

#include <math.h>

#include "base/memory.h"
#include "report/page.h"

/* Plane number `index` across `axis`, of the box `box` of the volume: rows and columns are the other two axes. Values
 * are multiplied by `scale`; what is no number becomes 0. */
static crd_status read_plane(crd_volume *volume, double scale, const crd_box *box, int axis, int64_t index,
                             crd_plane *out)
{
    crd_box slice = *box;
    slice.origin[axis] += index;
    slice.size[axis] = 1;
    out->rows = slice.size[axis == 0 ? 1 : 0];
    out->columns = slice.size[axis == 2 ? 1 : 2];
    CRD_PASS(crd_alloc(out->rows * out->columns, sizeof *out->values, "a picture", &out->values));
    CRD_PASS(crd_volume_read(volume, &slice, CRD_F32, out->values));
    const float factor = (float)scale;
    for (int64_t i = 0; i < out->rows * out->columns; i++) {
        out->values[i] = isfinite(out->values[i]) ? out->values[i] * factor : 0.0f;
    }
    return CRD_OK;
}

static crd_status read_label(crd_reported_run *s, int axis, int64_t index, crd_plane *out)
{
    crd_status status = CRD_OK;
    uint8_t *classes = NULL;
    crd_box box = s->in_label;
    box.origin[axis] += index;
    box.size[axis] = 1;
    out->rows = box.size[axis == 0 ? 1 : 0];
    out->columns = box.size[axis == 2 ? 1 : 2];
    CRD_TRY(crd_alloc(out->rows * out->columns, sizeof *out->values, "a picture", &out->values));
    CRD_TRY(crd_alloc(out->rows * out->columns, 1, "a picture", &classes));
    CRD_TRY(crd_label_read(s->label, &box, classes));
    for (int64_t i = 0; i < out->rows * out->columns; i++) {
        out->values[i] = s->class_count == 2 ? (float)(classes[i] == 1) : (float)classes[i];
    }
done:
    crd_free(&classes);
    return status;
}

void crd_planes_free(crd_planes *p)
{
    crd_plane_free(&p->back);
    crd_plane_free(&p->seg);
    crd_plane_free(&p->label);
    crd_plane_free(&p->unc);
    crd_plane_free(&p->outside);
    for (int i = 0; i < 4; i++) crd_plane_free(&p->maps[i]);
}

crd_status crd_planes_read(crd_reported_run *s, int axis, int64_t index, bool maps, crd_planes *p)
{
    p->scan = s->scan != NULL;
    p->low = p->scan ? s->scan_low : 0.0;
    p->high = p->scan ? s->scan_high : 1.0;
    p->edge = s->spacing[axis == 2 ? 1 : 2];
    p->unit = crd_page_unit(s);
    if (p->scan) {
        CRD_PASS(read_plane(s->scan, 1.0, &s->in_scan, axis, index, &p->back));
    } else if (s->prob != NULL) {
        CRD_PASS(read_plane(s->prob, s->prob_scale, &s->whole, axis, index, &p->back));
    } else {
        CRD_PASS(read_plane(s->seg, 1.0, &s->whole, axis, index, &p->back));
    }
    p->classes = s->class_count > 2;
    if (s->seg != NULL) {
        CRD_PASS(read_plane(s->seg, 1.0, &s->whole, axis, index, &p->seg));
        for (int64_t i = 0; p->classes && i < p->seg.rows * p->seg.columns; i++) {
            p->seg.values[i] = (float)crd_reported_class(s, p->seg.values[i]);
        }
    } else {
        CRD_PASS(read_plane(s->prob, s->prob_scale, &s->whole, axis, index, &p->seg));
    }
    if (s->label != NULL) CRD_PASS(read_label(s, axis, index, &p->label));
    if (s->unc != NULL) CRD_PASS(read_plane(s->unc, s->unc_scale, &s->whole, axis, index, &p->unc));
    if (s->mask != NULL) {
        CRD_PASS(read_plane(s->mask, 1.0, &s->in_scan, axis, index, &p->outside));
        for (int64_t i = 0; i < p->outside.rows * p->outside.columns; i++) {
            p->outside.values[i] = p->outside.values[i] == 0.0f;
        }
    }
    for (int64_t i = 0; maps && i < s->map_count; i++) {
        CRD_PASS(read_plane(s->maps[i], s->map_scales[i], &s->whole, axis, index, &p->maps[i]));
    }
    return CRD_OK;
}
