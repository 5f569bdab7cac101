#include "backend/cuda/hopper/tensor_map.cuh"

#include <string.h>

// The encoder is the driver's, and the driver is only there at run time.
static crd_status encoder(decltype(&cuTensorMapEncodeTiled) *out)
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    CUDA_PASS(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result));
    if (found == nullptr || result != cudaDriverEntryPointSuccess) {
        return CUDA_FAIL(CRD_ERR_UNSUPPORTED,
                         "the NVIDIA driver is too old for this GPU's own instructions; update it or "
                         "choose --isa sm80");
    }
    *out = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
    return CRD_OK;
}

// A box of it is `channels` of them, 16 or 32, in so many columns and rows of a plane. `split`: samples are an axis of
// their own.
static crd_status make(const ConvInput &input, int samples, bool split, int channels, int columns, int rows,
                       CUtensorMap *map)
{
    const Extent &size = input.whole;
    memset(map, 0, sizeof *map);
    if (input.channels == 0) return CRD_OK;
    decltype(&cuTensorMapEncodeTiled) encode = nullptr;
    PASS(encoder(&encode));
    const long values = size.voxels() * input.channels;
    if (input.stride != 0 && input.stride != values) {
        return CUDA_FAIL(CRD_ERR_INTERNAL, "the tensors of the samples don't follow each other");
    }
    const cuuint64_t voxel = (cuuint64_t)input.channels * 2, width = (cuuint64_t)size.width,
                     height = (cuuint64_t)size.height, depth = (cuuint64_t)size.depth;
    const cuuint64_t count = input.stride == 0 ? 1 : (cuuint64_t)samples;
    const cuuint64_t sizes[] = {(cuuint64_t)input.channels, width, height, split ? depth : depth * count, count};
    const cuuint64_t strides[] = {voxel, voxel * width, voxel * width * height, voxel * width * height * depth};
    const cuuint32_t box[] = {(cuuint32_t)channels, (cuuint32_t)columns, (cuuint32_t)rows, 1, 1},
                     steps[] = {1, 1, 1, 1, 1};
    const CUresult result = encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT16, split ? 5 : 4, const_cast<void *>(input.data),
                                   sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                   channels == SLAB ? CU_TENSOR_MAP_SWIZZLE_32B : CU_TENSOR_MAP_SWIZZLE_64B,
                                   CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) return CUDA_FAIL(CRD_ERR_INTERNAL, "a tensor map was refused (error %d)", (int)result);
    return CRD_OK;
}

crd_status tensor_map_make(const ConvInput &input, int samples, int columns, int rows, CUtensorMap *map)
{
    return make(input, samples, false, SLAB, columns, rows, map);
}

crd_status tensor_map_by_example(const ConvInput &input, int examples, int channels, int columns, int rows,
                                 CUtensorMap *map)
{
    return make(input, examples, true, channels, columns, rows, map);
}
