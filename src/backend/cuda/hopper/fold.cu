// Weights as the marching kernels want them: rows of 16 input channels, one row per column of the matrix product, with
// the 32-byte swizzle of shared memory; what a scale and a shift of the input do to them is in
// backend/cuda/kernels/fold.cu.
#include "backend/cuda/hopper/hopper.cuh"

enum { THREADS = 256, OCTET = 8 /* channels that a thread packs: 16 bytes */ };

// Byte offset of eight channels (`high` half or not) of row `row` of some matrix.
__device__ __forceinline__ long row_offset(long row, int high)
{
    return row * 32 + ((high ^ (int)(row >> 2 & 1)) << 4);
}

// The column of a slice's product that holds this channel: the thread `quad` of four ends up with neighbouring
// channels.
__device__ __forceinline__ int column_of(int channel, int slice)
{
    const int piece = slice / 4, quad = channel / piece, i = channel % piece;
    return i / 2 * 8 + quad * 2 + (i & 1);
}

template <typename T> __device__ __forceinline__ uint4 pack_octet(const float (&v)[OCTET])
{
    return make_uint4(Pair<T>::pack(v[0], v[1]), Pair<T>::pack(v[2], v[3]), Pair<T>::pack(v[4], v[5]),
                      Pair<T>::pack(v[6], v[7]));
}

struct Source {
    const FoldArguments &p;
    int sample;
    __device__ void read(int tap, int in, int out, float (&v)[OCTET]) const
    {
        const float *kernel = p.kernel + sample * p.kernel_stride + ((long)tap * p.in + in) * p.out + out;
#pragma unroll
        for (int i = 0; i < OCTET; i++) v[i] = kernel[(long)i * p.out];
    }
    __device__ void scale(int in, float (&v)[OCTET]) const
    {
        if (p.scale == nullptr) return;
#pragma unroll
        for (int i = 0; i < OCTET; i++) v[i] *= p.scale[sample * p.affine_stride + in + i];
    }
};

// What one tap adds to the bias: `count` threads of the same output channel add up over the input channels, in order.
__device__ void add_shift(const FoldArguments &p, int tap, int taps, int count)
{
    __shared__ float parts[THREADS];
    const int sample = blockIdx.y, out = threadIdx.x % p.out, part = threadIdx.x / p.out;
    const float *kernel = p.kernel + sample * p.kernel_stride + (long)tap * p.in * p.out + out;
    float total = 0.0f;
    if (part < count) {
#pragma unroll 8
        for (int in = part; in < p.in; in += count)
            total = fmaf(kernel[(long)in * p.out], p.shift[sample * p.affine_stride + in], total);
    }
    parts[threadIdx.x] = total;
    __syncthreads();
    if (part != 0) return;
    for (int i = 1; i < count; i++) total += parts[i * p.out + out];
    p.tap_shift[((long)sample * taps + tap) * p.out + out] = total;
}

// One launch does both: a block for each tap's share of the bias, the others pack.
struct Fold {
    FoldArguments p;
    int taps, shifts;   // blocks for shifts: none or `taps`
    int count;          // threads for each of their output channels
    int slice;          // conv
    int width, columns; // softmax
};

// [slice][kernel column][slab][kernel row 2, 1, 0][kernel plane 2, 1, 0][channel of the slice]
template <typename T> __device__ void pack_conv(const FoldArguments &p, int slice, int at)
{
    const Source source = {p, (int)blockIdx.y};
    const int octets = p.in / OCTET;
    if (at >= 27 * octets * p.out) return;
    const int out = at % p.out, octet = at / p.out % octets, tap = at / (p.out * octets);
    float v[OCTET];
    source.read(tap, octet * OCTET, out, v);
    source.scale(octet * OCTET, v);
    const int a = tap / 9, b = tap / 3 % 3, c = tap % 3, part = out / slice;
    const long row = ((((long)part * 3 + c) * (p.in / SLAB) + octet / 2) * 9 + (2 - b) * 3 + 2 - a) * slice +
                     column_of(out % slice, slice);
    char *to = static_cast<char *>(p.packed) + blockIdx.y * p.packed_stride;
    *reinterpret_cast<uint4 *>(to + row_offset(row, octet & 1)) = pack_octet<T>(v);
}

// [slice of 16][slab][blocks of an offset and a parity (y, x): see up.cu][output plane 2z - 1, 2z, 2z + 1][channel]
template <typename T> __device__ void pack_up(const FoldArguments &p, int at)
{
    const Source source = {p, (int)blockIdx.y};
    const int octets = p.in / OCTET;
    if (at >= HOPPER_UP_BLOCKS * 3 * octets * p.out) return;
    const int out = at % p.out, octet = at / p.out % octets, plane = at / (p.out * octets) % 3,
              block = at / (p.out * octets * 3);
    const int offset = block < 4 ? 0 : block < 7 ? 1 : block < 9 ? 2 : 3; // the voxel itself, right, below, across
    const int parity = 3 - (block - (offset == 0 ? 0 : offset == 1 ? 4 : offset == 2 ? 7 : 9));
    const int py = parity >> 1, px = parity & 1, dy = offset >> 1, dx = offset & 1;
    float total[OCTET] = {};
    for (int tap = 0; tap < 8; tap++) { // those that fall on this input voxel
        const int a = tap >> 2, b = tap >> 1 & 1, c = tap & 1;
        const bool z_fits = plane == 1 || (plane == 0 ? a == 1 : a == 0);
        const bool y_fits = py == 0 ? dy == 0 : b == dy, x_fits = px == 0 ? dx == 0 : c == dx;
        if (!z_fits || !y_fits || !x_fits) continue;
        float v[OCTET];
        source.read(tap, octet * OCTET, out, v);
#pragma unroll
        for (int i = 0; i < OCTET; i++) total[i] += v[i];
    }
    source.scale(octet * OCTET, total);
    const long row = ((((long)(out / 16) * (p.in / SLAB) + octet / 2) * HOPPER_UP_BLOCKS + block) * 3 + plane) * 16 +
                     column_of(out % 16, 16);
    char *to = static_cast<char *>(p.packed) + blockIdx.y * p.packed_stride;
    *reinterpret_cast<uint4 *>(to + row_offset(row, octet & 1)) = pack_octet<T>(total);
}

// [input row 0..9][kernel column][output plane below, this, above][output row 0..7]
template <typename T> __device__ void pack_head(const FoldArguments &p, int at)
{
    const Source source = {p, (int)blockIdx.y};
    if (at >= HOPPER_HEAD_PRODUCTS * 24 * 2) return;
    const int octet = at % 2, row = at / 2, output = row % 8, plane = row / 8 % 3, column = row / 24 % 3,
              input = row / 72;
    const int tap_row = input - output;
    float v[OCTET] = {};
    if (tap_row >= 0 && tap_row < 3) {
        source.read((2 - plane) * 9 + tap_row * 3 + column, octet * OCTET, 0, v);
        source.scale(octet * OCTET, v);
    }
    char *to = static_cast<char *>(p.packed) + blockIdx.y * p.packed_stride;
    *reinterpret_cast<uint4 *>(to + row_offset(row, octet)) = pack_octet<T>(v);
}

// [input row 0..5][kernel column][of eight columns of the product, thread by thread, two of a thread's: its output
// planes below, this, above, of each all classes]; thread q of four has output row q.
template <typename T> __device__ void pack_softmax(const FoldArguments &p, int width, int columns, int at)
{
    const Source source = {p, (int)blockIdx.y};
    if (at >= HOPPER_SOFTMAX_PRODUCTS * columns * 2) return;
    const int octet = at % 2, row = at / 2, n = row % columns, column = row / columns % 3, input = row / (3 * columns);
    const int own = n / 8 * 2 + (n & 1), plane = own / width, tap_row = input - n % 8 / 2;
    float v[OCTET] = {};
    if (plane < 3 && tap_row >= 0 && tap_row < 3) {
        source.read((2 - plane) * 9 + tap_row * 3 + column, octet * OCTET, own % width, v);
        source.scale(octet * OCTET, v);
    }
    char *to = static_cast<char *>(p.packed) + blockIdx.y * p.packed_stride;
    *reinterpret_cast<uint4 *>(to + row_offset(row, octet)) = pack_octet<T>(v);
}

enum PackKind { PACK_CONV, PACK_UP, PACK_HEAD, PACK_SOFTMAX };

template <typename T, PackKind KIND>
__global__ __launch_bounds__(THREADS) void fold_kernel(const __grid_constant__ Fold f)
{
    if ((int)blockIdx.x < f.shifts) {
        add_shift(f.p, blockIdx.x, f.taps, f.count);
        return;
    }
    const int at = (blockIdx.x - f.shifts) * THREADS + threadIdx.x;
    if (KIND == PACK_CONV) pack_conv<T>(f.p, f.slice, at);
    if (KIND == PACK_UP) pack_up<T>(f.p, at);
    if (KIND == PACK_HEAD) pack_head<T>(f.p, at);
    if (KIND == PACK_SOFTMAX) pack_softmax<T>(f.p, f.width, f.columns, at);
}

template <typename T, PackKind KIND> static crd_status launch(Fold f, long threads, int samples, cudaStream_t stream)
{
    const FoldArguments &p = f.p;
    if (p.out > THREADS) return CUDA_FAIL(CRD_ERR_INTERNAL, "no folding of %d output channels", p.out);
    f.shifts = p.shift == nullptr ? 0 : f.taps;
    f.count = THREADS / p.out < p.in ? THREADS / p.out : p.in;
    fold_kernel<T, KIND>
        <<<dim3((unsigned)(f.shifts + (threads + THREADS - 1) / THREADS), (unsigned)samples), THREADS, 0, stream>>>(f);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

bool hopper_softmax_has(int in, int classes)
{
    return in == SLAB && classes > 2 && classes <= 16;
}

int hopper_softmax_width(int classes)
{
    return classes <= 4 ? classes : classes <= 8 ? 8 : 16;
}

long hopper_softmax_packed_bytes(int classes)
{
    return (long)HOPPER_SOFTMAX_PRODUCTS * softmax_columns(hopper_softmax_width(classes)) * 32;
}

long hopper_packed_bytes(FoldKind kind, int in, int out)
{
    if (kind == FOLD_HEAD) return HOPPER_HEAD_PRODUCTS * 24 * 32;
    return kind == FOLD_UP ? (long)out * (in / SLAB) * HOPPER_UP_BLOCKS * 3 * 32 : (long)out * (in / SLAB) * 27 * 32;
}

bool hopper_has(FoldKind kind, int in0, int in1, int out, int groups)
{
    if (kind == FOLD_HEAD) return in0 == 16 && out == 1;
    if (kind == FOLD_UP) return (in0 == 32 || in0 == 64 || in0 == 128) && out % 16 == 0;
    const int slice = hopper_slice(in0, in1, out);
    return slice > 0 && out / groups % (slice / 4) == 0; // the sums of a thread's channels stay within a group
}

HopperSums hopper_sums(FoldKind kind, int in0, int in1, int out, const Extent &size)
{
    if (kind == FOLD_UP) return {up_sum_rows(size), 1};
    return {conv_sum_rows(size, in0, in1), hopper_slice(in0, in1, out) / 4};
}

template <typename T>
crd_status hopper_fold_launch(FoldKind kind, const FoldArguments &p, int slice, int samples, cudaStream_t stream)
{
    const long octets = (long)(p.in / OCTET) * p.out;
    Fold f = {};
    f.p = p;
    f.taps = kind == FOLD_UP ? 8 : 27;
    f.slice = slice;
    if (kind == FOLD_CONV) return launch<T, PACK_CONV>(f, 27 * octets, samples, stream);
    if (kind == FOLD_UP) return launch<T, PACK_UP>(f, HOPPER_UP_BLOCKS * 3 * octets, samples, stream);
    return launch<T, PACK_HEAD>(f, HOPPER_HEAD_PRODUCTS * 48, samples, stream);
}

template <typename T>
crd_status hopper_softmax_fold_launch(const FoldArguments &p, int classes, int samples, cudaStream_t stream)
{
    Fold f = {};
    f.p = p;
    f.taps = 27;
    f.width = hopper_softmax_width(classes);
    f.columns = softmax_columns(f.width);
    return launch<T, PACK_SOFTMAX>(f, HOPPER_SOFTMAX_PRODUCTS * f.columns * 2L, samples, stream);
}

template crd_status hopper_fold_launch<__half>(FoldKind, const FoldArguments &, int, int, cudaStream_t);
template crd_status hopper_fold_launch<__nv_bfloat16>(FoldKind, const FoldArguments &, int, int, cudaStream_t);
template crd_status hopper_softmax_fold_launch<__half>(const FoldArguments &, int, int, cudaStream_t);
template crd_status hopper_softmax_fold_launch<__nv_bfloat16>(const FoldArguments &, int, int, cudaStream_t);
