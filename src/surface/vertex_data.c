#include "surface/vertex_data.h"

#include <math.h>

#include "base/assert.h"

const char *crd_datum_name(crd_datum kind)
{
    static const char *const names[CRD_DATUM_KINDS] = {"probability", "uncertainty", "displacement"};
    return names[kind];
}

static double smallest(const double spacing[3])
{
    return fmin(spacing[0], fmin(spacing[1], spacing[2]));
}

int64_t crd_vertex_data_reach(const crd_vertex_data *d)
{
    for (int i = 0; i < d->count; i++) {
        if (d->kinds[i] != CRD_DATUM_DISPLACEMENT) continue;
        return (int64_t)ceil(CRD_DISPLACEMENT_REACH * smallest(d->spacing) / d->spacing[0]) + 1;
    }
    return 0;
}

static int64_t clamp(int64_t i, int64_t count)
{
    return i < 0 ? 0 : i < count ? i : count - 1;
}

static double sample(const crd_vertex_data *d, int source, int64_t z, int64_t y, int64_t x)
{
    const double value = (double)crd_slices_at(d->slices, source, z)[y * d->shape[2] + x];
    return isfinite(value) ? value : 0.0;
}

/* On the edge itself. */
static double on_edge(const crd_vertex_data *d, int source, const crd_edge_point *at)
{
    const int64_t *a = at->ends[0], *b = at->ends[1];
    const double first = sample(d, source, a[0], a[1], a[2]), second = sample(d, source, b[0], b[1], b[2]);
    return first + at->t * (second - first);
}

/* Anywhere: between the eight samples around. */
static double between(const crd_vertex_data *d, int source, const double place[3])
{
    int64_t low[3], high[3];
    double part[3], planes[2];
    for (int axis = 0; axis < 3; axis++) {
        const double floored = floor(place[axis]);
        low[axis] = clamp((int64_t)floored, d->shape[axis]);
        high[axis] = clamp((int64_t)floored + 1, d->shape[axis]);
        part[axis] = place[axis] - floored;
    }
    for (int k = 0; k < 2; k++) {
        const int64_t z = k == 0 ? low[0] : high[0];
        const double near_low = sample(d, source, z, low[1], low[2]), near_high = sample(d, source, z, low[1], high[2]);
        const double far_low = sample(d, source, z, high[1], low[2]), far_high = sample(d, source, z, high[1], high[2]);
        const double near = near_low + part[2] * (near_high - near_low);
        const double far = far_low + part[2] * (far_high - far_low);
        planes[k] = near + part[1] * (far - near);
    }
    return planes[0] + part[0] * (planes[1] - planes[0]);
}

/* side -1: the lower percentile, 1: the upper one. */
static double percentile(const crd_vertex_data *d, int side, const double place[3])
{
    const int own = side < 0 ? d->low : d->high;
    if (own != CRD_NO_SOURCE) return between(d, own, place);
    return between(d, d->probability, place) + 0.5 * side * between(d, d->width, place);
}

/* Out of the phase, against the gradient of the probability, for a step of one smallest voxel edge, in voxels. Where
 * the probability is level, the grid's edge says where outside is. */
static void outward_step(const crd_vertex_data *d, const crd_edge_point *at, double step[3])
{
    double gradient[3], square = 0;
    for (int axis = 0; axis < 3; axis++) {
        double ahead[3] = {at->place[0], at->place[1], at->place[2]};
        double behind[3] = {at->place[0], at->place[1], at->place[2]};
        ahead[axis] += 0.5;
        behind[axis] -= 0.5;
        gradient[axis] = (between(d, d->probability, ahead) - between(d, d->probability, behind)) / d->spacing[axis];
        square += gradient[axis] * gradient[axis];
    }
    const double edge = smallest(d->spacing), length = sqrt(square);
    for (int axis = 0; axis < 3; axis++) {
        const double along = axis == at->axis ? (double)at->outwards : 0.0;
        step[axis] = (length * edge > 1e-6 ? -gradient[axis] / length : along) * edge / d->spacing[axis];
    }
}

/* Where the percentile's surface lies, in smallest voxel edges outwards from the vertex: from there on steps of half an
 * edge, inwards or outwards, until the level lies between two of them. */
static double surface_offset(const crd_vertex_data *d, int side, const crd_edge_point *at, const double step[3])
{
    const double start = percentile(d, side, at->place);
    const double direction = start > d->level ? 1.0 : -1.0;
    double before = start;
    for (int i = 1; i <= 2 * CRD_DISPLACEMENT_REACH; i++) {
        const double distance = 0.5 * i * direction;
        const double place[3] = {at->place[0] + distance * step[0], at->place[1] + distance * step[1],
                                 at->place[2] + distance * step[2]};
        const double value = percentile(d, side, place);
        if ((value > d->level) != (start > d->level)) {
            return distance - 0.5 * direction * (value - d->level) / (value - before);
        }
        before = value;
    }
    return CRD_DISPLACEMENT_REACH * direction;
}

static double displacement(const crd_vertex_data *d, const crd_edge_point *at)
{
    double step[3];
    outward_step(d, at, step);
    const double distance = surface_offset(d, 1, at, step) - surface_offset(d, -1, at, step);
    return fmax(distance, 0.0) * smallest(d->spacing);
}

void crd_vertex_data_at(const crd_vertex_data *d, const crd_edge_point *at, float *out)
{
    for (int i = 0; i < d->count; i++) {
        switch (d->kinds[i]) {
        case CRD_DATUM_PROBABILITY:
            out[i] = (float)on_edge(d, d->probability, at);
            break;
        case CRD_DATUM_UNCERTAINTY:
            out[i] = (float)on_edge(d, d->uncertainty, at);
            break;
        case CRD_DATUM_DISPLACEMENT:
            out[i] = (float)displacement(d, at);
            break;
        case CRD_DATUM_KINDS:
            CRD_ASSERT(false);
            break;
        }
    }
}
