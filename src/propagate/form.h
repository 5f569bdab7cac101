/* The options that export and propagate share, from text to what they mean for a run's realisations. */
#ifndef CRD_PROPAGATE_FORM_H
#define CRD_PROPAGATE_FORM_H

#include "credence/propagate.h"
#include "propagate/voxel_file.h"
#include "run/realisations.h"

/* Rows of a table of settings: `member` is the crd_export_form in the struct `options`. */
#define CRD_EXPORT_FORM_ROWS(options, member)                                                                          \
    {.name = "solver",                                                                                                 \
     .kind = CRD_SETTING_TEXT,                                                                                         \
     .offset = offsetof(options, member.solver),                                                                       \
     .check = crd_check_solver,                                                                                        \
     .initial = "tiff",                                                                                                \
     .argument = "NAME",                                                                                               \
     .help = "format of the voxel files, or the program that reads them: tiff, raw, vti, npy, nrrd, hdf5, taufactor, " \
             "porespy, puma, geodict, openlbm, paraview",                                                              \
     .group = "Voxel files"},                                                                                          \
        {.name = "samples",                                                                                            \
         .kind = CRD_SETTING_TEXT,                                                                                     \
         .offset = offsetof(options, member.samples),                                                                  \
         .check = crd_check_sample_range,                                                                              \
         .argument = "N|A-B",                                                                                          \
         .help = "the first N realisations, or those from A to B; without it all of them"},                            \
        {.name = "phase",                                                                                              \
         .kind = CRD_SETTING_TEXT,                                                                                     \
         .offset = offsetof(options, member.phase),                                                                    \
         .check = crd_check_phase,                                                                                     \
         .argument = "V",                                                                                              \
         .help = "of several phases the one that is inside; without it the larger of two values, and more than two "   \
                 "keep their values"},                                                                                 \
        {.name = "values",                                                                                             \
         .kind = CRD_SETTING_REALS,                                                                                    \
         .offset = offsetof(options, member.values),                                                                   \
         .low = 0,                                                                                                     \
         .high = 255,                                                                                                  \
         .initial = "1,0",                                                                                             \
         .argument = "IN,OUT",                                                                                         \
         .help = "what voxels of the phase are written as, and all others"},                                           \
    {                                                                                                                  \
        .name = "spacing", .kind = CRD_SETTING_TEXT, .offset = offsetof(options, member.spacing),                      \
        .check = crd_check_spacing, .argument = "z,y,x,UNIT",                                                          \
        .help = "edges of a voxel, in place of those of the run: 0.65,0.65,0.65,um"                                    \
    }

crd_status crd_check_sample_range(const char *name, const char *text);
crd_status crd_check_phase(const char *name, const char *text);

/* The realisations that are meant, and how their voxels are written. */
typedef struct crd_export_plan {
    const crd_solver *solver;
    crd_realisations *realisations;
    const crd_realisations_info *about; /* theirs */
    crd_volume_info info;               /* of the files */
    uint8_t values[256];                /* of the number of a voxel's phase */
} crd_export_plan;

/* Which realisations: those that `samples` asks for, all without it. */
crd_status crd_export_plan_open(const char *run, const crd_export_form *form, const crd_monitor *monitor,
                                crd_export_plan *out);
void crd_export_plan_close(crd_export_plan *plan);

/* "sample_007.tif", and "segmentation.tif" for the bit of the segmentation. */
enum { CRD_EXPORT_NAME_BYTES = 64 };
void crd_export_name(const crd_export_plan *plan, int64_t bit, char name[CRD_EXPORT_NAME_BYTES]);

#endif
