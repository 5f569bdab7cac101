// Hopper's matrix product of a warpgroup: 64 rows from shared memory times N columns from shared memory, 16 deep, added
// to N / 2 registers of every thread. Asynchronous: see the fences below.
#ifndef CRD_CUDA_HOPPER_WGMMA_CUH
#define CRD_CUDA_HOPPER_WGMMA_CUH

#include "backend/cuda/common.cuh"

// Twelve registers at a time (S: and eight more), as operands and as their names in the instruction.
#define WGMMA_D0(d)                                                                                                    \
    "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),        \
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
#define WGMMA_D1(d) WGMMA_D0(d), WGMMA_D0((d + 12))
#define WGMMA_DS(d)                                                                                                    \
    WGMMA_D0(d), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define WGMMA_D2(d) WGMMA_D1(d), WGMMA_D1((d + 24))
#define WGMMA_D3(d) WGMMA_D2(d), WGMMA_D1((d + 48))
#define WGMMA_D4(d) WGMMA_D2(d), WGMMA_D2((d + 48))
#define WGMMA_N0    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11"
#define WGMMA_NS    WGMMA_N0 ", %12, %13, %14, %15, %16, %17, %18, %19"
#define WGMMA_N1    WGMMA_N0 ", %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23"
#define WGMMA_N2                                                                                                       \
    WGMMA_N1 ", %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "  \
             "%44, %45, %46, %47"
#define WGMMA_N3                                                                                                       \
    WGMMA_N2 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, "  \
             "%68, %69, %70, %71"
#define WGMMA_N4                                                                                                       \
    WGMMA_N3 ", %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, "  \
             "%92, %93, %94, %95"

template <typename T, int N> struct Wgmma;
#define WGMMA_ADD(NAME, N, REGISTERS, NAMES, A, B, TRANSPOSED)                                                         \
    asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, 1, 1;\nwgmma.mma_async.sync.aligned.m64n" #N "k16.f32." NAME        \
                 "." NAME " {" NAMES "}, %" #A ", %" #B ", p, 1, 1, " TRANSPOSED ", " TRANSPOSED ";\n}"                \
                 : REGISTERS(d)                                                                                        \
                 : "l"(a), "l"(b))
// add: operands lie row by row and column by column, 16 deep each; add_transposed: depth by depth.
#define WGMMA(TYPE, NAME, N, REGISTERS, NAMES, A, B)                                                                   \
    template <> struct Wgmma<TYPE, N> {                                                                                \
        static __device__ __forceinline__ void add(float *d, uint64_t a, uint64_t b)                                   \
        {                                                                                                              \
            WGMMA_ADD(NAME, N, REGISTERS, NAMES, A, B, "0");                                                           \
        }                                                                                                              \
        static __device__ __forceinline__ void add_transposed(float *d, uint64_t a, uint64_t b)                        \
        {                                                                                                              \
            WGMMA_ADD(NAME, N, REGISTERS, NAMES, A, B, "1");                                                           \
        }                                                                                                              \
    };
#define WGMMA_SIZES(TYPE, NAME)                                                                                        \
    WGMMA(TYPE, NAME, 24, WGMMA_D0, WGMMA_N0, 12, 13)                                                                  \
    WGMMA(TYPE, NAME, 40, WGMMA_DS, WGMMA_NS, 20, 21)                                                                  \
    WGMMA(TYPE, NAME, 48, WGMMA_D1, WGMMA_N1, 24, 25)                                                                  \
    WGMMA(TYPE, NAME, 96, WGMMA_D2, WGMMA_N2, 48, 49)                                                                  \
    WGMMA(TYPE, NAME, 144, WGMMA_D3, WGMMA_N3, 72, 73)                                                                 \
    WGMMA(TYPE, NAME, 192, WGMMA_D4, WGMMA_N4, 96, 97)
WGMMA_SIZES(__half, "f16")
WGMMA_SIZES(__nv_bfloat16, "bf16")

// Before the first product of a batch: registers and shared memory are as the code says.
__device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Until at most N of the committed batches are under way.
template <int N> __device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
// Keeps the compiler from moving its own accesses of accumulators past the calls above.
template <int N> __device__ __forceinline__ void wgmma_pin(float (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(d[i])::"memory");
}

// Where an operand lies: rows of 32 bytes (16 channels) with the 32-byte swizzle, eight at a time, `stride` bytes
// between groups of eight. The start may be any multiple of 32 bytes.
__device__ __forceinline__ uint64_t operand(uint32_t shared_address, uint32_t stride)
{
    return (uint64_t)((shared_address & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)(stride >> 4) << 32 |
           (uint64_t)3 << 62;
}
// One that lies depth by depth: a row of 16 * SLABS channels for each, eight of them at a time, `stride` bytes between
// groups of eight; the next 16 * SLABS rows or columns of the product begin `lead` bytes further on. Swizzled over
// those bytes.
template <int SLABS>
__device__ __forceinline__ uint64_t transposed(uint32_t shared_address, uint32_t lead, uint32_t stride)
{
    static_assert(SLABS == 1 || SLABS == 2, "swizzles of 32 and of 64 bytes");
    return (uint64_t)((shared_address & 0x3ffff) >> 4) | (uint64_t)(lead >> 4) << 16 | (uint64_t)(stride >> 4) << 32 |
           (uint64_t)(SLABS == 1 ? 3 : 2) << 62;
}
__device__ __forceinline__ uint64_t operand_at(uint64_t base, int bytes)
{
    return base + (bytes >> 4);
}

#endif
