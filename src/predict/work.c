#include "predict/work.h"

#include "base/assert.h"

/* The boxes of an axis don't depend on the others, so these are as short as they can be. */
static void crop_axis(const crd_net *net, int64_t window, int64_t origin, int64_t size, crd_crop *out)
{
    const int64_t step = crd_net_step(net), chunk[3] = {window, step, step};
    crd_crop_make(net, chunk, &(crd_box){{origin, 0, 0}, {size, step, step}}, out);
}

/* Most tiles of an axis are alike: the boxes of one serve the next. */
static void add_lengths(const void *context, const crd_axis_plan *axis, double *lengths)
{
    const crd_net *net = context;
    int64_t origin = -1, size = -1;
    crd_crop crop;
    for (int layer = 0; layer < net->layer_count; layer++) lengths[layer] = 0.0;
    for (int64_t i = 0; i < axis->count; i++) {
        const int64_t position = crd_axis_position(axis, i);
        int64_t begin, end;
        crd_axis_keep(axis, i, &begin, &end);
        if (begin - position != origin || end - begin != size) {
            origin = begin - position;
            size = end - begin;
            crop_axis(net, axis->window, origin, size, &crop);
        }
        for (int layer = 0; layer < net->layer_count; layer++) lengths[layer] += (double)crop.layers[layer].size[0];
    }
}

void crd_tiles_work(const crd_net *net, int64_t samples, crd_tile_work *out)
{
    CRD_ASSERT(net->layer_count <= CRD_WORK_TERMS_MAX);
    *out = (crd_tile_work){.terms = net->layer_count, .lengths = add_lengths, .context = net};
    for (int layer = 0; layer < net->layer_count; layer++) {
        out->weights[layer] = crd_voxel_cost(&net->layers[layer]) * (layer < net->decoder ? 1.0 : (double)samples);
    }
}

double crd_chunk_work(const crd_net *net, const int64_t chunk[3], int64_t samples)
{
    const crd_cost cost = crd_network_cost(net, chunk);
    return cost.encoder + (double)samples * cost.decoder;
}

/* A run on a part of the scan has a part of the tiles: about that of the work. */
double crd_run_work(const crd_request *request)
{
    const crd_net *net = &request->model->net;
    crd_tile_work work;
    int64_t chunk[3];
    if (request->seamless) {
        crd_tiles_work(net, request->samples, &work);
        return crd_plan_work(&request->plan, &work) * (double)request->chunks / (double)request->plan.count;
    }
    for (int axis = 0; axis < 3; axis++) chunk[axis] = request->plan.axes[axis].window;
    return (double)request->chunks * crd_chunk_work(net, chunk, request->samples);
}
