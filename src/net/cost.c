#include "net/cost.h"

double crd_layer_cost(const crd_conv_layer *layer, const int64_t chunk[3])
{
    static const double taps[] = {0.0, 1.0, 27.0 / 8.0, 27.0};
    double voxels = 1.0;
    for (int axis = 0; axis < 3; axis++) voxels *= (double)(chunk[axis] >> (layer->level - 1));
    return 2.0 * taps[layer->kernel] * layer->channels_in * layer->channels_out * voxels;
}

crd_cost crd_network_cost(const crd_net *net, const int64_t chunk[3])
{
    crd_cost cost = {0};
    for (int layer = 0; layer < net->layer_count; layer++) {
        *(layer < net->decoder ? &cost.encoder : &cost.decoder) += crd_layer_cost(&net->layers[layer], chunk);
    }
    return cost;
}

double crd_training_cost(const crd_net *net, const int64_t chunk[3])
{
    const crd_cost cost = crd_network_cost(net, chunk);
    return 3.0 * (cost.encoder + cost.decoder) - crd_layer_cost(&net->layers[0], chunk); /* the scan has no gradient */
}
