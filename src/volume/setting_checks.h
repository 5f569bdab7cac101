/* Checks of settings about volumes, for rows of a table (crd_setting.check). Each fails with a sentence that begins
 * with `name`, the setting's. */
#ifndef CRD_VOLUME_SETTING_CHECKS_H
#define CRD_VOLUME_SETTING_CHECKS_H

#include "credence/status.h"

/* A format to write volumes in: its name ("nifti"), or a suffix with or without the dot ("nii.gz", ".TIF"), but none
 * that credence only reads (".hdr"). */
crd_status crd_check_format(const char *name, const char *text);
/* A voxel type, with or without a byte order: "u16", "f32be". */
crd_status crd_check_type(const char *name, const char *text);
/* "0.65,0.65,0.65,um" along z, y and x; the unit may be missing. */
crd_status crd_check_spacing(const char *name, const char *text);
/* z0:z1,y0:y1,x0:x1; whether a volume has such voxels is another question. */
crd_status crd_check_bbox(const char *name, const char *text);

#endif
