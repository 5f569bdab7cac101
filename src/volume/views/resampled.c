/* A volume of longer or shorter voxels: means of what lies under each, values between voxel centres, or classes.
 *
 * A box is made tile by tile, small enough for what lies under a tile to be read at once. A voxel's sum runs over x,
 * then y, then z in rising order, so its bits don't depend on the box or the tile. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "volume/types.h"
#include "volume/views/view.h"

/* What a tile reads, and what it sums up, at most; and what may lie under one voxel. */
static const int64_t tile_bytes = INT64_C(96) << 20, voxel_bytes = INT64_C(512) << 20;
/* Steps so near to a whole number, or to one over it, are meant to be that: 0.65 / 0.13. */
static const double snap = 1e-9, end_slack = 1e-6;
/* Shares that differ by less are equal: their parts of voxels are rounded, and added in any order. */
static const double same = 1e-9;

typedef struct resampled {
    crd_volume *of;
    double step[3];
    crd_resampling how;
    bool owned; /* `of` is closed with the view */
} resampled;

/* The old voxels under new voxels begin .. begin + count of one axis, with their weights. */
typedef struct under {
    int64_t count, *first, *number; /* of each new voxel */
    double *weight, *total;         /* `most` for each new voxel, and their sum */
    int64_t most, low, extent;      /* all of them lie in low .. low + extent */
} under;

static double snapped(double step)
{
    const double whole = step >= 1.0 ? round(step) : round(1.0 / step), exact = step >= 1.0 ? whole : 1.0 / whole;
    return fabs(step - exact) <= snap * step ? exact : step;
}

/* ---- weights ---- */

static int64_t at_most(double value, int64_t most)
{
    return value < (double)most ? (int64_t)value : most;
}

/* New voxel k of an axis that had n: the first old one under it and how many, and their weights unless NULL. */
static int64_t look_under(const resampled *r, int axis, int64_t n, int64_t k, int64_t *first, double *weight)
{
    const double step = r->step[axis], begin = (double)k * step, end = fmin(((double)k + 1.0) * step, (double)n);
    if (r->how == CRD_RESAMPLE_NEAREST || (step < 1.0 && r->how == CRD_RESAMPLE_MAJORITY)) {
        *first = at_most(((double)k + 0.5) * step, n - 1);
        if (weight != NULL) weight[0] = 1.0;
        return 1;
    }
    if (step < 1.0) { /* between two centres */
        const double centre = fmin(fmax(((double)k + 0.5) * step - 0.5, 0.0), (double)(n - 1));
        *first = (int64_t)centre;
        const double share = centre - (double)*first;
        if (weight != NULL) weight[0] = 1.0 - share;
        if (weight != NULL && share > 0.0) weight[1] = share;
        return share > 0.0 ? 2 : 1;
    }
    *first = at_most(begin, n - 1);
    int64_t count = at_most(ceil(end), n) - *first;
    if (count < 1) count = 1;
    for (int64_t i = 0; i < count && weight != NULL; i++) {
        const double low = fmax(begin, (double)(*first + i)), high = fmin(end, (double)(*first + i + 1));
        weight[i] = high > low ? high - low : 0.0;
    }
    return count;
}

static int64_t most_under(double step)
{
    return step >= 1.0 ? (int64_t)fmin(ceil(step) + 1.0, 0x1p53) : 2;
}

static void free_under(under *u)
{
    crd_free(&u->first);
    crd_free(&u->number);
    crd_free(&u->weight);
    crd_free(&u->total);
}

static crd_status find_under(const resampled *r, int axis, int64_t begin, int64_t count, under *out)
{
    const int64_t n = crd_volume_describe(r->of)->shape[axis], most = most_under(r->step[axis]);
    *out = (under){.count = count, .most = most < n ? most : n};
    CRD_PASS(crd_alloc(count, sizeof *out->first, "resampling", &out->first));
    CRD_PASS(crd_alloc(count, sizeof *out->number, "resampling", &out->number));
    CRD_PASS(crd_alloc(count * out->most, sizeof *out->weight, "resampling", &out->weight));
    CRD_PASS(crd_alloc(count, sizeof *out->total, "resampling", &out->total));
    for (int64_t k = 0; k < count; k++) {
        const double *weight = out->weight + k * out->most;
        out->number[k] = look_under(r, axis, n, begin + k, &out->first[k], out->weight + k * out->most);
        for (int64_t i = 0; i < out->number[k]; i++) out->total[k] += weight[i];
    }
    out->low = out->first[0];
    out->extent = out->first[count - 1] + out->number[count - 1] - out->low;
    for (int64_t k = 0; k < count; k++) out->first[k] -= out->low;
    return CRD_OK;
}

/* ---- means ---- */

typedef struct tile {
    const under *z, *y, *x;
    crd_type type;
    const char *old; /* what lies under the tile */
    double *sums;    /* of the tile's voxels */
    double *row, *plane;
} tile;

/* One old row, to the new voxels of a row. */
static void join_row(const under *x, const double *in, double *out)
{
    for (int64_t k = 0; k < x->count; k++) {
        const double *from = in + x->first[k], *weight = x->weight + k * x->most;
        double sum = 0.0;
        for (int64_t i = 0; i < x->number[k]; i++) sum += weight[i] * from[i];
        out[k] = sum;
    }
}

/* Adds a row or plane of `count` values, number `at` of the old ones, to all new ones that it lies under. *from is the
 * first of those that may need it, and rises. */
static void add_to(const under *u, int64_t at, const double *values, int64_t count, int64_t *from, double *sums)
{
    while (*from < u->count && u->first[*from] + u->number[*from] <= at) ++*from;
    for (int64_t k = *from; k < u->count && u->first[k] <= at; k++) {
        const double weight = u->weight[k * u->most + at - u->first[k]];
        double *sum = sums + k * count;
        for (int64_t i = 0; i < count; i++) sum[i] += weight * values[i];
    }
}

static void join_tile(const tile *t)
{
    const size_t size = crd_type_size(t->type);
    const int64_t width = t->x->count, area = t->y->count * width;
    double *joined = t->row + t->x->extent;
    int64_t from_z = 0;
    memset(t->sums, 0, (size_t)(t->z->count * area) * sizeof *t->sums);
    for (int64_t z = 0; z < t->z->extent; z++) {
        int64_t from_y = 0;
        memset(t->plane, 0, (size_t)area * sizeof *t->plane);
        for (int64_t y = 0; y < t->y->extent; y++) {
            const char *old = t->old + (size_t)((z * t->y->extent + y) * t->x->extent) * size;
            (void)crd_convert(t->type, old, 1.0, t->x->extent, CRD_F64, t->row);
            join_row(t->x, t->row, joined);
            add_to(t->y, y, joined, width, &from_y, t->plane);
        }
        add_to(t->z, z, t->plane, area, &from_z, t->sums);
    }
    for (int64_t i = 0; i < t->z->count * area; i++) {
        t->sums[i] /= t->z->total[i / area] * t->y->total[i / width % t->y->count] * t->x->total[i % width];
    }
}

/* ---- classes ---- */

/* A value as a number that rises with it, so that equal shares go to the least class. */
static uint64_t key_of(crd_type type, const char *at)
{
    int64_t number = 0;
    switch (type) {
    case CRD_I8:
        number = *(const int8_t *)at;
        break;
    case CRD_I16: {
        int16_t value;
        memcpy(&value, at, sizeof value);
        number = value;
        break;
    }
    case CRD_I32: {
        int32_t value;
        memcpy(&value, at, sizeof value);
        number = value;
        break;
    }
    default: {
        uint64_t bits = 0;
        memcpy(CRD_BIG_ENDIAN ? (char *)&bits + sizeof bits - crd_type_size(type) : (char *)&bits, at,
               crd_type_size(type));
        return bits;
    }
    }
    return (uint64_t)number ^ UINT64_C(1) << 63;
}

typedef struct votes {
    uint64_t *keys;
    double *shares;
    const char **at; /* one voxel of each */
    int64_t count;
} votes;

static void vote(votes *v, uint64_t key, double share, const char *at)
{
    int64_t i = v->count - 1;
    while (i >= 0 && v->keys[i] != key) i--;
    if (i < 0) {
        i = v->count++;
        v->keys[i] = key;
        v->shares[i] = 0.0;
        v->at[i] = at;
    }
    v->shares[i] += share;
}

/* The voxel whose value has the largest share of what lies under new voxel (z, y, x) of the tile. */
static const char *elect(const tile *t, int64_t z, int64_t y, int64_t x, votes *v)
{
    const size_t size = crd_type_size(t->type);
    const double *wz = t->z->weight + z * t->z->most, *wy = t->y->weight + y * t->y->most;
    const double *wx = t->x->weight + x * t->x->most;
    v->count = 0;
    for (int64_t i = 0; i < t->z->number[z]; i++) {
        for (int64_t k = 0; k < t->y->number[y]; k++) {
            const int64_t row = (t->z->first[z] + i) * t->y->extent + t->y->first[y] + k;
            const char *at = t->old + (size_t)(row * t->x->extent + t->x->first[x]) * size;
            for (int64_t l = 0; l < t->x->number[x]; l++, at += size) {
                vote(v, key_of(t->type, at), wz[i] * wy[k] * wx[l], at);
            }
        }
    }
    int64_t best = -1;
    double most = 0.0;
    for (int64_t i = 0; i < v->count; i++) most = fmax(most, v->shares[i]);
    for (int64_t i = 0; i < v->count; i++) {
        if (v->shares[i] < most * (1.0 - same)) continue;
        if (best < 0 || v->keys[i] < v->keys[best]) best = i;
    }
    return v->at[best];
}

static crd_status elect_tile(const tile *t, char *out)
{
    crd_status status = CRD_OK;
    const size_t size = crd_type_size(t->type);
    const int64_t most = t->z->most * t->y->most * t->x->most;
    votes v = {0};
    CRD_TRY(crd_alloc(most, sizeof *v.keys, "counting classes", &v.keys));
    CRD_TRY(crd_alloc(most, sizeof *v.shares, "counting classes", &v.shares));
    CRD_TRY(crd_alloc(most, sizeof *v.at, "counting classes", &v.at));
    for (int64_t z = 0; z < t->z->count; z++) {
        for (int64_t y = 0; y < t->y->count; y++) {
            for (int64_t x = 0; x < t->x->count; x++, out += size) memcpy(out, elect(t, z, y, x, &v), size);
        }
    }
done:
    crd_free(&v.keys);
    crd_free(&v.shares);
    crd_free(&v.at);
    return status;
}

/* ---- boxes ---- */

/* Copies a tile into its place in the box. */
static void place(const crd_box *box, const crd_box *part, size_t size, const char *from, char *voxels)
{
    const size_t row = (size_t)part->size[2] * size;
    for (int64_t i = 0; i < part->size[0] * part->size[1]; i++, from += row) {
        const int64_t z = part->origin[0] - box->origin[0] + i / part->size[1];
        const int64_t y = part->origin[1] - box->origin[1] + i % part->size[1];
        memcpy(voxels + (size_t)((z * box->size[1] + y) * box->size[2] + part->origin[2] - box->origin[2]) * size, from,
               row);
    }
}

static crd_status make_tile(const resampled *r, const crd_box *box, const crd_box *part, char *voxels)
{
    crd_status status = CRD_OK;
    under along[3] = {{0}};
    crd_box window;
    char *old = NULL, *made = NULL;
    tile t = {.z = &along[0], .y = &along[1], .x = &along[2], .type = r->of->info.type};
    const size_t size = crd_type_size(t.type);
    const int64_t area = part->size[1] * part->size[2], count = part->size[0] * area;
    for (int axis = 0; axis < 3; axis++) {
        CRD_TRY(find_under(r, axis, part->origin[axis], part->size[axis], &along[axis]));
        window.origin[axis] = along[axis].low;
        window.size[axis] = along[axis].extent;
    }
    CRD_TRY(crd_alloc(window.size[0] * window.size[1] * window.size[2], size, "resampling", &old));
    CRD_TRY(crd_alloc(count, size, "resampling", &made));
    CRD_TRY(crd_volume_read(r->of, &window, t.type, old));
    t.old = old;
    if (r->how == CRD_RESAMPLE_MEAN) {
        CRD_TRY(crd_alloc(count, sizeof *t.sums, "resampling", &t.sums));
        CRD_TRY(crd_alloc(area, sizeof *t.plane, "resampling", &t.plane));
        CRD_TRY(crd_alloc(window.size[2] + part->size[2], sizeof *t.row, "resampling", &t.row));
        join_tile(&t);
        (void)crd_convert(CRD_F64, t.sums, 1.0, count, t.type, made);
    } else {
        CRD_TRY(elect_tile(&t, made));
    }
    place(box, part, size, made, voxels);
done:
    for (int axis = 0; axis < 3; axis++) free_under(&along[axis]);
    crd_free(&t.sums);
    crd_free(&t.plane);
    crd_free(&t.row);
    crd_free(&old);
    crd_free(&made);
    return status;
}

/* As large as the limits allow: fewer slices first, then fewer rows. */
static void tile_size(const resampled *r, const crd_box *box, int64_t size[3])
{
    memcpy(size, box->size, 3 * sizeof *size);
    for (;;) {
        double old = (double)crd_type_size(r->of->info.type), new = sizeof(double);
        for (int axis = 0; axis < 3; axis++) {
            const double under_it = ceil((double)size[axis] * r->step[axis]) + 2.0;
            old *= fmin(under_it, (double)r->of->info.shape[axis]);
            new *= (double)size[axis];
        }
        const int axis = size[0] > 1 ? 0 : size[1] > 1 ? 1 : 2;
        if ((old <= (double)tile_bytes && new <= (double)tile_bytes) || size[axis] == 1) return;
        size[axis] = (size[axis] + 1) / 2;
    }
}

static crd_status resampled_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    const resampled *r = volume->state;
    int64_t size[3], at[3];
    tile_size(r, box, size);
    for (at[0] = 0; at[0] < box->size[0]; at[0] += size[0]) {
        for (at[1] = 0; at[1] < box->size[1]; at[1] += size[1]) {
            for (at[2] = 0; at[2] < box->size[2]; at[2] += size[2]) {
                crd_box part;
                for (int axis = 0; axis < 3; axis++) {
                    const int64_t left = box->size[axis] - at[axis];
                    part.origin[axis] = box->origin[axis] + at[axis];
                    part.size[axis] = left < size[axis] ? left : size[axis];
                }
                CRD_PASS(make_tile(r, box, &part, voxels));
            }
        }
    }
    return CRD_OK;
}

/* ---- the view ---- */

static crd_status resampled_open_again(const crd_volume *volume, crd_volume **out)
{
    const resampled *r = volume->state;
    crd_volume *of = NULL;
    CRD_PASS(crd_volume_open_again(r->of, &of));
    const crd_status status = crd_view_resampled(of, r->step, r->how, out);
    if (status != CRD_OK) {
        crd_volume_close(&of);
        return status;
    }
    ((resampled *)(*out)->state)->owned = true;
    return CRD_OK;
}

static void resampled_close(crd_volume *volume)
{
    resampled *r = volume->state;
    if (r != NULL && r->owned) crd_volume_close(&r->of);
    crd_free(&volume->state);
}

static const char *resampled_other_file(const crd_volume *volume, int64_t index)
{
    const crd_volume *of = ((const resampled *)volume->state)->of;
    return of->format->other_file != NULL ? of->format->other_file(of, index) : NULL;
}

static const crd_format resampled_view = {.name = "resampled",
                                          .read = resampled_read,
                                          .open_again = resampled_open_again,
                                          .other_file = resampled_other_file,
                                          .close = resampled_close};

static crd_status check(const crd_volume *of, const double step[3], crd_resampling how)
{
    double under_one = (double)crd_type_size(of->info.type);
    if (how == CRD_RESAMPLE_MEAN && of->info.type == CRD_U64) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s holds u64, of which there is no exact mean; join it by majority or "
                        "take the nearest voxels",
                        of->path);
    }
    for (int axis = 0; axis < 3; axis++) {
        if (!(isfinite(step[axis]) && step[axis] >= 0x1p-20)) {
            return crd_fail(CRD_ERR_ARGUMENT, "%s can't be resampled in steps of %g voxels", of->path, step[axis]);
        }
        if (how != CRD_RESAMPLE_NEAREST) under_one *= fmin(ceil(step[axis]) + 1.0, (double)of->info.shape[axis]);
    }
    if (under_one <= (double)voxel_bytes) return CRD_OK;
    return crd_fail(CRD_ERR_UNSUPPORTED,
                    "%.1f GiB of %s would lie under one voxel, more than the %.1f GiB that are read "
                    "at once; go there in two steps",
                    under_one / 0x1p30, of->path, (double)voxel_bytes / 0x1p30);
}

crd_status crd_view_resampled(crd_volume *of, const double step[3], crd_resampling how, crd_volume **out)
{
    crd_volume_info info = of->info;
    resampled r = {.of = of, .how = how};
    bool whole = true;
    *out = NULL;
    CRD_PASS(check(of, step, how));
    for (int axis = 0; axis < 3; axis++) {
        r.step[axis] = snapped(step[axis]);
        const double count = ceil((double)info.shape[axis] / r.step[axis] - end_slack);
        info.shape[axis] = count >= 0x1p62 ? INT64_MAX : count > 1.0 ? (int64_t)count : 1;
        info.spacing[axis] *= r.step[axis];
        const double origin = (double)info.origin[axis] / r.step[axis];
        whole = whole && origin == floor(origin) && fabs(origin) < 0x1p53;
        info.origin[axis] = fabs(origin) < 0x1p53 ? (int64_t)origin : 0;
    }
    if (!whole) memset(info.origin, 0, sizeof info.origin);
    CRD_PASS(crd_volume_create_view(of->path, of->file, &info, &resampled_view, sizeof r, out));
    memcpy((*out)->state, &r, sizeof r);
    const double layer = (double)of->layer / r.step[0];
    (*out)->layer = layer >= 1.0 ? at_most(layer, INT64_MAX / 2) : 0;
    return CRD_OK;
}
