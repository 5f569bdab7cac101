/* Surfaces: the boundary of a phase as a closed mesh, in physical coordinates, with what is known of it at each vertex.
 *
 *     crd_surface_options options;
 *     crd_surface_summary summary;
 *     crd_settings_default(&crd_surface_settings, &options);
 *     crd_settings_set(&crd_surface_settings, &options, "input", "run");
 *     crd_settings_set(&crd_surface_settings, &options, "output", "surface.ply");
 *     if (crd_surface(&options, NULL, &summary) != CRD_OK) fail(crd_last_error()->message);
 *     printf("%lld triangles, %g %s^2\n", (long long)summary.triangles, summary.area, summary.unit);
 *     crd_settings_clear(&crd_surface_settings, &options);
 *
 * Vertices lie where the level is between two neighbouring samples; x, y, z are (origin + index) * spacing, with whole
 * indices in the middle of voxels. Every edge belongs to two triangles, which pass it in opposite directions; seen
 * from outside the phase, corners are anticlockwise. The mesh has the topology of the voxels with 6 neighbours.
 * Volumes of any size are read slice by slice, and the mesh goes to its file as it is made. The same input gives the
 * same bytes for any number of threads.
 *
 * Threads: several calls may run at once, each in a thread of its own, also on the same input. Options are only read.
 */
#ifndef CREDENCE_SURFACE_H
#define CREDENCE_SURFACE_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/monitor.h"
#include "credence/settings.h"
#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every option; crd_surface_settings describes and fills it. Strings are owned by the struct. */
typedef struct crd_surface_options {
    size_t size;     /* of this struct: crd_settings_default fills it in */
    char *input;     /* a run folder of `predict`, or any volume */
    char *output;    /* .ply, .stl or .vtp */
    char *level;     /* "0.5": of the values; "p5": one half, of that percentile of a run; NULL: what suits the input */
    char *sample;    /* the number of a realisation of a run; NULL: none */
    char *phase;     /* the value of a label volume whose voxels are inside; NULL: of two values the larger */
    char *bbox;      /* "z0:z1,y0:y1,x0:x1", or NULL: all */
    bool open;       /* end the surface at the window's outer samples, in place of a lid */
    double decimate; /* the share of triangles to keep; 1: all */
    char *data;      /* "all", "none", or names of vertex data with commas between */
    int64_t shape[3]; /* raw files */
    char *type;
    int64_t offset;
    char *spacing; /* in place of the volume's: "0.65,0.65,0.65,um" */
    int64_t threads;
} crd_surface_options;

CRD_API extern const crd_settings crd_surface_settings;

typedef struct crd_surface_summary {
    int64_t vertices, triangles;
    double area, volume;  /* of the surface before decimation, in `unit`^2 and ^3; NaN: the volume of an open one */
    int64_t euler_number; /* vertices - edges + triangles of a closed surface, twice that of the phase; else 0 */
    bool closed;
    double spacing[3]; /* z, y, x; 1, 1, 1 where it isn't known */
    char unit[16];     /* "voxels" where the spacing isn't known, "" where its unit isn't */
    char data[64];     /* names of the vertex data, with commas between */
} crd_surface_summary;

/* Writes the mesh. A phase without a surface is an error. `monitor` and `out` may be NULL. */
CRD_API crd_status crd_surface(const crd_surface_options *options, const crd_monitor *monitor,
                               crd_surface_summary *out);

#ifdef __cplusplus
}
#endif
#endif
