#include "net/net.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    ENCODER = CRD_LAYER_NORM,
    DECODER = CRD_LAYER_NORM | CRD_LAYER_SAMPLED,
    HEAD = CRD_LAYER_SAMPLED,
    DROPOUT = CRD_LAYER_DROPOUT
};

static const crd_layer_row rows[] = {
    {"encoder/1/a", CRD_LAYER_CONV, 1, ENCODER, NULL, NULL},
    {"encoder/1/b", CRD_LAYER_CONV, 1, ENCODER, NULL, NULL},
    {"encoder/2/a", CRD_LAYER_DOWN, 2, ENCODER, NULL, NULL},
    {"encoder/2/b", CRD_LAYER_CONV, 2, ENCODER, NULL, NULL},
    {"encoder/3/a", CRD_LAYER_DOWN, 4, ENCODER, NULL, NULL},
    {"encoder/3/b", CRD_LAYER_CONV, 4, ENCODER, NULL, NULL},
    {"encoder/4/a", CRD_LAYER_DOWN, 8, ENCODER, NULL, NULL},
    {"encoder/4/b", CRD_LAYER_CONV, 8, ENCODER | DROPOUT, NULL, NULL},
    {"decoder/3/up", CRD_LAYER_UP, 4, DECODER, NULL, NULL},
    {"decoder/3/a", CRD_LAYER_CONV, 4, DECODER, "encoder/3/b", "decoder/3/merge"},
    {"decoder/3/b", CRD_LAYER_CONV, 4, DECODER | DROPOUT, NULL, NULL},
    {"decoder/2/up", CRD_LAYER_UP, 2, DECODER, NULL, NULL},
    {"decoder/2/a", CRD_LAYER_CONV, 2, DECODER, "encoder/2/b", "decoder/2/merge"},
    {"decoder/2/b", CRD_LAYER_CONV, 2, DECODER | DROPOUT, NULL, NULL},
    {"decoder/1/up", CRD_LAYER_UP, 1, DECODER, NULL, NULL},
    {"decoder/1/a", CRD_LAYER_CONV, 1, DECODER, "encoder/1/b", "decoder/1/merge"},
    {"decoder/1/b", CRD_LAYER_CONV, 1, DECODER | DROPOUT, NULL, NULL},
    {"head/spatial", CRD_LAYER_CONV, 0, HEAD, NULL, NULL},
    {"head/point", CRD_LAYER_POINT, 0, HEAD, NULL, NULL},
};

static crd_net_table usual_table(int classes)
{
    return (crd_net_table){rows, sizeof rows / sizeof rows[0], classes == 2 ? 1 : classes};
}

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

/* A merge norm's parameters stand before those of the layer that reads it. */
static void lay_out(const crd_net *net, const crd_net_table *table, bool bayesian, crd_layout *layout)
{
    for (int i = 0; i < CRD_LAYERS_MAX; i++) layout->kernel[i] = layout->rho[i] = layout->bias[i] = -1;
    for (int i = 0; i < CRD_LAYERS_MAX + CRD_MERGES_MAX; i++) layout->gamma[i] = layout->beta[i] = -1;
    for (int i = 0; i < net->layer_count; i++) {
        const crd_conv_layer *layer = &net->layers[i];
        if (layer->merge != CRD_NONE) {
            append_norm(layout, table->rows[i].merge, crd_merge_number(net, layer->merge), layer->channels_in);
        }
        append_convolution(layout, layer, i, bayesian && layer->bayesian);
    }
}

int crd_net_find(const crd_net *net, const char *path)
{
    for (int i = 0; i < net->layer_count; i++)
        if (strcmp(net->layers[i].path, path) == 0) return i;
    return CRD_NONE;
}

static int count_of(const crd_net_table *table, crd_layer_op op)
{
    int count = 0;
    for (int i = 0; i < table->count; i++) count += table->rows[i].op == op;
    return count;
}

static void join_skip(crd_net *net, crd_conv_layer *layer, const char *path)
{
    layer->skip = crd_net_find(net, path);
    layer->merge = net->merge_count++;
    if (layer->skip == CRD_NONE) return;
    layer->channels_in += net->layers[layer->skip].channels_out;
    net->layers[layer->skip].skipper = net->layer_count;
}

static void drop_behind(crd_net *net, crd_conv_layer *layer)
{
    layer->mask = net->mask_count++;
    net->mask_channels[layer->mask] = layer->channels_out;
    net->mask_offset[layer->mask] = net->mask_total;
    net->mask_total += layer->channels_out;
}

static void add_layer(crd_net *net, const crd_layer_row *row, int head_channels)
{
    static const int edges[] = {[CRD_LAYER_CONV] = 3, [CRD_LAYER_DOWN] = 3, [CRD_LAYER_UP] = 2, [CRD_LAYER_POINT] = 1};
    const int source = net->layer_count > 0 ? net->layer_count - 1 : CRD_SCAN;
    crd_conv_layer *layer = &net->layers[net->layer_count], *above = source != CRD_SCAN ? &net->layers[source] : NULL;
    *layer = (crd_conv_layer){
        .path = row->path,
        .kernel = edges[row->op],
        .level = (above != NULL ? above->level : 1) + (row->op == CRD_LAYER_DOWN) - (row->op == CRD_LAYER_UP),
        .channels_in = above != NULL ? above->channels_out : 1,
        .channels_out = row->channels > 0 ? row->channels * net->filters : head_channels,
        .source = source,
        .pools = row->op == CRD_LAYER_DOWN,
        .skip = CRD_NONE,
        .merge = CRD_NONE,
        .reader = CRD_NONE,
        .skipper = CRD_NONE,
        .mask = CRD_NONE,
        .norm = (row->flags & CRD_LAYER_NORM) != 0,
        .bayesian = (row->flags & CRD_LAYER_SAMPLED) != 0,
    };
    if (above != NULL) above->reader = net->layer_count;
    if (row->skip != NULL) join_skip(net, layer, row->skip);
    if ((row->flags & CRD_LAYER_DROPOUT) != 0) drop_behind(net, layer);
    if (!layer->bayesian) net->decoder = net->layer_count + 1;
    net->layer_count++;
}

/* What the walkers rely on. */
static bool fits(const crd_net *net, int number, const crd_layer_row *row)
{
    const crd_conv_layer *layer = &net->layers[number];
    const crd_conv_layer *source = layer->source != CRD_SCAN ? &net->layers[layer->source] : NULL;
    const bool sampled = number >= net->decoder, in_head = number >= net->head;
    const bool plain = layer->kernel != 2 && !layer->pools && layer->merge == CRD_NONE;
    if (layer->bayesian != sampled || layer->level < 1 || (layer->kernel == 1) != (number == net->last)) return false;
    if (source == NULL && (sampled || !plain)) return false;
    if (layer->norm == in_head || (row->channels == 0) != in_head) return false;
    if (in_head) return sampled && plain && layer->level == 1 && layer->mask == CRD_NONE;

    /* The encoder pools, what it pools is skipped to, and a mask at its end comes with the samples. */
    const crd_conv_layer *reader = &net->layers[layer->reader];
    if ((layer->pools && sampled) || reader->pools != (layer->skipper != CRD_NONE)) return false;
    if (layer->mask != CRD_NONE && !sampled && layer->reader != net->decoder) return false;
    /* The decoder merges each `up` with a layer of the encoder of the same size. */
    if ((layer->kernel == 2) != (reader->merge != CRD_NONE) || (layer->kernel == 2 && !sampled)) return false;
    if (layer->merge == CRD_NONE) return true;
    const crd_conv_layer *skip = layer->skip != CRD_NONE ? &net->layers[layer->skip] : NULL;
    return skip != NULL && skip->skipper == number && !skip->bayesian && skip->level == source->level &&
           skip->channels_out == source->channels_out;
}

static crd_status check_table(const crd_net_table *table)
{
    const int levels = count_of(table, CRD_LAYER_DOWN) + 1;
    int masks = 0;
    for (int i = 0; i < table->count; i++) masks += (table->rows[i].flags & CRD_LAYER_DROPOUT) != 0;
    if (table->count < 3 || table->count > CRD_LAYERS_MAX || levels > CRD_LEVELS_MAX || masks > CRD_MASKS_MAX)
        return crd_fail(CRD_ERR_INTERNAL, "there is no room for a network of %d layers and %d levels", table->count,
                        levels);
    if (table->head_channels != 1 && (table->head_channels < 3 || table->head_channels > CRD_CLASSES_MAX))
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "a network whose head has %d channels can't be run: it must have one, for two classes, or one "
                        "for each of 3 to %d classes",
                        table->head_channels, (int)CRD_CLASSES_MAX);
    return CRD_OK;
}

crd_status crd_net_describe_table(const crd_net_table *table, crd_kind kind, int filters, int groups, crd_net *out)
{
    enum { FILTERS_MAX = 1024 }; /* far beyond any use; keeps every size in the network below 2^32 */
    if (kind != CRD_BCNN && kind != CRD_MCDN)
        return crd_fail(CRD_ERR_ARGUMENT, "the network kind %d is unknown: it is bcnn or mcdn", (int)kind);
    if (groups < 1 || filters < 1 || filters > FILTERS_MAX || filters % groups != 0)
        return crd_fail(CRD_ERR_ARGUMENT,
                        "a network with %d base filters and %d normalisation groups can't be built: the filters must "
                        "be a positive multiple of the groups, at most %d",
                        filters, groups, (int)FILTERS_MAX);
    CRD_PASS(check_table(table));

    memset(out, 0, sizeof *out);
    out->kind = kind;
    out->filters = filters;
    out->groups = groups;
    out->classes = table->head_channels == 1 ? 2 : table->head_channels;
    out->levels = count_of(table, CRD_LAYER_DOWN) + 1;
    for (int i = 0; i < table->count; i++) add_layer(out, &table->rows[i], table->head_channels);
    out->last = out->layer_count - 1;
    out->head = out->layers[out->last].source;
    for (int i = 0; i < out->layer_count; i++) {
        if (!fits(out, i, &table->rows[i]))
            return crd_fail(CRD_ERR_INTERNAL, "the network's layer %s doesn't fit the others", out->layers[i].path);
    }
    lay_out(out, table, kind == CRD_BCNN, &out->model);
    lay_out(out, table, false, &out->point);
    return CRD_OK;
}

crd_status crd_net_describe(crd_kind kind, int filters, int groups, crd_net *out)
{
    return crd_net_describe_classes(kind, filters, groups, 2, out);
}

crd_status crd_net_describe_classes(crd_kind kind, int filters, int groups, int classes, crd_net *out)
{
    if (classes < 2 || classes > CRD_CLASSES_MAX)
        return crd_fail(CRD_ERR_ARGUMENT, "a network can't tell %d classes apart: it must be 2 to %d", classes,
                        (int)CRD_CLASSES_MAX);
    const crd_net_table table = usual_table(classes);
    return crd_net_describe_table(&table, kind, filters, groups, out);
}

static int poolings(const crd_net *net)
{
    const crd_net_table usual = usual_table(2);
    return net != NULL ? net->levels - 1 : count_of(&usual, CRD_LAYER_DOWN);
}

int64_t crd_net_step(const crd_net *net)
{
    return INT64_C(1) << poolings(net);
}

crd_status crd_net_check_chunk(const crd_net *net, const int64_t chunk[3])
{
    enum { EDGE_MAX = 1 << 20 }; /* three edges stay below 2^62 voxels */
    static const char *const words[CRD_LEVELS_MAX] = {"no", "one", "two", "three", "four"};
    const int64_t step = crd_net_step(net);
    bool fits = true;
    int64_t low[3], high[3];
    for (int axis = 0; axis < 3; axis++) {
        int64_t edge = chunk[axis];
        fits = fits && edge >= step && edge <= EDGE_MAX && edge % step == 0;
        edge = edge < step ? step : edge > EDGE_MAX ? EDGE_MAX : edge;
        low[axis] = edge / step * step;
        high[axis] = (edge + step - 1) / step * step;
    }
    if (fits) return CRD_OK;

    char other[96] = "";
    if (memcmp(low, high, sizeof low) != 0)
        snprintf(other, sizeof other, " or %" PRId64 ",%" PRId64 ",%" PRId64, high[0], high[1], high[2]);
    return crd_fail(CRD_ERR_ARGUMENT,
                    "a chunk of %" PRId64 ",%" PRId64 ",%" PRId64 " voxels (z,y,x) doesn't fit the network, whose %s "
                    "poolings need every edge to be a multiple of %" PRId64 ": use %" PRId64 ",%" PRId64 ",%" PRId64
                    "%s",
                    chunk[0], chunk[1], chunk[2], words[poolings(net)], step, low[0], low[1], low[2], other);
}
