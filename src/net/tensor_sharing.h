/* Which layers' tensors may lie in the same memory, because one is used up before the other is made. Only tensors of
 * the same size share. All of it is in this header, because plug-ins plan their memory with it, too.
 *
 * owner[layer], for all layers up to net->head: the layer whose tensor it takes over; its own number where it has one
 * of its own. */
#ifndef CRD_NET_TENSOR_SHARING_H
#define CRD_NET_TENSOR_SHARING_H

#include "net/net.h"

/* The layer takes over the candidate's tensor, where that is idle and fits, and nothing was found before. */
static inline void crd_share_with(const crd_net *net, int layer, int candidate, bool *idle, int *owner)
{
    const crd_conv_layer *own = &net->layers[layer], *other = &net->layers[candidate];
    if (owner[layer] != layer || !idle[candidate]) return;
    if (own->level != other->level || own->channels_out != other->channels_out) return;
    owner[layer] = candidate;
    idle[candidate] = false;
}

/* What the layers give, going forward: the encoder once, the decoder any number of times. `apart`: a decoder layer
 * never takes an encoder layer's. kept[merge]: the decoder doesn't read that skip; NULL: it reads them all. */
static inline void crd_share_outputs(const crd_net *net, bool apart, const bool *kept, int owner[CRD_LAYERS_MAX])
{
    bool idle[CRD_LAYERS_MAX] = {false};
    for (int layer = 0; layer <= net->head; layer++) {
        const int source = net->layers[layer].source;
        const bool sampled = layer >= net->decoder;
        owner[layer] = layer;
        for (int i = apart && sampled ? net->decoder : 0; i < layer; i++) crd_share_with(net, layer, i, idle, owner);
        /* Its source is used up now, unless a sample comes back to it. */
        if (source == CRD_SCAN || (sampled && source < net->decoder)) continue;
        const int skipper = net->layers[source].skipper;
        if (skipper != CRD_NONE && (kept == NULL || !kept[net->layers[skipper].merge])) continue;
        idle[owner[source]] = true;
    }
}

/* The gradients of what they give, going backward through all of them. */
static inline void crd_share_gradients(const crd_net *net, int owner[CRD_LAYERS_MAX])
{
    bool idle[CRD_LAYERS_MAX] = {false};
    for (int layer = 0; layer <= net->head; layer++) owner[layer] = layer;
    for (int layer = net->head; layer >= 0; layer--) {
        const crd_conv_layer *row = &net->layers[layer];
        /* The gradients of what it read are made from its own. What it pools has one already, as a skip. */
        const int made[] = {row->pools ? CRD_NONE : row->source, row->skip};
        for (int k = 0; k < 2; k++)
            for (int i = net->head; i >= 0 && made[k] >= 0; i--) crd_share_with(net, made[k], i, idle, owner);
        idle[owner[layer]] = layer != net->head; /* whose gradient may be of another type */
    }
}

#endif
