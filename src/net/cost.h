/* Floating-point operations of the network: what throughput is counted in. */
#ifndef CRD_NET_COST_H
#define CRD_NET_COST_H

#include "net/crop.h"

typedef struct crd_cost {
    double encoder; /* of one chunk, forward */
    double decoder; /* of one sample of it */
} crd_cost;

/* A multiply-add is two. Plain convolutions, whatever the kernels really do; upsampling + 2x2x2 counts as the 27/8 taps
 * that it needs at the low resolution. Norms, pools and activations don't count. */
double crd_layer_cost(const crd_conv_layer *layer, const int64_t chunk[3]);
double crd_voxel_cost(const crd_conv_layer *layer); /* of one voxel that it gives */
crd_cost crd_network_cost(const crd_net *net, const int64_t chunk[3]);
/* Of the layers as far as a part of a chunk needs them. */
crd_cost crd_crop_cost(const crd_net *net, const crd_crop *crop);

/* Forward and backward of one example: the gradients of data and kernels cost as much as the forward pass each. */
double crd_training_cost(const crd_net *net, const int64_t chunk[3]);

#endif
