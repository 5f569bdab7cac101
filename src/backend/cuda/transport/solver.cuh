// Transport on the device: the slots of the table.
#ifndef CRD_CUDA_TRANSPORT_SOLVER_CUH
#define CRD_CUDA_TRANSPORT_SOLVER_CUH

#include "backend/cuda/common.cuh"

crd_status cuda_transport_bytes(const crd_device_settings *settings, const int64_t shape[3], int cell,
                                bool conductivity, int64_t *bytes, int64_t *available);
crd_status cuda_transport_solve(const crd_device_settings *settings, const crd_conduction_plan *plan,
                                const crd_monitor *monitor, crd_conduction_result *result);

#endif
