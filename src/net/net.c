#include "net/net.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Channel counts are multiples of the base filters; 0 stands for the one channel of the scan and of the head. */
typedef struct layer_row {
    const char *path;
    int kernel, level;
    int in, out;
    bool norm, bayesian;
} layer_row;

static const layer_row layer_rows[CRD_CONV_COUNT] = {
    [CRD_E1A] = {"encoder/1/a", 3, 1, 0, 1, true, false},  [CRD_E1B] = {"encoder/1/b", 3, 1, 1, 1, true, false},
    [CRD_E2A] = {"encoder/2/a", 3, 2, 1, 2, true, false},  [CRD_E2B] = {"encoder/2/b", 3, 2, 2, 2, true, false},
    [CRD_E3A] = {"encoder/3/a", 3, 3, 2, 4, true, false},  [CRD_E3B] = {"encoder/3/b", 3, 3, 4, 4, true, false},
    [CRD_E4A] = {"encoder/4/a", 3, 4, 4, 8, true, false},  [CRD_E4B] = {"encoder/4/b", 3, 4, 8, 8, true, false},
    [CRD_D3UP] = {"decoder/3/up", 2, 3, 8, 4, true, true}, [CRD_D3A] = {"decoder/3/a", 3, 3, 8, 4, true, true},
    [CRD_D3B] = {"decoder/3/b", 3, 3, 4, 4, true, true},   [CRD_D2UP] = {"decoder/2/up", 2, 2, 4, 2, true, true},
    [CRD_D2A] = {"decoder/2/a", 3, 2, 4, 2, true, true},   [CRD_D2B] = {"decoder/2/b", 3, 2, 2, 2, true, true},
    [CRD_D1UP] = {"decoder/1/up", 2, 1, 2, 1, true, true}, [CRD_D1A] = {"decoder/1/a", 3, 1, 2, 1, true, true},
    [CRD_D1B] = {"decoder/1/b", 3, 1, 1, 1, true, true},   [CRD_SPATIAL] = {"head/spatial", 3, 1, 1, 0, false, true},
    [CRD_POINT] = {"head/point", 1, 1, 0, 0, false, true},
};

/* A merge is a norm without a convolution; its parameters stand right after those of the `up` before it. */
typedef struct merge_row {
    const char *path;
    int after;
    int channels;
} merge_row;

static const merge_row merge_rows[CRD_MERGE_COUNT] = {
    [CRD_MERGE3] = {"decoder/3/merge", CRD_D3UP, 8},
    [CRD_MERGE2] = {"decoder/2/merge", CRD_D2UP, 4},
    [CRD_MERGE1] = {"decoder/1/merge", CRD_D1UP, 2},
};

static const int mask_factors[CRD_MASK_COUNT] = {
    [CRD_MASK_LATENT] = 8,
    [CRD_MASK_D3] = 4,
    [CRD_MASK_D2] = 2,
    [CRD_MASK_D1] = 1,
};

static const char *const role_names[] = {
    [CRD_ROLE_KERNEL] = "kernel", [CRD_ROLE_LOC] = "kernel_loc", [CRD_ROLE_RHO] = "kernel_rho",
    [CRD_ROLE_BIAS] = "bias",     [CRD_ROLE_GAMMA] = "gamma",    [CRD_ROLE_BETA] = "beta",
};

/* Appends one parameter and gives its offset back. */
static int64_t append(crd_layout *layout, const char *path, crd_role role, int layer, int rank, const int64_t *shape)
{
    crd_parameter *parameter = &layout->parameters[layout->count++];
    snprintf(parameter->path, sizeof parameter->path, "%s/%s", path, role_names[role]);
    parameter->role = role;
    parameter->layer = layer;
    parameter->rank = rank;
    parameter->offset = layout->total;
    parameter->count = 1;
    for (int axis = 0; axis < rank; axis++) {
        parameter->shape[axis] = shape[axis];
        parameter->count *= shape[axis];
    }
    layout->total += parameter->count;
    return parameter->offset;
}

static void append_norm(crd_layout *layout, const char *path, int layer, int64_t channels)
{
    layout->gamma[layer] = append(layout, path, CRD_ROLE_GAMMA, layer, 1, &channels);
    layout->beta[layer] = append(layout, path, CRD_ROLE_BETA, layer, 1, &channels);
}

static void append_convolution(crd_layout *layout, const crd_conv_layer *layer, int number, bool bayesian)
{
    const int64_t edge = layer->kernel, out = layer->channels_out;
    const int64_t shape[5] = {edge, edge, edge, layer->channels_in, out};
    layout->kernel[number] = append(layout, layer->path, bayesian ? CRD_ROLE_LOC : CRD_ROLE_KERNEL, number, 5, shape);
    if (bayesian) layout->rho[number] = append(layout, layer->path, CRD_ROLE_RHO, number, 5, shape);
    layout->bias[number] = append(layout, layer->path, CRD_ROLE_BIAS, number, 1, &out);
    if (layer->norm) append_norm(layout, layer->path, number, out);
}

static void lay_out(const crd_conv_layer *layers, int filters, bool bayesian, crd_layout *layout)
{
    memset(layout, 0, sizeof *layout);
    for (int i = 0; i < CRD_CONV_COUNT; i++) layout->kernel[i] = layout->rho[i] = layout->bias[i] = -1;
    for (int i = 0; i < CRD_CONV_COUNT + CRD_MERGE_COUNT; i++) layout->gamma[i] = layout->beta[i] = -1;
    for (int i = 0; i < CRD_CONV_COUNT; i++) {
        append_convolution(layout, &layers[i], i, bayesian && layers[i].bayesian);
        for (int m = 0; m < CRD_MERGE_COUNT; m++)
            if (merge_rows[m].after == i)
                append_norm(layout, merge_rows[m].path, CRD_CONV_COUNT + m, merge_rows[m].channels * filters);
    }
}

crd_status crd_net_describe(crd_kind kind, int filters, int groups, crd_net *out)
{
    enum { FILTERS_MAX = 1024 }; /* far beyond any use; keeps every size in the network below 2^32 */
    if (kind != CRD_BCNN && kind != CRD_MCDN)
        return crd_fail(CRD_ERR_ARGUMENT, "the network kind %d is unknown: it is bcnn or mcdn", (int)kind);
    if (groups < 1 || filters < 1 || filters > FILTERS_MAX || filters % groups != 0)
        return crd_fail(CRD_ERR_ARGUMENT,
                        "a network with %d base filters and %d normalisation groups can't be built: the filters must "
                        "be a positive multiple of the groups, at most %d",
                        filters, groups, (int)FILTERS_MAX);

    memset(out, 0, sizeof *out);
    out->kind = kind;
    out->filters = filters;
    out->groups = groups;
    for (int i = 0; i < CRD_CONV_COUNT; i++) {
        const layer_row *row = &layer_rows[i];
        out->layers[i] = (crd_conv_layer){
            .path = row->path,
            .kernel = row->kernel,
            .level = row->level,
            .channels_in = row->in > 0 ? row->in * filters : 1,
            .channels_out = row->out > 0 ? row->out * filters : 1,
            .norm = row->norm,
            .bayesian = row->bayesian,
        };
    }
    lay_out(out->layers, filters, kind == CRD_BCNN, &out->model);
    lay_out(out->layers, filters, false, &out->point);
    for (int i = 0; i < CRD_MASK_COUNT; i++) {
        out->mask_channels[i] = mask_factors[i] * filters;
        out->mask_offset[i] = out->mask_total;
        out->mask_total += out->mask_channels[i];
    }
    return CRD_OK;
}

crd_status crd_net_check_chunk(const int64_t chunk[3])
{
    enum { STEP = 8, EDGE_MAX = 1 << 20 }; /* three poolings; three edges stay below 2^62 voxels */
    bool fits = true;
    int64_t low[3], high[3];
    for (int axis = 0; axis < 3; axis++) {
        int64_t edge = chunk[axis];
        fits = fits && edge >= STEP && edge <= EDGE_MAX && edge % STEP == 0;
        edge = edge < STEP ? STEP : edge > EDGE_MAX ? EDGE_MAX : edge;
        low[axis] = edge / STEP * STEP;
        high[axis] = (edge + STEP - 1) / STEP * STEP;
    }
    if (fits) return CRD_OK;

    char other[96] = "";
    if (memcmp(low, high, sizeof low) != 0)
        snprintf(other, sizeof other, " or %" PRId64 ",%" PRId64 ",%" PRId64, high[0], high[1], high[2]);
    return crd_fail(CRD_ERR_ARGUMENT,
                    "a chunk of %" PRId64 ",%" PRId64 ",%" PRId64
                    " voxels (z,y,x) doesn't fit the network, whose three "
                    "poolings need every edge to be a multiple of %d: use %" PRId64 ",%" PRId64 ",%" PRId64 "%s",
                    chunk[0], chunk[1], chunk[2], (int)STEP, low[0], low[1], low[2], other);
}
