/* The description beside a file that can't hold one: `<file>.json`, for raw and npy. */
#ifndef CRD_VOLUME_SIDECAR_H
#define CRD_VOLUME_SIDECAR_H

#include <stdbool.h>

#include "base/error.h"
#include "credence/volume.h"

typedef struct crd_sidecar {
    bool found;
    int64_t shape[3];  /* 0, 0, 0: not said */
    char type[16];     /* "u16le"; "": not said */
    double spacing[3]; /* 0, 0, 0: not said */
    char unit[16];
    int64_t origin[3];
    double scale; /* 1 if not said */
} crd_sidecar;

/* No sidecar is no error (found = false); one that is broken is. */
crd_status crd_sidecar_read(const char *file, crd_sidecar *out);

/* Does a sidecar name the type? Then raw voxels need no word from the user. */
bool crd_sidecar_names_type(const char *file);

/* Copies what a sidecar says about place and scale into the info of a volume. */
void crd_sidecar_apply(const crd_sidecar *sidecar, crd_volume_info *info);

/* Removes the sidecar of an earlier file of that name, if there is one. */
crd_status crd_sidecar_remove(const char *file);
/* Writes the sidecar of `file`, where there is something to say; `type` is NULL for files that know their own type and
 * shape. */
crd_status crd_sidecar_write(const char *file, const crd_volume_info *info, const char *type);

#endif
