/* Shares of the parameters, for processes that divide the work of a step. */
#include "bayes/posterior.h"

/* What one Bayesian weight costs in a step, in units of what a point costs: two values for Adam, the KL, sigma. */
enum { BAYES_COST = 6 };

/* A place between two blocks. */
typedef struct cut {
    int64_t block, point_block;
} cut;

static int64_t place_of_block(const crd_posterior *posterior, int64_t i)
{
    const crd_bayes_block *block = &posterior->blocks[i];
    return i < posterior->block_count ? block->layer->kernel + block->first : posterior->net->point.total;
}

static int64_t place_of_points(const crd_posterior *posterior, int64_t i)
{
    return i < posterior->point_block_count ? posterior->point_blocks[i].point : posterior->net->point.total;
}

/* The block after the cut is a Bayesian one. */
static bool bayes_is_next(const crd_posterior *posterior, cut at)
{
    return place_of_block(posterior, at.block) < place_of_points(posterior, at.point_block);
}

static bool at_end(const crd_posterior *posterior, cut at)
{
    return at.block == posterior->block_count && at.point_block == posterior->point_block_count;
}

/* Where share `rank` of `size` begins. */
static cut find_cut(const crd_posterior *posterior, int size, int rank)
{
    const int64_t total = posterior->net->point.total + (BAYES_COST - 1) * posterior->weights;
    const int64_t wanted = total / size * rank + total % size * rank / size;
    int64_t cost = 0;
    cut at = {0, 0};
    while (cost < wanted && !at_end(posterior, at)) {
        if (bayes_is_next(posterior, at)) {
            cost += BAYES_COST * posterior->blocks[at.block++].count;
        } else {
            cost += posterior->point_blocks[at.point_block++].count;
        }
    }
    return at;
}

static int64_t place(const crd_posterior *posterior, cut at)
{
    return bayes_is_next(posterior, at) ? place_of_block(posterior, at.block)
                                        : place_of_points(posterior, at.point_block);
}

static int64_t weights_before(const crd_posterior *posterior, int64_t i)
{
    return i < posterior->block_count ? posterior->blocks[i].layer->first + posterior->blocks[i].first
                                      : posterior->weights;
}

/* Adds a range to a list, growing the one that it continues. */
static void add_range(crd_range *list, int *count, int64_t begin, int64_t size)
{
    for (int i = 0; i < *count; i++) {
        if (list[i].end != begin) continue;
        list[i].end += size;
        return;
    }
    list[(*count)++] = (crd_range){begin, begin + size};
}

/* Layer by layer, so that the pieces of one layer grow into one range before the next one's come. */
static void list_ranges(const crd_posterior *posterior, cut at, crd_posterior_part *part)
{
    while (at.block < part->blocks.end || at.point_block < part->point_blocks.end) {
        if (bayes_is_next(posterior, at)) {
            const crd_bayes_layer *layer = posterior->blocks[at.block].layer;
            const int64_t first = posterior->blocks[at.block].first;
            int64_t count = 0;
            for (; at.block < part->blocks.end && posterior->blocks[at.block].layer == layer; at.block++) {
                count += posterior->blocks[at.block].count;
            }
            add_range(part->model, &part->model_count, layer->loc + first, count);
            add_range(part->seen, &part->seen_count, layer->loc + first, count);
            add_range(part->model, &part->model_count, layer->rho + first, count);
        } else {
            const crd_point_block *block = &posterior->point_blocks[at.point_block++];
            add_range(part->model, &part->model_count, block->model, block->count);
            add_range(part->seen, &part->seen_count, block->model, block->count);
        }
    }
}

void crd_posterior_part_make(const crd_posterior *posterior, int size, int rank, crd_posterior_part *out)
{
    const cut begin = find_cut(posterior, size, rank), end = find_cut(posterior, size, rank + 1);
    *out = (crd_posterior_part){
        .blocks = {begin.block, end.block},
        .point_blocks = {begin.point_block, end.point_block},
        .points = {place(posterior, begin), place(posterior, end)},
        .weights = {weights_before(posterior, begin.block), weights_before(posterior, end.block)},
    };
    list_ranges(posterior, begin, out);
}
