/* Fewer triangles, out of core: a window over the mesh moves along z. In it edges are removed by what that costs
 * (quadric error), at its lower end triangles are handed out, and at its upper end new ones come in. Triangles that are
 * still to be joined by others keep their vertices until these have come, so no seam is left between windows. */
#ifndef CRD_SURFACE_DECIMATE_H
#define CRD_SURFACE_DECIMATE_H

#include "base/error.h"
#include "surface/mesh_part.h"

typedef struct crd_decimator crd_decimator;

/* Takes the parts that are handed out. */
typedef crd_status crd_take_part(void *context, const crd_mesh_part *part);

/* `window`: new triangles that are waited for before edges are removed; the result depends on it, a little. */
crd_status crd_decimator_open(double share, int64_t window, int data_count, crd_take_part *take, void *context,
                              crd_decimator **out);
void crd_decimator_close(crd_decimator **decimator);

/* The next part of the mesh, with z rising from part to part. */
crd_status crd_decimator_add(crd_decimator *decimator, const crd_mesh_part *part);
/* Hands out the rest. */
crd_status crd_decimator_finish(crd_decimator *decimator);

int64_t crd_decimator_vertices(const crd_decimator *decimator);
int64_t crd_decimator_triangles(const crd_decimator *decimator);

#endif
