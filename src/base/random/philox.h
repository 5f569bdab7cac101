/* Philox4x32-10 (Salmon et al. 2011), and what the project draws with it.
 *
 * key = seed (low and high word); counter = {element / 4, layer << 16 | purpose, step_or_sample, example_or_chunk};
 * the element's word is element % 4. These numbers never change: a model and a seed are a result.
 * Layers and purposes are below 2^16; a stream has 2^34 elements, and begins anew after them. */
#ifndef CRD_BASE_RANDOM_PHILOX_H
#define CRD_BASE_RANDOM_PHILOX_H

#include <stdint.h>

/* Only ever added to; values are fixed for ever. */
enum crd_purpose {
    CRD_PURPOSE_WEIGHT_NOISE = 1, /* eps of a Bayesian convolution's weights */
    CRD_PURPOSE_SIGN_IN = 2,      /* flipout's sign per input channel */
    CRD_PURPOSE_SIGN_OUT = 3,     /* flipout's sign per output channel */
    CRD_PURPOSE_DROPOUT = 4,      /* spatial dropout masks */
    CRD_PURPOSE_INIT_LOC = 5,
    CRD_PURPOSE_INIT_RHO = 6,
    CRD_PURPOSE_INIT_BIAS = 7,
    CRD_PURPOSE_INIT_KERNEL = 8, /* Glorot uniform of plain convolutions */
    CRD_PURPOSE_SHUFFLE = 9,     /* order of chunks in an epoch */
    CRD_PURPOSE_AUGMENT = 10,
    CRD_PURPOSE_PROBE = 11,        /* voxels kept for convergence plots */
    CRD_PURPOSE_PHANTOM = 12,      /* phantoms; `layer` numbers the ingredient */
    CRD_PURPOSE_PIECES = 13,       /* places of the pieces that frozen norms are measured in; `layer` is the axis */
    CRD_PURPOSE_CERTIFICATE = 14,  /* places on the borders of tiles; `layer` is the question */
    CRD_PURPOSE_HELD_BACK = 18,    /* blocks of labels that a training holds back; `layer` is the axis */
    CRD_PURPOSE_MEMBER = 24,       /* seeds of an ensemble's members */
    CRD_PURPOSE_HELD_OUT_BOX = 25, /* places of held-out boxes in the viewer; `layer` is the axis, `step` the loop */
    CRD_PURPOSE_PROPOSAL = 26      /* order of boxes that are proposed at random; `step` is the loop */
};

typedef struct crd_stream { /* one sequence of random numbers, addressed by element */
    uint64_t seed;
    uint32_t layer, purpose, step, example;
} crd_stream;

void crd_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

uint32_t crd_random_u32(const crd_stream *stream, uint64_t element);
/* Words [first, first + count) of the stream. */
void crd_random_fill_u32(const crd_stream *stream, uint64_t first, int64_t count, uint32_t *out);
/* Uniform in (0, 1): (k + 0.5) / 2^32. */
double crd_random_uniform(const crd_stream *stream, uint64_t element);
/* A whole number in [0, n), of n below 2^32: from the same word. */
int64_t crd_random_below(const crd_stream *stream, uint64_t element, int64_t n);
/* Standard normal, the same bits on any machine. */
float crd_random_normal(const crd_stream *stream, uint64_t element);
void crd_random_fill_normal(const crd_stream *stream, uint64_t first, int64_t count, float *out);
/* From the word's highest bit: +1 where it is set (the normal's sign), else -1. */
float crd_random_sign(const crd_stream *stream, uint64_t element);

/* The transform behind crd_random_normal: inverse CDF at (k + 0.5) / 2^32. */
float crd_normal_from_u32(uint32_t k);

#endif
