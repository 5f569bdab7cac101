/* Checks of settings whose text has a form of its own, for rows of a table (crd_setting.check). Each fails with a
 * sentence that begins with `name`, the setting's. */
#ifndef CREDENCE_CHECKS_H
#define CREDENCE_CHECKS_H

#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A volume's format: its name ("nifti"), or a suffix with or without the dot ("nii.gz", ".TIF"). */
CRD_API crd_status crd_check_format(const char *name, const char *text);

#ifdef __cplusplus
}
#endif
#endif
