#include "base/cpu.h"

#include <stdatomic.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

static crd_cpu look(void)
{
#ifdef __x86_64__
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return CRD_CPU_PORTABLE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return CRD_CPU_AVX2;
    return __builtin_cpu_supports("avx512bf16") ? CRD_CPU_AVX512_BF16 : CRD_CPU_AVX512;
#else
    return CRD_CPU_PORTABLE;
#endif
}

static crd_cpu best(void)
{
    static atomic_int known = -1; /* whoever looks finds the same */
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level < 0) {
        level = (int)look();
        atomic_store_explicit(&known, level, memory_order_relaxed);
    }
    return (crd_cpu)level;
}

bool crd_cpu_has(crd_cpu level)
{
    return level <= best();
}

bool crd_cpu_has_sha(void)
{
#ifdef __x86_64__
    unsigned a, b, c, d;
    if (!__builtin_cpu_supports("sse4.1")) return false;
    /* Not all our compilers know a name for it: bit 29 of EBX of leaf 7. */
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0;
#else
    return false;
#endif
}

bool crd_cpu_has_bit_matrices(void)
{
#ifdef __x86_64__
    return crd_cpu_has(CRD_CPU_AVX512) && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vpopcntdq") &&
           __builtin_cpu_supports("gfni");
#else
    return false;
#endif
}

const char *crd_cpu_name(crd_cpu level)
{
    static const char *const names[] = {"portable", "avx2", "avx512", "avx512, bf16"};
    return names[level];
}

int crd_cpu_path(void)
{
    const int level = (int)best();
    return level < CRD_CPU_PATH_COUNT ? level : CRD_CPU_PATH_COUNT - 1;
}
