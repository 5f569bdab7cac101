// Conjugate gradients on the finest grid: what launches their parts.
#ifndef CRD_CUDA_TRANSPORT_FIELD_CUH
#define CRD_CUDA_TRANSPORT_FIELD_CUH

#include "backend/cuda/transport/cycle.cuh"

// What an iteration finds; on the device.
struct TransportScalars {
    double rz, curvature, dissipation;
    float alpha, beta;
};

// Block sums of a grid, and the room to add them up.
struct TransportSums {
    double *blocks, *parts;
    int64_t count; // of the blocks in use
};
enum { SUM_PARTS = 256 };

// r = b - A c, b of a value 1 on the first face.
crd_status transport_begin_residual(const TransportGrid &g, const float *c, float *r, cudaStream_t stream);
// rz = the sum; beta = rz / the last rz; p = z + beta p.
crd_status transport_direction(const TransportGrid &g, const TransportSums &rz, TransportScalars *scalars,
                               const float *z, float *p, cudaStream_t stream);
// curvature = p . A p; alpha = rz / curvature; c += alpha p, r -= alpha A p.
crd_status transport_step(const TransportGrid &g, const TransportSums &sums, TransportScalars *scalars, const float *p,
                          float *c, float *r, cudaStream_t stream);
// Conductance x difference^2 of all faces, with 1 and 0 on the two faces that have a value.
crd_status transport_dissipation(const TransportGrid &g, const TransportSums &sums, TransportScalars *scalars,
                                 const float *c, cudaStream_t stream);
// What flows on along the axis, from rows along x: [z][y]; or where that is the axis, from columns along y: [z][x].
crd_status transport_fluxes(const TransportGrid &g, const float *c, double *fluxes, cudaStream_t stream);

#endif
