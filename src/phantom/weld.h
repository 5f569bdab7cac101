/* The metal of the weld phantom: two plates side by side, butt-welded from above along z.
 *
 *            ____                 y runs down, x to the right, z along the weld. The bead stands above the plates and
 *     ______/    \_____   air     carries ripples; the melted zone narrows from the bead to the root; below the root
 *    |      \    /     |  metal   the seam between the plates is still open. Air above, below and in the seam is as
 *    |       |  |      |          light as a void.
 *    |_______|_||______|  seam
 */
#ifndef CRD_PHANTOM_WELD_H
#define CRD_PHANTOM_WELD_H

#include <stdbool.h>

#include "credence/phantom.h"
#include "phantom/objects.h"

typedef struct crd_weld {
    double top, bottom; /* the plates' surfaces */
    double step;        /* the right plate sits this much lower */
    double centre;      /* the seam */
    double bead_height, bead_half, ripple, ripple_period;
    double root, root_height; /* depth the melt reaches; bulge on the underside */
    double gap_half;
    double plates; /* density of voids outside the weld */
    double skin;   /* metal that covers every void */
    crd_field surface;
    float surface_scale;
} crd_weld;

void crd_weld_make(const crd_phantom_options *options, uint64_t seed, uint32_t layer, crd_weld *out);

/* Distance to the metal's surface, negative in metal, for a window. Needs 2 * columns + crd_field_scratch(1, columns)
 * floats of scratch. */
void crd_weld_metal(const crd_weld *weld, const crd_window *window, float *scratch, float *out);

/* A void may exist where metal covers it, and with its own chance: crd_population's accept. */
bool crd_weld_accepts(const void *weld, const crd_object *object, double chance);

#endif
