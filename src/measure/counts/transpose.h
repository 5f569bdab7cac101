/* 64 words of 64 bits: bit b of word x becomes bit x of word b. */
#ifndef CRD_MEASURE_TRANSPOSE_H
#define CRD_MEASURE_TRANSPOSE_H

#include <stdint.h>

typedef void crd_transpose(const uint64_t words[64], uint64_t out[64]);

/* The textbook's; one for processors that have crd_cpu_has_bit_matrices(); the one that is the fastest here. */
void crd_transpose_plain(const uint64_t words[64], uint64_t out[64]);
void crd_transpose_vectors(const uint64_t words[64], uint64_t out[64]);
crd_transpose *crd_transpose_fastest(void);

#endif
