/* Which vector instructions this processor has, and loops that are compiled for each of them from one source. */
#ifndef CRD_BASE_CPU_H
#define CRD_BASE_CPU_H

#include <stdbool.h>

/* Each has all that the ones before it have. */
typedef enum crd_cpu {
    CRD_CPU_PORTABLE,
    CRD_CPU_AVX2,       /* and FMA */
    CRD_CPU_AVX512,     /* F, BW, DQ and VL */
    CRD_CPU_AVX512_BF16 /* has no loops of its own, only convolutions */
} crd_cpu;

bool crd_cpu_has(crd_cpu level);
const char *crd_cpu_name(crd_cpu level);

/* Whether there are instructions for SHA-256 (and SSE4.1, which goes with them): on processors of any of the levels. */
bool crd_cpu_has_sha(void);

/* Whether bits and bytes move about in vectors of 64 bytes as they please (GFNI, VBMI, VBMI2, VPOPCNTDQ beside
 * AVX-512): on processors from Ice Lake and Zen 4 on. */
bool crd_cpu_has_bit_matrices(void);

/* CRD_CPU_PATHS(PATH) is PATH(name, target) for every path that this program has: `target` goes before a function, and
 * a table made of them has its rows in the order of the levels. All paths give the same bits, so which one runs is
 * nobody's choice but the machine's; the tests run them all. */
#ifdef __x86_64__
#define CRD_CPU_PATHS(PATH)                                                                                            \
    PATH(portable, )                                                                                                   \
    PATH(avx2, __attribute__((target("avx2"))))                                                                        \
    PATH(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))))
enum { CRD_CPU_PATH_COUNT = CRD_CPU_AVX512 + 1 };
#else
#define CRD_CPU_PATHS(PATH) PATH(portable, )
enum { CRD_CPU_PATH_COUNT = 1 };
#endif

/* The row of such a table that is the fastest here. */
int crd_cpu_path(void);

#endif
