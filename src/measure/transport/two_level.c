#include "measure/transport/two_level.h"

enum { WINDOW_MAX = 256, WINDOW_MIN = 16, SIDES = 2 };

int64_t crd_two_level_window(const int64_t shape[3], bool conductivity, int64_t memory_bytes)
{
    for (int64_t window = WINDOW_MAX; window >= WINDOW_MIN; window /= 2) {
        int64_t size[3];
        for (int axis = 0; axis < 3; axis++) size[axis] = shape[axis] < window ? shape[axis] : window;
        const int64_t numbers = conductivity ? size[0] * size[1] * size[2] : 0;
        if (crd_laplace_bytes(size, 1, conductivity) + crd_bitmap_row_bytes(size) + numbers <= memory_bytes)
            return window;
    }
    return 0;
}

/* Where windows of `size` begin along an axis of `length`: one where they would be the same, else in the middle of each
 * half, or at both ends where they overlap. Gives how many there are. */
static int places(int64_t length, int64_t size, int64_t out[SIDES])
{
    if (size >= length) {
        out[0] = 0;
        return 1;
    }
    for (int i = 0; i < SIDES; i++) {
        out[i] = length >= SIDES * size ? i * (length / SIDES) + (length / SIDES - size) / 2 : i * (length - size);
    }
    return SIDES;
}

static crd_status solve_window(const crd_laplace *problem, const crd_box *box, double sums[2])
{
    crd_status status = CRD_OK;
    crd_bitmap part = {0};
    CRD_TRY(crd_bitmap_crop(problem->bitmap, box, &part));
    for (int cell = 1; cell <= 2; cell++) {
        crd_conduction t;
        crd_laplace own = *problem;
        own.bitmap = &part;
        own.cell = cell;
        CRD_TRY(crd_laplace_solve(&own, &t));
        sums[cell - 1] += t.relative;
    }
done:
    crd_bitmap_free(&part);
    return status;
}

crd_status crd_two_level_ratio(const crd_laplace *problem, int64_t window, double *ratio)
{
    const int64_t *shape = problem->bitmap->shape;
    int64_t begin[3][SIDES];
    int count[3];
    crd_box box;
    double sums[2] = {0.0, 0.0};
    for (int axis = 0; axis < 3; axis++) {
        box.size[axis] = shape[axis] < window ? shape[axis] : window;
        count[axis] = places(shape[axis], box.size[axis], begin[axis]);
    }
    for (int i = 0; i < count[0] * count[1] * count[2]; i++) {
        box.origin[0] = begin[0][i / count[2] / count[1]];
        box.origin[1] = begin[1][i / count[2] % count[1]];
        box.origin[2] = begin[2][i % count[2]];
        CRD_PASS(solve_window(problem, &box, sums));
    }
    *ratio = sums[1] > 0.0 ? sums[0] / sums[1] : 1.0;
    return CRD_OK;
}
