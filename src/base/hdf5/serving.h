/* libhdf5 at arm's length: the helper's side (helper.h). */
#ifndef CRD_BASE_HDF5_SERVING_H
#define CRD_BASE_HDF5_SERVING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/hdf5/helper.h"

/* Takes orders, and sends what follows an answer; false: nobody asks any more. */
bool crd_serving_take(void *data, size_t bytes);
bool crd_serving_send(const void *data, size_t bytes);
/* The status, with its sentence. */
bool crd_serving_answer(crd_status status);
/* The shared memory, which the other side says has so many bytes now; what it was mapped at before isn't any more. */
crd_status crd_serving_map(int64_t bytes, char **window);

#endif
