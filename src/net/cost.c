#include "net/cost.h"

double crd_voxel_cost(const crd_conv_layer *layer)
{
    static const double taps[] = {0.0, 1.0, 27.0 / 8.0, 27.0};
    return 2.0 * taps[layer->kernel] * layer->channels_in * layer->channels_out;
}

double crd_layer_cost(const crd_conv_layer *layer, const int64_t chunk[3])
{
    double voxels = 1.0;
    for (int axis = 0; axis < 3; axis++) voxels *= (double)(chunk[axis] >> (layer->level - 1));
    return crd_voxel_cost(layer) * voxels;
}

crd_cost crd_network_cost(const crd_net *net, const int64_t chunk[3])
{
    crd_cost cost = {0};
    for (int layer = 0; layer < net->layer_count; layer++) {
        *(layer < net->decoder ? &cost.encoder : &cost.decoder) += crd_layer_cost(&net->layers[layer], chunk);
    }
    return cost;
}

crd_cost crd_crop_cost(const crd_net *net, const crd_crop *crop)
{
    crd_cost cost = {0};
    for (int layer = 0; layer < net->layer_count; layer++) {
        const int64_t *size = crop->layers[layer].size;
        const double voxels = (double)size[0] * (double)size[1] * (double)size[2];
        *(layer < net->decoder ? &cost.encoder : &cost.decoder) += crd_voxel_cost(&net->layers[layer]) * voxels;
    }
    return cost;
}

double crd_training_cost(const crd_net *net, const int64_t chunk[3])
{
    const crd_cost cost = crd_network_cost(net, chunk);
    return 3.0 * (cost.encoder + cost.decoder) - crd_layer_cost(&net->layers[0], chunk); /* the scan has no gradient */
}
