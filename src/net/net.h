/* The network as data: DESIGN's table of layers, and where each parameter lies in a flat buffer.
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

/* The convolutions, in the order of the model's table: these numbers are the `layer` of every random stream. */
enum {
    CRD_E1A,
    CRD_E1B,
    CRD_E2A,
    CRD_E2B,
    CRD_E3A,
    CRD_E3B,
    CRD_E4A,
    CRD_E4B,
    CRD_D3UP,
    CRD_D3A,
    CRD_D3B,
    CRD_D2UP,
    CRD_D2A,
    CRD_D2B,
    CRD_D1UP,
    CRD_D1A,
    CRD_D1B,
    CRD_SPATIAL,
    CRD_POINT,
    CRD_CONV_COUNT
};
/* Dropout sites of an MCDN follow in the numbering of streams, and order the masks in a flat buffer. */
enum { CRD_MASK_LATENT, CRD_MASK_D3, CRD_MASK_D2, CRD_MASK_D1, CRD_MASK_COUNT };
/* Merge norms of decoder stages 3, 2, 1. */
enum { CRD_MERGE3, CRD_MERGE2, CRD_MERGE1, CRD_MERGE_COUNT };

typedef struct crd_conv_layer {
    const char *path; /* "decoder/3/a" */
    int kernel;       /* edge: 3, 2 or 1 */
    int level;        /* of its output: 1 = full resolution ... 4 = an eighth */
    int channels_in, channels_out;
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
    int layer; /* convolution number, or CRD_CONV_COUNT + merge number */
    int rank;  /* 5 for kernels, 1 otherwise */
    int64_t shape[5];
    int64_t offset, count; /* in the flat buffer */
} crd_parameter;

enum { CRD_PARAMETERS_MAX = 128 };
typedef struct crd_layout {
    int64_t total; /* values in the flat buffer */
    int count;
    crd_parameter parameters[CRD_PARAMETERS_MAX];
    /* Offsets by layer, -1 where there is none. kernel = loc in a Bayesian layer of the model layout. */
    int64_t kernel[CRD_CONV_COUNT], rho[CRD_CONV_COUNT], bias[CRD_CONV_COUNT];
    int64_t gamma[CRD_CONV_COUNT + CRD_MERGE_COUNT], beta[CRD_CONV_COUNT + CRD_MERGE_COUNT];
} crd_layout;

typedef struct crd_net {
    crd_kind kind;
    int filters, groups;
    crd_conv_layer layers[CRD_CONV_COUNT];
    crd_layout model; /* as stored and trained */
    crd_layout point; /* as run */
    int mask_channels[CRD_MASK_COUNT];
    int64_t mask_offset[CRD_MASK_COUNT];
    int64_t mask_total; /* floats in one set of dropout masks */
} crd_net;

/* Fills *out. filters must be a positive multiple of groups. */
crd_status crd_net_describe(crd_kind kind, int filters, int groups, crd_net *out);

/* The point layout begins with the encoder; the decoder and head, all that differs between samples, begin here. */
static inline int64_t crd_decoder_offset(const crd_net *net)
{
    return net->point.kernel[CRD_D3UP];
}

/* Every edge a multiple of 8, at least 8; the message names the nearest sizes that work. */
crd_status crd_net_check_chunk(const int64_t chunk[3]);
/* "64,128,128", of any numbers; `name` is the setting's, for the sentence. */
crd_status crd_parse_chunk(const char *name, const char *text, int64_t chunk[3]);
/* The check of such a setting: "64,128,128", each a multiple of 8, or "auto". */
crd_status crd_check_chunk(const char *name, const char *text);

#endif
