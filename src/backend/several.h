/* Several devices that share one queue of chunks: one predictor on each, which take chunks in turn. Results come back
 * in the order of submission, with the bits that any one of the devices would give; so devices of one kind are wanted,
 * and the queue goes at the pace of the slowest. */
#ifndef CRD_BACKEND_SEVERAL_H
#define CRD_BACKEND_SEVERAL_H

#include "backend/backend.h"

/* Its settings name the devices and the backend of each (backend.h). */
extern const crd_backend crd_backend_several;

#endif
