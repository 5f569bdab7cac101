/* A network by another table than the usual one, for the tests of all that walks through networks. */
#ifndef CRD_TESTS_NET_TABLES_H
#define CRD_TESTS_NET_TABLES_H

#include "net/net.h"

enum {
    ENCODER = CRD_LAYER_NORM,
    DECODER = CRD_LAYER_NORM | CRD_LAYER_SAMPLED,
    HEAD = CRD_LAYER_SAMPLED,
    DROPOUT = CRD_LAYER_DROPOUT
};

/* Three levels: two poolings. */
static const crd_layer_row three_levels[] = {
    {"encoder/1/a", CRD_LAYER_CONV, 1, ENCODER, NULL, NULL},
    {"encoder/1/b", CRD_LAYER_CONV, 1, ENCODER, NULL, NULL},
    {"encoder/2/a", CRD_LAYER_DOWN, 2, ENCODER, NULL, NULL},
    {"encoder/2/b", CRD_LAYER_CONV, 2, ENCODER, NULL, NULL},
    {"encoder/3/a", CRD_LAYER_DOWN, 4, ENCODER, NULL, NULL},
    {"encoder/3/b", CRD_LAYER_CONV, 4, ENCODER | DROPOUT, NULL, NULL},
    {"decoder/2/up", CRD_LAYER_UP, 2, DECODER, NULL, NULL},
    {"decoder/2/a", CRD_LAYER_CONV, 2, DECODER, "encoder/2/b", "decoder/2/merge"},
    {"decoder/2/b", CRD_LAYER_CONV, 2, DECODER | DROPOUT, NULL, NULL},
    {"decoder/1/up", CRD_LAYER_UP, 1, DECODER, NULL, NULL},
    {"decoder/1/a", CRD_LAYER_CONV, 1, DECODER, "encoder/1/b", "decoder/1/merge"},
    {"decoder/1/b", CRD_LAYER_CONV, 1, DECODER | DROPOUT, NULL, NULL},
    {"head/spatial", CRD_LAYER_CONV, 0, HEAD, NULL, NULL},
    {"head/point", CRD_LAYER_POINT, 0, HEAD, NULL, NULL},
};

/* No two stages alike, and channels that don't follow the levels. */
static const crd_layer_row uneven[] = {
    {"fine", CRD_LAYER_CONV, 2, ENCODER, NULL, NULL},
    {"coarse/a", CRD_LAYER_DOWN, 3, ENCODER, NULL, NULL},
    {"coarse/b", CRD_LAYER_CONV, 1, ENCODER, NULL, NULL},
    {"coarse/c", CRD_LAYER_CONV, 1, ENCODER, NULL, NULL},
    {"up", CRD_LAYER_UP, 2, DECODER, NULL, NULL},
    {"join", CRD_LAYER_CONV, 2, DECODER | DROPOUT, "fine", "merge"},
    {"after/a", CRD_LAYER_CONV, 2, DECODER, NULL, NULL},
    {"after/b", CRD_LAYER_CONV, 2, DECODER | DROPOUT, NULL, NULL},
    {"after/c", CRD_LAYER_CONV, 1, DECODER, NULL, NULL},
    {"head/spatial", CRD_LAYER_CONV, 0, HEAD, NULL, NULL},
    {"head/point", CRD_LAYER_POINT, 0, HEAD, NULL, NULL},
};

/* One level: nothing to pool, and nothing to skip to. */
static const crd_layer_row flat[] = {
    {"encoder", CRD_LAYER_CONV, 1, ENCODER | DROPOUT, NULL, NULL},
    {"decoder", CRD_LAYER_CONV, 1, DECODER, NULL, NULL},
    {"head/spatial", CRD_LAYER_CONV, 0, HEAD, NULL, NULL},
    {"head/point", CRD_LAYER_POINT, 0, HEAD, NULL, NULL},
};

#define TABLE(rows)                                                                                                    \
    {                                                                                                                  \
        rows, sizeof rows / sizeof rows[0], 1                                                                          \
    }

#endif
