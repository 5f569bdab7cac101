/* One realisation as a file of voxels, one byte each, that another program reads. */
#ifndef CRD_PROPAGATE_VOXEL_FILE_H
#define CRD_PROPAGATE_VOXEL_FILE_H

#include "credence/volume.h"

typedef struct crd_solver {
    const char *name;   /* of the program, or of a format */
    const char *suffix; /* of the file that it is given */
    const char *hint;   /* how the file is read there */
} crd_solver;

/* All of them; ends in a row without a name. */
extern const crd_solver crd_solvers[];
crd_status crd_solver_of(const char *name, const crd_solver **out);
/* The same as the check of a setting. */
crd_status crd_check_solver(const char *name, const char *text);

typedef struct crd_voxel_file crd_voxel_file;

/* `info` has type u8. A file of that name is replaced by the commit. */
crd_status crd_voxel_file_create(const char *path, const crd_solver *solver, const crd_volume_info *info,
                                 crd_voxel_file **out);
/* The next slice. */
crd_status crd_voxel_file_write(crd_voxel_file *file, const uint8_t *slice);
crd_status crd_voxel_file_commit(crd_voxel_file *file);
/* Removes what wasn't committed. NULL is fine. */
void crd_voxel_file_close(crd_voxel_file **file);
/* Removes one that was written, with what lies beside it. */
crd_status crd_voxel_file_remove(const char *path);

#endif
