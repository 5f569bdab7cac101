/* A plain array in a file: raw and npy, and any header + raw data. Boxes by pread and pwrite; nothing is mapped, since
 * a mapped file that shrinks kills the process. */
#ifndef CRD_VOLUME_FLAT_H
#define CRD_VOLUME_FLAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "volume/format.h"

typedef struct crd_flat {
    int fd;
    char *path;       /* as error sentences call it */
    int64_t offset;   /* of the first voxel in the file, in bytes */
    int64_t shape[3]; /* z, y, x */
    int stored;       /* a crd_type or crd_stored */
    bool swap;        /* the file's byte order is not the machine's */
    bool fortran;     /* z is the fastest axis in the file, x the slowest */
    char *scratch;
} crd_flat;

/* Opens for reading; `length` is the file's. Fill offset, shape, stored, swap and fortran, then call crd_flat_check. */
crd_status crd_flat_open(const char *path, crd_flat **out, int64_t *length);
/* The same for a file that is open as `fd`, which stays the caller's. */
crd_status crd_flat_share(const char *path, int fd, crd_flat **out);
/* Does the array fit the file? `*spare` = bytes behind its end; may be NULL. */
crd_status crd_flat_check(const crd_flat *flat, int64_t length, int64_t *spare);
/* A checked box, widened, in the machine's byte order. */
crd_status crd_flat_read(crd_flat *flat, const crd_box *box, void *voxels);

/* Creates a volume's write_path with its final length, reserving the space where the file system can. Bytes before
 * `offset` are the caller's. */
crd_status crd_flat_create(const crd_volume *volume, int64_t offset, bool swap, crd_flat **out);
/* The same under another name, which `shown` stands for in sentences; where `staged` is true, the file may be there
 * already (crd_volume_stage). */
crd_status crd_flat_create_at(const char *temporary, const char *shown, const crd_volume_info *info, int64_t offset,
                              bool swap, bool staged, crd_flat **out);
/* Shape and type alone, without a file. */
crd_status crd_flat_make(const char *shown, const crd_volume_info *info, crd_flat **out);
crd_status crd_flat_write(crd_flat *flat, const crd_box *box, const void *voxels);
/* What was written until now, onto the disk. */
crd_status crd_flat_sync(const crd_flat *flat);
/* Syncs and closes the file; the flat is freed by crd_flat_close as always. */
crd_status crd_flat_finish(crd_flat *flat);

void crd_flat_close(crd_flat **flat);

#endif
