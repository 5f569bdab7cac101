// The grids from the voxels.
#ifndef CRD_CUDA_TRANSPORT_FILL_CUH
#define CRD_CUDA_TRANSPORT_FILL_CUH

#include "backend/cuda/transport/cycle.cuh"

enum { TRANSPORT_PHASES = 256 };

// The voxels on the device.
struct TransportVoxels {
    int size[3], length; // that along the grids' axis
    int cell;
    int64_t words;
    const uint64_t *bits;
    const uint8_t *numbers;     // NULL: all conduct alike
    const double *conductivity; // [TRANSPORT_PHASES]
};

// The finest grid, and c falling evenly.
crd_status transport_fill(const TransportVoxels &voxels, const TransportGrid &g, float *c, cudaStream_t stream);
// A coarser grid: conductances of aggregates are sums of those across their common face.
crd_status transport_coarsen(const TransportGrid &fine, const TransportGrid &coarse, cudaStream_t stream);
// 1 / the sum of a cell's conductances, for all 256 kinds of linked cells.
void transport_table(const float unit[3], float end, float table[256]);

#endif
