/* From the options of a surface to the volumes that it is made of. */
#ifndef CRD_SURFACE_INPUTS_H
#define CRD_SURFACE_INPUTS_H

#include "credence/surface.h"
#include "surface/slices.h"
#include "surface/vertex_data.h"

typedef struct crd_surface_level {
    bool percentile; /* of the samples, at one half; else a value */
    double value;
} crd_surface_level;

/* "0.5" or "p5"; `name` is the setting's, for the sentence. */
crd_status crd_surface_level_parse(const char *name, const char *text, crd_surface_level *out);
/* "all", "none" or names with commas between. */
crd_status crd_surface_data_parse(const char *name, const char *text, bool wanted[CRD_DATUM_KINDS]);

typedef struct crd_surface_inputs {
    crd_volume *opened[2 * CRD_SLICE_SOURCES]; /* volumes, and views of their boxes */
    int opened_count;
    crd_realisations *realisations; /* or NULL */
    crd_slice_source sources[CRD_SLICE_SOURCES];
    char *paths[CRD_SLICE_SOURCES]; /* of the sources' volumes; NULL: realisations */
    int count, field;
    double level;
    int64_t shape[3];
    double spacing[3], origin[3]; /* physical; a spacing that isn't known is 1 */
    char unit[16];                /* "voxels" then */
    crd_vertex_data data;         /* all but its slices */
    char description[160];        /* what the surface is of, for the file's header */
} crd_surface_inputs;

crd_status crd_surface_inputs_open(const crd_surface_options *options, const crd_monitor *monitor,
                                   crd_surface_inputs *out);
void crd_surface_inputs_close(crd_surface_inputs *inputs);

#endif
