// What all files of the plug-in share: errors, the storage types, small device helpers.
#ifndef CRD_CUDA_COMMON_CUH
#define CRD_CUDA_COMMON_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdlib.h>

#include <memory>
#include <new>

#include "backend/plugin.h"

// The library's error record, filled through the host's table (plugin.cu).
crd_status crd_cuda_fail(crd_status code, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
crd_status crd_cuda_check(cudaError_t error, const char *file, int line, const char *what);

// Which kernels: storage type, and whether those for compute capability 9.0 may be used.
struct Path {
    crd_precision precision;
    bool hopper;
};

// plugin.cu: makes the GPU the thread's own where it can be used, and says which kernels a network of so many filters
// runs on; what a plan may take of its memory.
crd_status cuda_use_device(const crd_device_settings *settings);
crd_status cuda_path_of(const crd_device_settings *settings, int filters, bool training, Path *path);
crd_status cuda_available_bytes(const crd_device_settings *settings, int64_t *bytes);

#define CUDA_FAIL(code, ...) crd_cuda_fail((code), __FILE__, __LINE__, __VA_ARGS__)
#define CUDA_PASS(call)                                                                                                \
    do {                                                                                                               \
        crd_status pass_status = crd_cuda_check((call), __FILE__, __LINE__, #call);                                    \
        if (pass_status != CRD_OK) return pass_status;                                                                 \
    } while (0)
#define PASS(call)                                                                                                     \
    do {                                                                                                               \
        crd_status pass_status = (call);                                                                               \
        if (pass_status != CRD_OK) return pass_status;                                                                 \
    } while (0)

// Zeroed host memory that ends with its scope; NULL where there is none left. What throws (std::vector, plain new) has
// no place in the plug-in: its callers are C.
struct HostFree {
    void operator()(void *memory) const
    {
        free(memory);
    }
};
template <typename V> std::unique_ptr<V[], HostFree> host_array(int64_t count)
{
    return std::unique_ptr<V[], HostFree>((V *)calloc(count > 0 ? (size_t)count : 1, sizeof(V)));
}
#define CUDA_NEED(memory)                                                                                              \
    do {                                                                                                               \
        if (!(memory)) return CUDA_FAIL(CRD_ERR_MEMORY, "not enough memory for the GPU's part of the work");           \
    } while (0)

enum { BORDER_CLASSES = 64, SLAB = 16 /* channels that one matrix instruction takes */ };

// Border class of a voxel, as in ops/ops.h.
__device__ __forceinline__ int border_axis(int i, int n)
{
    return (i == 0 ? 1 : 0) | (i == n - 1 ? 2 : 0);
}

struct Extent {
    int depth, height, width;
    __host__ __device__ long voxels() const
    {
        return (long)depth * height * width;
    }
};

// A place in a volume.
struct Place {
    int z, y, x;
};

// On which sides of a box its volume goes on: of each axis bit 0 before it, bit 1 behind it (net/crop.h).
struct Open {
    int z, y, x;
};

__device__ __forceinline__ int border_class(const Extent &e, int z, int y, int x)
{
    return border_axis(z, e.depth) << 4 | border_axis(y, e.height) << 2 | border_axis(x, e.width);
}

// What a norm's scale is divided by the root of. A variance that isn't finite ends in NaN, not in a scale of 0.
__device__ __forceinline__ double norm_variance(double variance)
{
    return (variance > 0.0 ? variance : 0.0) + 0.0 * variance + 1e-5;
}

// Both end in NaN where x isn't finite, so that no such number gets lost (ops/ops.h): 0 * x is 0 for a finite x.
__device__ __forceinline__ float relu(float x)
{
    return fmaf(x, 0.0f, fmaxf(x, 0.0f));
}
__device__ __forceinline__ float sigmoid(float x)
{
    return fmaf(x, 0.0f, 1.0f / (1.0f + expf(-x)));
}

// A 16-bit storage type: two values in a register, and the matrix product of the type.
template <typename T> struct Pair;
template <> struct Pair<__half> {
    static __device__ __forceinline__ uint32_t pack(float a, float b)
    {
        const __half2 pair = __floats2half2_rn(a, b);
        return *reinterpret_cast<const uint32_t *>(&pair);
    }
    static __device__ __forceinline__ float2 unpack(uint32_t bits)
    {
        return __half22float2(*reinterpret_cast<const __half2 *>(&bits));
    }
    static __device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
    {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
};
template <> struct Pair<__nv_bfloat16> {
    static __device__ __forceinline__ uint32_t pack(float a, float b)
    {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
        return *reinterpret_cast<const uint32_t *>(&pair);
    }
    static __device__ __forceinline__ float2 unpack(uint32_t bits)
    {
        return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162 *>(&bits));
    }
    static __device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
    {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
};

__device__ __forceinline__ void load_matrix(uint32_t (&a)[4], uint32_t shared_address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address));
}

// 16 bytes from global to shared memory, or zeros.
__device__ __forceinline__ void copy_async(uint32_t shared_address, const void *from, bool inside)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address), "l"(from), "r"(inside ? 16 : 0)
                 : "memory");
}
__device__ __forceinline__ void copies_done()
{
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
}

// A voxel of 16 channels is two pieces of 16 bytes; which comes first alternates every four voxels, so that eight
// consecutive voxels read without bank conflicts, wherever they begin.
__device__ __forceinline__ uint32_t voxel_address(uint32_t base, int voxel, int piece)
{
    return base + voxel * 32 + ((piece ^ (voxel >> 2 & 1)) << 4);
}

#endif
