/* Checks of settings whose text has a form of its own, for rows of a table (crd_setting.check). Each fails with a
 * sentence that begins with `name`, the setting's. */
#ifndef CREDENCE_CHECKS_H
#define CREDENCE_CHECKS_H

#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A format to write volumes in: its name ("nifti"), or a suffix with or without the dot ("nii.gz", ".TIF"), but none
 * that credence only reads (".hdr"). */
CRD_API crd_status crd_check_format(const char *name, const char *text);
/* A voxel type, with or without a byte order: "u16", "f32be". */
CRD_API crd_status crd_check_type(const char *name, const char *text);
/* "0.65,0.65,0.65,um" along z, y and x; the unit may be missing. */
CRD_API crd_status crd_check_spacing(const char *name, const char *text);
/* "64,128,128" along z, y and x, each a multiple of 8, or "auto". */
CRD_API crd_status crd_check_chunk(const char *name, const char *text);
/* "auto", "cpu", "cuda", "cuda:2", "cuda:0,1" or "cuda:all", whether or not there is such a GPU. */
CRD_API crd_status crd_check_device(const char *name, const char *text);

#ifdef __cplusplus
}
#endif
#endif
