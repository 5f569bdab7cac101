/* Pieces of the training scans that stand for all of them: what the statistics of frozen norms are taken from. */
#ifndef CRD_NET_PIECES_H
#define CRD_NET_PIECES_H

#include <stdint.h>

enum { CRD_PIECES_MAX = 64, CRD_PIECE_VOXELS_MAX = 1 << 22 }; /* voxels of all pieces together */

typedef struct crd_pieces {
    int64_t count;   /* 0: there are none */
    int64_t size[3]; /* of each */
    float *voxels;   /* [count][z][y][x], normalised grey values, rounded to half precision */
} crd_pieces;

static inline int64_t crd_piece_voxels(const crd_pieces *pieces)
{
    return pieces->size[0] * pieces->size[1] * pieces->size[2];
}

#endif
