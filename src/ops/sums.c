#include "ops/sums.h"

#include <string.h>

#include "ops/blocks.h"

/* Channels summed in one pass over the tensor: bounds the partial sums, which lie on the stack. */
enum { CHANNELS = 64 };

typedef struct product_work {
    crd_row_products *row;
    const crd_tensor *g, *x;
    int64_t first, channels; /* of this pass */
    double sums[CRD_BLOCKS][2][CHANNELS];
} product_work;

static void product_block(void *context, int64_t block, int worker)
{
    (void)worker;
    product_work *work = context;
    const crd_tensor *g = work->g;
    const int64_t rows = g->depth * g->height;
    memset(work->sums[block], 0, sizeof work->sums[block]);
    for (int64_t r = crd_block_first(rows, block); r < crd_block_first(rows, block + 1); r++) {
        const int64_t offset = r / g->height * g->plane + r % g->height * g->row + work->first;
        work->row(g->data + offset, work->x->data + offset, g->channels, g->width, work->channels, work->sums[block][0],
                  work->sums[block][1]);
    }
}

void crd_gradient_sums_by(crd_row_products *row, crd_pool *pool, const crd_tensor *g, const crd_tensor *x, double *sums)
{
    const int64_t channels = g->channels;
    product_work work = {.row = row, .g = g, .x = x};
    memset(sums, 0, 2 * (size_t)channels * sizeof *sums);
    for (int64_t first = 0; first < channels; first += CHANNELS) {
        work.first = first;
        work.channels = channels - first < CHANNELS ? channels - first : CHANNELS;
        crd_pool_run(pool, CRD_BLOCKS, product_block, &work);
        for (int b = 0; b < CRD_BLOCKS; b++)
            for (int64_t c = 0; c < work.channels; c++) {
                sums[first + c] += work.sums[b][0][c];
                sums[channels + first + c] += work.sums[b][1][c];
            }
    }
}

/* Rows of one class in z and y form a box; along x there are at most three runs, one per class. An item is a part of a
 * box: the interior, if there is any, is divided into CRD_BLOCKS parts, its faces into FACE_PARTS, edges not at all. */
enum { BOXES = 9, FACE_PARTS = 4, ITEMS = CRD_BLOCKS + 4 * FACE_PARTS + 4 };

typedef struct border_item {
    crd_border_run z, y;
    int part, parts;
} border_item;

typedef struct border_work {
    crd_row_sums *row;
    const crd_tensor *g;
    crd_border_run x[3];
    int x_runs, items;
    int64_t first, channels;
    border_item item[ITEMS];
    double sums[ITEMS][3][CHANNELS];
} border_work;

static void border_part(void *context, int64_t number, int worker)
{
    (void)worker;
    border_work *work = context;
    const border_item *item = &work->item[number];
    const crd_tensor *g = work->g;
    const int64_t height = item->y.end - item->y.begin, rows = (item->z.end - item->z.begin) * height;
    memset(work->sums[number], 0, sizeof work->sums[number]);
    for (int64_t r = rows * item->part / item->parts; r < rows * (item->part + 1) / item->parts; r++) {
        const int64_t z = item->z.begin + r / height, y = item->y.begin + r % height;
        const float *row = g->data + z * g->plane + y * g->row + work->first;
        for (int i = 0; i < work->x_runs; i++)
            work->row(row + work->x[i].begin * g->channels, g->channels, work->x[i].end - work->x[i].begin,
                      work->channels, work->sums[number][i]);
    }
}

static void border_divide(border_work *work)
{
    crd_border_run z_runs[3], y_runs[3];
    const int z_count = crd_border_runs(work->g->depth, z_runs), y_count = crd_border_runs(work->g->height, y_runs);
    work->x_runs = crd_border_runs(work->g->width, work->x);
    for (int z = 0; z < z_count; z++)
        for (int y = 0; y < y_count; y++) {
            const int inner = (z_runs[z].axis == 0) + (y_runs[y].axis == 0);
            const int parts = inner == 2 ? CRD_BLOCKS : inner == 1 ? FACE_PARTS : 1;
            for (int p = 0; p < parts; p++) work->item[work->items++] = (border_item){z_runs[z], y_runs[y], p, parts};
        }
}

void crd_border_sums_by(crd_row_sums *row, crd_pool *pool, const crd_tensor *g, double *sums)
{
    const int64_t channels = g->channels;
    border_work work = {.row = row, .g = g};
    border_divide(&work);
    memset(sums, 0, CRD_BORDER_CLASSES * (size_t)channels * sizeof *sums);
    for (int64_t first = 0; first < channels; first += CHANNELS) {
        work.first = first;
        work.channels = channels - first < CHANNELS ? channels - first : CHANNELS;
        crd_pool_run(pool, work.items, border_part, &work);
        for (int i = 0; i < work.items; i++)
            for (int run = 0; run < work.x_runs; run++) {
                const border_item *item = &work.item[i];
                double *sum = sums + crd_border_class(item->z.axis, item->y.axis, work.x[run].axis) * channels + first;
                for (int64_t c = 0; c < work.channels; c++) sum[c] += work.sums[i][run][c];
            }
    }
}
