/* The network as data: its table of layers with what each of them reads, and where each parameter lies in a flat
 * buffer. All code that walks through a network follows this table, and none knows a layer by its name.
 *
 * Two layouts exist for one shape. The *model* layout is that of the kind (a BCNN has kernel_loc and kernel_rho in the
 * decoder and head). The *point* layout is that of a plain network, one kernel per convolution: what an MCDN stores,
 * and what a BCNN becomes once its kernels are drawn. Everything that runs (net/engine.h, the backends) sees the point
 * layout only; bayes/ goes from one to the other and back. */
#ifndef CRD_NET_NET_H
#define CRD_NET_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "credence/model.h"

/* Room for a network of five levels (four poolings). */
enum { CRD_LEVELS_MAX = 5, CRD_LAYERS_MAX = 24, CRD_MERGES_MAX = 4, CRD_MASKS_MAX = 5 };

typedef enum crd_layer_op {
    CRD_LAYER_CONV, /* 3x3x3 */
    CRD_LAYER_DOWN, /* 3x3x3 of its input pooled: a level deeper */
    CRD_LAYER_UP,   /* 2x2x2 of its input enlarged twofold: a level higher */
    CRD_LAYER_POINT /* 1x1x1 */
} crd_layer_op;

enum {
    CRD_LAYER_NORM = 1,    /* a group norm follows */
    CRD_LAYER_DROPOUT = 2, /* a dropout mask follows, in an MCDN */
    CRD_LAYER_SAMPLED = 4  /* runs once a sample, Bayesian in a BCNN; without: once a chunk */
};

/* A line of a network's table. Every layer reads the one above it, the first one the scan; one with a skip reads
 * [skip, the one above], both through a norm over all their channels. A ReLU follows every layer but the last, which
 * gives the logits. */
typedef struct crd_layer_row {
    const char *path;
    crd_layer_op op;
    int channels; /* of its output: a multiple of the base filters; 0: the head's */
    int flags;
    const char *skip, *merge; /* paths of the layer to skip to and of the norm over both; NULL: none */
} crd_layer_row;

typedef struct crd_net_table {
    const crd_layer_row *rows;
    int count;
    int head_channels; /* 1: two classes; from 3 on: as many classes */
} crd_net_table;

enum { CRD_SCAN = -1, CRD_NONE = -1 };

/* A line of the table, worked out. Layers are numbered in its order: that number is the `layer` of random streams. */
typedef struct crd_conv_layer {
    const char *path; /* "decoder/3/a" */
    int kernel;       /* edge: 3, 2 or 1 */
    int level;        /* of its output: 1 = full resolution, 2 = half of it, ... */
    int channels_in, channels_out;
    int source;    /* the layer that it reads, or CRD_SCAN */
    bool pools;    /* what it reads */
    int skip;      /* the other layer that it reads, or CRD_NONE */
    int merge;     /* number of the norm over [skip, source], or CRD_NONE */
    int reader;    /* the layer whose source this is; CRD_NONE: the last */
    int skipper;   /* the layer whose skip this is, or CRD_NONE */
    int mask;      /* number of the dropout site behind it, or CRD_NONE */
    bool norm;     /* a group norm follows */
    bool bayesian; /* in a BCNN */
} crd_conv_layer;

typedef enum crd_role {
    CRD_ROLE_KERNEL,
    CRD_ROLE_LOC,
    CRD_ROLE_RHO,
    CRD_ROLE_BIAS,
    CRD_ROLE_GAMMA,
    CRD_ROLE_BETA
} crd_role;

typedef struct crd_parameter { /* one dataset of the model file */
    char path[48];             /* "decoder/3/a/kernel_loc" */
    crd_role role;
    int layer; /* its number, or crd_merge_number */
    int rank;  /* 5 for kernels, 1 otherwise */
    int64_t shape[5];
    int64_t offset, count; /* in the flat buffer */
} crd_parameter;

enum { CRD_PARAMETERS_MAX = 5 * CRD_LAYERS_MAX + 2 * CRD_MERGES_MAX };
typedef struct crd_layout {
    int64_t total; /* values in the flat buffer */
    int count;
    crd_parameter parameters[CRD_PARAMETERS_MAX];
    /* Offsets by layer, -1 where there is none. kernel = loc in a Bayesian layer of the model layout. */
    int64_t kernel[CRD_LAYERS_MAX], rho[CRD_LAYERS_MAX], bias[CRD_LAYERS_MAX];
    int64_t gamma[CRD_LAYERS_MAX + CRD_MERGES_MAX], beta[CRD_LAYERS_MAX + CRD_MERGES_MAX]; /* or crd_merge_number */
} crd_layout;

typedef struct crd_net {
    crd_kind kind;
    int filters, groups;
    int classes; /* two: the head has one channel and a sigmoid; more: one for each class, and a softmax */
    int levels, layer_count, merge_count, mask_count;
    crd_conv_layer layers[CRD_LAYERS_MAX];
    int decoder;      /* the first layer that runs once a sample */
    int head, last;   /* the last two layers, which have no norm: 3x3x3, and the 1x1x1 that gives the logits */
    crd_layout model; /* as stored and trained */
    crd_layout point; /* as run */
    int mask_channels[CRD_MASKS_MAX];
    int64_t mask_offset[CRD_MASKS_MAX];
    int64_t mask_total; /* floats in one set of dropout masks */
} crd_net;

/* Fills *out with the network that is trained and used: its table stands at the beginning of net.c. filters must be a
 * positive multiple of groups, and there are two classes. */
crd_status crd_net_describe(crd_kind kind, int filters, int groups, crd_net *out);
/* The same for 2 to CRD_CLASSES_MAX classes. */
crd_status crd_net_describe_classes(crd_kind kind, int filters, int groups, int classes, crd_net *out);
/* The same with another table, which is refused where an engine couldn't walk it. Its texts must outlive *out. */
crd_status crd_net_describe_table(const crd_net_table *table, crd_kind kind, int filters, int groups, crd_net *out);
/* The layer's number, or CRD_NONE. */
int crd_net_find(const crd_net *net, const char *path);

/* A merge norm's number among the layers: of its gamma and beta. */
static inline int crd_merge_number(const crd_net *net, int merge)
{
    return net->layer_count + merge;
}

/* Groups of all norms, those of layers without one counted in: a norm's first is its number * groups. */
static inline int64_t crd_net_moments(const crd_net *net)
{
    return (int64_t)(net->layer_count + net->merge_count) * net->groups;
}

/* Is it one of the last two layers'? */
static inline bool crd_net_in_head(const crd_net *net, const crd_parameter *parameter)
{
    return parameter->layer == net->head || parameter->layer == net->last;
}

/* Probabilities of one voxel: that of class 1 alone where there are two classes, else one for each. */
static inline int crd_net_planes(const crd_net *net)
{
    return net->layers[net->last].channels_out;
}

/* Dropout sites follow the layers in the numbering of random streams. */
static inline int crd_mask_stream(const crd_net *net, int mask)
{
    return net->layer_count + mask;
}

/* The point layout begins with the encoder; the decoder and head, all that differs between samples, begin here. */
static inline int64_t crd_decoder_offset(const crd_net *net)
{
    return net->point.kernel[net->decoder];
}

/* What every edge of a chunk is a multiple of: 2 for each pooling. net NULL: that of crd_net_describe. */
int64_t crd_net_step(const crd_net *net);
/* Refuses other chunks; the message names the nearest sizes that work. */
crd_status crd_net_check_chunk(const crd_net *net, const int64_t chunk[3]);
/* "64,128,128", of any numbers; `name` is the setting's, for the sentence. */
crd_status crd_parse_chunk(const char *name, const char *text, int64_t chunk[3]);
/* The check of such a setting: "64,128,128", each a multiple of 8, or "auto". */
crd_status crd_check_chunk(const char *name, const char *text);

#endif
