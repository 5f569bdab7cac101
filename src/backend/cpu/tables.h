/* The tables of fast CPU kernels. Each leaves layers whose channels don't fill its vectors to the next: AVX-512 to
 * AVX2, AVX2 to the portable one. */
#ifndef CRD_BACKEND_CPU_TABLES_H
#define CRD_BACKEND_CPU_TABLES_H

#include "ops/ops.h"

/* A loop that does nothing but multiply and add, to measure the peak. */
typedef struct crd_peak {
    float (*loop)(int64_t rounds);
    double flops_per_round;
} crd_peak;

#if defined(__x86_64__)
#define CRD_HAVE_X86 1
extern const crd_ops crd_ops_avx512;
extern const crd_ops crd_ops_avx512_bf16; /* what it lacks is as in crd_ops_avx512 */
extern const crd_ops crd_ops_avx2;
extern const crd_peak crd_peak_avx512;
extern const crd_peak crd_peak_avx2;
#endif

#endif
