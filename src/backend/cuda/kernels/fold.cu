#include "backend/cuda/kernels/layers.cuh"

__device__ __forceinline__ bool offset_inside(int edge, int k, int axis_class)
{
    const int offset = edge == 3 ? k - 1 : k;
    return offset < 0 ? (axis_class & 1) == 0 : offset > 0 ? (axis_class & 2) == 0 : true;
}

__device__ __forceinline__ bool tap_inside(int edge, int tap, int border, const Open &open)
{
    return offset_inside(edge, tap / (edge * edge), border >> 4 & ~open.z) &&
           offset_inside(edge, tap / edge % edge, border >> 2 & 3 & ~open.y) &&
           offset_inside(edge, tap % edge, border & 3 & ~open.x);
}

// A block has a thread for each of 27 taps and 16 output channels, or packs as many pieces of the kernel: what folding
// needs is one launch, because most of a small network's time would go to the gaps between several.
enum { TAPS = 27, OUTS = 16, THREADS = TAPS * OUTS };

// Bias by border class, of 16 output channels: that of the layer, and what each tap adds where it reads inside.
__device__ void fold_bias(const FoldArguments &p, int edge, int first)
{
    __shared__ float added[TAPS][OUTS];
    const int tap = threadIdx.x / OUTS, sample = blockIdx.y, taps = edge * edge * edge;
    const int out = first + threadIdx.x % OUTS;
    if (p.shift != nullptr && tap < taps && out < p.out) {
        const float *kernel = p.kernel + sample * p.kernel_stride + (long)tap * p.in * p.out + out;
        const float *shift = p.shift + sample * p.affine_stride;
        float total = 0.0f;
#pragma unroll 16
        for (int in = 0; in < p.in; in++) total = fmaf(kernel[(long)in * p.out], shift[in], total);
        added[tap][threadIdx.x % OUTS] = total;
    }
    __syncthreads();
    if (out >= p.out) return;
    for (int border = tap; border < BORDER_CLASSES; border += TAPS) {
        float total = p.bias[out];
        for (int k = 0; p.shift != nullptr && k < taps; k++) {
            if (tap_inside(edge, k, border, p.open)) total += added[k][threadIdx.x % OUTS];
        }
        p.bias_classes[((long)sample * BORDER_CLASSES + border) * p.out + out] = total;
    }
}

struct Weight { // a folded weight, by tap of the plain kernel
    const FoldArguments &p;
    int sample;
    __device__ float operator()(int tap, int in, int out) const
    {
        const float scale = p.scale == nullptr ? 1.0f : p.scale[sample * p.affine_stride + in];
        return p.kernel[sample * p.kernel_stride + ((long)tap * p.in + in) * p.out + out] * scale;
    }
};

// Weight of one of the 27 taps of the eight parities: the sum of the plain taps that fall on the same input voxel.
__device__ float up_weight(const Weight &weight, int combined, int in, int out)
{
    int parity = 0, rest = combined;
    for (; parity < 8; parity++) {
        const int taps = (1 + (parity >> 2)) * (1 + (parity >> 1 & 1)) * (1 + (parity & 1));
        if (rest < taps) break;
        rest -= taps;
    }
    const int pz = parity >> 2, py = parity >> 1 & 1, px = parity & 1;
    const int c = rest % (1 + px), b = rest / (1 + px) % (1 + py), a = rest / ((1 + px) * (1 + py));
    float total = 0.0f;
    for (int i = pz ? a : 0; i <= (pz ? a : 1); i++)
        for (int j = py ? b : 0; j <= (py ? b : 1); j++)
            for (int k = px ? c : 0; k <= (px ? c : 1); k++) total += weight(i * 4 + j * 2 + k, in, out);
    return total;
}

// One thread makes what one lane loads at once: see Pair::multiply for which weights a lane holds. Output channels are
// permuted so that a lane ends up with four neighbouring ones.
template <typename T, FoldKind KIND> __device__ void pack_wide(const FoldArguments &p, long at)
{
    const Weight weight = {p, (int)blockIdx.y};
    const int slabs = p.in / SLAB;
    if (at >= (long)p.out / 16 * slabs * 27 * 32) return;
    const int lane = at % 32, position = at / 32 % 27, slab = at / (32 * 27) % slabs, wide = at / (32L * 27 * slabs);
    uint32_t registers[4];
    for (int i = 0; i < 2; i++)
        for (int half = 0; half < 2; half++) {
            float pair[2];
            for (int e = 0; e < 2; e++) {
                const int in = slab * SLAB + 2 * (lane & 3) + e + 8 * half, n = lane >> 2;
                const int out = wide * 16 + 4 * (n >> 1) + 2 * i + (n & 1);
                // 3x3x3 kernels go by row, column, plane: the three planes are wanted together
                const int tap = position % 3 * 9 + position / 9 * 3 + position / 3 % 3;
                pair[e] = KIND == FOLD_CONV ? weight(tap, in, out) : up_weight(weight, position, in, out);
            }
            registers[i * 2 + half] = Pair<T>::pack(pair[0], pair[1]);
        }
    static_cast<uint4 *>(p.packed)[blockIdx.y * p.packed_stride + at] =
        make_uint4(registers[0], registers[1], registers[2], registers[3]);
}

template <typename T> __device__ void pack_head(const FoldArguments &p, long at)
{
    const Weight weight = {p, (int)blockIdx.y};
    if (at >= (long)p.in / SLAB * 9 * 32) return;
    const int lane = at % 32, tap = at / 32 % 9, slab = at / (32 * 9), plane = lane >> 2;
    uint32_t registers[2];
    for (int half = 0; half < 2; half++) {
        float pair[2];
        for (int e = 0; e < 2; e++) {
            pair[e] = plane < 3 ? weight(plane * 9 + tap, slab * SLAB + 2 * (lane & 3) + e + 8 * half, 0) : 0.0f;
        }
        registers[half] = Pair<T>::pack(pair[0], pair[1]);
    }
    static_cast<uint2 *>(p.packed)[blockIdx.y * p.packed_stride + at] = make_uint2(registers[0], registers[1]);
}

__device__ void pack_plain(const FoldArguments &p, int taps, long at)
{
    const Weight weight = {p, (int)blockIdx.y};
    if (at >= (long)taps * p.in * p.out) return;
    static_cast<float *>(p.packed)[blockIdx.y * p.packed_stride + at] =
        weight(at / ((long)p.in * p.out), at / p.out % p.in, at % p.out);
}

__host__ __device__ constexpr int taps_of(FoldKind kind)
{
    return kind == FOLD_UP ? 8 : 27;
}

// The first `biases` blocks make the bias.
template <typename T, FoldKind KIND>
__global__ __launch_bounds__(THREADS) void fold_kernel(const __grid_constant__ FoldArguments p, int biases)
{
    if ((int)blockIdx.x < biases) {
        fold_bias(p, KIND == FOLD_UP ? 2 : 3, blockIdx.x * OUTS);
        return;
    }
    const long at = (long)(blockIdx.x - biases) * THREADS + threadIdx.x;
    if constexpr (sizeof(T) == 4)
        pack_plain(p, taps_of(KIND), at);
    else if constexpr (KIND == FOLD_HEAD)
        pack_head<T>(p, at);
    else
        pack_wide<T, KIND>(p, at);
}

template <typename T> long packed_count(FoldKind kind, int in, int out)
{
    return kind == FOLD_HEAD ? (long)in / SLAB * 9 * 32 : (long)out / 16 * (in / SLAB) * 27 * 32;
}
template <> long packed_count<float>(FoldKind kind, int in, int out)
{
    return (long)taps_of(kind) * in * out;
}

template <typename T> crd_status fold_launch(FoldKind kind, const FoldArguments &p, int samples, cudaStream_t stream)
{
    const int biases = p.bias != nullptr ? (p.out + OUTS - 1) / OUTS : 0;
    const dim3 grid((unsigned)(biases + (packed_count<T>(kind, p.in, p.out) + THREADS - 1) / THREADS), samples);
    if (kind == FOLD_CONV) fold_kernel<T, FOLD_CONV><<<grid, THREADS, 0, stream>>>(p, biases);
    if (kind == FOLD_UP) fold_kernel<T, FOLD_UP><<<grid, THREADS, 0, stream>>>(p, biases);
    if (kind == FOLD_HEAD) fold_kernel<T, FOLD_HEAD><<<grid, THREADS, 0, stream>>>(p, biases);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template long packed_count<__half>(FoldKind, int, int);
template long packed_count<__nv_bfloat16>(FoldKind, int, int);
template crd_status fold_launch<__half>(FoldKind, const FoldArguments &, int, cudaStream_t);
template crd_status fold_launch<__nv_bfloat16>(FoldKind, const FoldArguments &, int, cudaStream_t);
template crd_status fold_launch<float>(FoldKind, const FoldArguments &, int, cudaStream_t);
