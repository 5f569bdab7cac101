// Descriptions of tensors for the bulk copy engine.
#ifndef CRD_CUDA_HOPPER_TENSOR_MAP_CUH
#define CRD_CUDA_HOPPER_TENSOR_MAP_CUH

#include <cuda.h>

#include "backend/cuda/kernels/conv.cuh"

// Boxes of 16 channels, `columns` x `rows` voxels of one plane, of an input; planes of all samples follow each other.
// The elements are 16 bits wide.
crd_status tensor_map_make(const ConvInput &input, int samples, int columns, int rows, CUtensorMap *map);
// Of 16 or 32 channels, with an axis for the examples: a plane outside of one is zero.
crd_status tensor_map_by_example(const ConvInput &input, int examples, int channels, int columns, int rows,
                                 CUtensorMap *map);

#endif
